// Package folderagent is the agent that examples/agent and examples/live share. It composes a prompt from elements, fits
// it to a context window, asks a model, runs its tool calls on the files of a folder, and keeps everything in a session
// that is compacted when it overflows. It imports nothing internal, so a copy builds anywhere.
package folderagent

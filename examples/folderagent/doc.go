// Package agent is the agent that the example programs share. It composes a prompt from elements, fits it to a context
// window, asks a model, runs its tool calls on real files, and keeps everything in a session that is compacted when it
// overflows.
package agent

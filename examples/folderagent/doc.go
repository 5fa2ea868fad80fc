// Package folderagent is what the examples share: tools that work on the files of a folder, the prompt of examples/agent
// and examples/live, their reports of each step and of the costs, and a command line. The agent itself is that of package
// summarize/agent. It imports nothing internal, so a copy builds anywhere.
package folderagent

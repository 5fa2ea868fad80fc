// Package agent is the loop that the example programs share: a prompt composed of elements, fitted to a window, a model
// asked, its tool calls run on real files, and everything kept in a session that is compacted when it overflows.
package agent

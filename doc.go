// Package promptree is the front door of a module for people who build agents on language models: write the prompt as a
// tree, say what matters, and it always fits; when it cannot, the conversation is compacted without losing a word.
//
// There is nothing to import here. The packages, in the order in which they build on each other:
//
//   - elements/chat: messages, parts, tool calls and the Model interface, as plain data.
//   - sizing: what things cost in tokens, and what a window holds; sizing/tiktoken has exact counters.
//   - elements: what a prompt is built of.
//   - render: from a tree to messages within a budget, and a report of what was dropped.
//   - history: what was said, in an append-only log, and the elements that show it.
//   - summarize: what happens when the window overflows.
//
// The README has a quick start, and examples/agent is a program to run and to copy from.
package promptree

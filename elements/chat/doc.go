// Package chat holds the words of a conversation as plain data: messages, their parts, tool calls and tool
// definitions, what a request costs, and the [Model] that answers one. It knows nothing of prompts, budgets or
// providers, and every other package of promptree speaks in its types.
//
// A conversation is a slice of messages:
//
//	messages := []chat.Message{
//		chat.SystemMessage("You are a coding agent."),
//		chat.UserMessage("How many Go files are there?"),
//		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "count", Arguments: `{"glob":"*.go"}`}}},
//		chat.ToolResult("c1", "42"),
//	}
//
// [Validate] checks the rules that all providers share: every tool call answered, no result without its call, no
// empty text, and the model not asked to answer itself. [ValidateRequest] adds those of a request's tools and limit. The
// adapters to the providers check more rules, name them in the same way, and mend what breaks them, a [Change] at a time.
//
// Results are matched to calls by ids. [WithCallIDs] gives ids to the calls of an answer that came without one or with one of
// another call's.
//
// Messages are encoded as JSON without loss: text that is not valid UTF-8 and opaque values keep their bytes.
package chat

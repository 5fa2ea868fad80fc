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
// adapters to the providers check more rules, name them in the same way, and mend what breaks them, a [Repair] at a time.
//
// Results are matched to calls by ids. [WithCallIDs] gives ids to the calls of an answer that came without one or with one of
// another call's.
//
// Messages are encoded as JSON without loss: text that is not valid UTF-8 and opaque values keep their bytes.
//
// # Servers that answer anything
//
// The models of the adapters do not trust the server. They follow redirects to the same scheme, host and port only; any other
// is a [*RedirectError], and nothing is sent there. They read 64 MiB of an answer, 128 MiB of a stream and 32 MiB of one event
// of it; more, or what is no answer, is an [*AnswerError]. The texts of their errors are at most 8 KiB long, and hold none of
// the request's keys, cookies and passwords of 6 bytes or more, also if the server sends them back.
package chat

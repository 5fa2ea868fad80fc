// Package chat declares conversations as plain data: messages, their parts, tool calls and tool definitions, the tokens
// that a request used, and the [Model] that answers requests. It does not depend on prompts, budgets or providers, and
// every other package of promptree uses its types.
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
// [Validate] checks the rules that all providers share: every tool call is answered, no result comes without its call,
// no text is empty, and the last message is not the model's own. [ValidateRequest] also checks a request's tools and
// limit. The adapters to the providers check further rules, named in the same way, and repair requests that break them.
// They report each change as a [Repair].
//
// Results are matched to calls by ids, wherever they stand; [Pairing] has the rules. [WithCallIDs] assigns ids to the
// calls of an answer that came without one or with the id of another call.
//
// Messages are encoded as JSON without loss: text that is not valid UTF-8 and opaque values keep their bytes.
//
// # Untrusted servers
//
// The models of the adapters do not trust the server. They follow redirects only within the same scheme, host and port;
// any other is a [*RedirectError], and nothing is sent there. They read at most 64 MiB of an answer, 128 MiB of a
// stream and 32 MiB of one event; an answer that is larger, or not an answer at all, is an [*AnswerError]. The texts of
// their errors are at most 8 KiB long, and hold none of the request's keys, cookies and passwords of 6 bytes or more,
// even if the server sends them back.
package chat

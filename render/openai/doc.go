// Package openai sends conversations to OpenAI, and to any server that speaks one of its two APIs, through OpenAI's
// official SDK, github.com/openai/openai-go.
//
// A [Model] is a [chat.Model] on the SDK's client, for agents and for the summaries of a compactor:
//
//	model := &openai.Model{Client: sdk.NewClient(), Name: "gpt-5.2", API: openai.Responses}
//	response, err := model.Generate(ctx, chat.Request{Messages: result.Messages, Tools: tools})
//	err = session.Append(ctx, response.Message)
//
// For a local server, give the client its URL and leave API at its default:
//
//	client := sdk.NewClient(option.WithBaseURL("http://localhost:8080/v1"), option.WithAPIKey("none"))
//	model := &openai.Model{Client: client, Name: "qwen3"}
//
// # The two APIs
//
// Chat Completions, the zero value, is spoken by every compatible server. It does not return the reasoning of OpenAI's
// models: they think anew in each round. The Responses API takes the reasoning back, encrypted, and is the better
// choice for OpenAI's reasoning models; GPT-5.6 calls functions while it reasons only there. With both, each request
// holds the whole conversation, and OpenAI stores nothing.
//
// # Other servers
//
// What servers other than OpenAI's answer otherwise over Chat Completions is read from all of them: thinking in fields
// of its own, in parts of the content or in tags, calls whose pieces have other ids or repeat themselves, usage in
// other places, reasons of an end in the words of other APIs. What a server must get back is sent back to it, and what
// it refuses is left out from then on. docs/providers.md of the module has the table. A reason that is not known is an
// error, unless [Model.Ends] declares it; where two servers contradict each other, [Model.Dialect] and [Options]
// choose.
//
// # Using the parts alone
//
//   - [ChatRequest] and [ItemsRequest] convert a request to the SDK's types, for Chat Completions and for Responses,
//     and [ChatResponse] and [ItemsResponse] convert an answer back. Their comments list what an API has no equivalent
//     for.
//   - [ReadChat] and [ReadItems] read a request that a loop on the SDK holds, so that package summarize/mirror can compact
//     its conversation: their examples are such loops.
//   - [Validate] reports each rule of an API that a request breaks; [Repair] repairs what it can and reports the
//     changes. A [Model] repairs each request, because histories that other providers' models have written need it.
//   - [Counter] counts messages as they are sent, using a tokenizer such as that of package sizing/tiktoken, and
//     [Model.CountTokens] asks OpenAI.
//
// # Errors
//
// Errors that a caller acts on are those of package chat: [*chat.ContextLimitError] with the numbers that the server
// states, [*chat.TransientError] with the time that it asks to wait, [*chat.AnswerError] and [*chat.RedirectError] for
// unusable answers, [*chat.ValidationError] for a request that was not sent.
package openai

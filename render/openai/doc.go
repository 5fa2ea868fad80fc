// Package openai sends conversations to OpenAI, and to any server that speaks one of its two APIs for them, through the
// official SDK, github.com/openai/openai-go.
//
// A [Model] is a [chat.Model] on the SDK's client:
//
//	model := &openai.Model{Client: sdk.NewClient(), Name: "gpt-5.2", API: openai.Responses}
//	response, err := model.Generate(ctx, chat.Request{Messages: rendered.Messages, Tools: tools})
//
// For a local server, give the client its URL and leave the API as it is:
//
//	client := sdk.NewClient(option.WithBaseURL("http://localhost:8080/v1"), option.WithAPIKey("none"))
//	model := &openai.Model{Client: client, Name: "qwen3"}
//
// # The two APIs
//
// Chat Completions, the zero value, is what every compatible server speaks. It has no place for what OpenAI's models
// think: they think anew in each round. The Responses API takes the reasoning back, encrypted, and is the better choice
// for OpenAI's reasoning models; GPT-5.6 calls functions while it reasons there only. Both are used without any state on
// OpenAI's side: each request holds the whole conversation, and nothing is stored.
//
// # Parts that stand on their own
//
//   - [ChatRequest] and [ItemsRequest] turn a request into the SDK's, for the one API and the other; [ChatResponse] and
//     [ItemsResponse] turn an answer of the SDK into ours. Their comments say what becomes of what an API has no word for.
//   - [Validate] names each rule of an API that a request breaks; [Repair] mends what can be mended and tells of it. A
//     [Model] does so before each request: histories that other providers' models have written need it.
//   - [Counter] counts messages as they are sent, on a tokenizer such as that of package sizing/tiktoken, and
//     [Model.CountTokens] asks OpenAI.
//
// Errors that a caller acts on are those of package chat: [*chat.ContextLimitError] with the numbers that the server gives,
// [*chat.TransientError] with the time that it asks to wait, [*chat.AnswerError] and [*chat.RedirectError] for what is no
// answer, [*chat.ValidationError] for what was not sent.
package openai

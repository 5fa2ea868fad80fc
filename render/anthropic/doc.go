// Package anthropic sends what promptree renders to Claude, through Anthropic's official SDK.
//
//	model := &anthropic.Model{Client: sdk.NewClient(), Name: sdk.ModelClaudeSonnet5}
//	response, err := model.Generate(ctx, chat.Request{Messages: rendered.Messages, Tools: tools})
//	err = session.Append(ctx, response.Message)
//
// [Model] is a [chat.Model]: agents ask it, and compactors do for their summaries.
//
// # Parts that stand on their own
//
//   - [Request] turns a request into the SDK's, and [Response] an answer of the SDK into ours, so that the answer goes back
//     with every block where it was: thinking and its signatures, calls between other blocks, blocks that only the API
//     understands.
//   - [Validate] names each rule of the API that a request breaks; [Repair] mends what can be mended and tells of it. A
//     [Model] does so before each request: histories that other providers' models have written need it.
//   - [Model.CountTokens] asks the API what a request takes, and [Vision] knows what an image does. There is no tokenizer for
//     Claude's text that one could run oneself.
//
// # Thinking after a compaction
//
// The newest models take thinking only if all that comes before it is as it was when it was thought. Behind a summary, or after
// a change of tools, it is not, and the API refuses such a request with status 400. A [Model] then sends it again and has
// that thinking dropped, and so with every request from then on; the model plans anew without it. Thinking.Stale has it
// dropped from the first request on, or returns the refusal.
//
// # Errors
//
// Errors that a caller acts on are those of package chat: [*chat.ContextLimitError] with the numbers that the API gives,
// [*chat.TransientError] with the time that it asks to wait, [*chat.AnswerError] and [*chat.RedirectError] for what is no
// answer, [*chat.ValidationError] for what was not sent.
package anthropic

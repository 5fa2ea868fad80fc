// Package anthropic sends what promptree renders to Claude, through Anthropic's official SDK.
//
//	model := &anthropic.Model{Client: sdk.NewClient(), Name: sdk.ModelClaudeSonnet5}
//	response, err := model.Generate(ctx, chat.Request{Messages: rendered.Messages, Tools: tools})
//	err = session.Append(ctx, response.Message)
//
// [Model] is a [chat.Model], for agents and for the summaries of a compactor.
//
// # Using the parts alone
//
//   - [Request] converts a request to the SDK's types, and [Response] converts an answer back, with every block in its place
//     for the next request: thinking and its signatures, calls between other blocks, blocks that only the API
//     understands.
//   - [Validate] reports each rule of the API that a request breaks; [Repair] repairs what it can and reports the changes. A
//     [Model] does so before each request, since histories that other providers' models have written need it.
//   - [Model.CountTokens] asks the API for the size of a request, and [Vision] computes that of an image. There is no local
//     tokenizer for Claude's text.
//
// # Thinking after a compaction
//
// The newest models accept thinking only if everything before it is unchanged since it was thought. After a summary, or
// a change of tools, it is not, and the API refuses the request with status 400. A [Model] then sends the request again
// and has that thinking dropped, as with every later request; the model plans anew without it. With Thinking.Stale it is
// dropped from the first request on, or the refusal is returned.
//
// # The API's own compaction and editing
//
// [Compaction] asks the API to compact a history when a policy of package summarize decides so, and keeps the signed block that it
// makes beside the summary in words. It costs one request, as a summary in words does, but each later request to Claude holds the
// summary twice: as the block and as words. What the block adds is the API's signature and what it keeps encrypted. Leave it if
// what was said must be erasable, which a block is not. A model or a cloud that refuses the block is sent the words alone.
//
// [Model].Editing has the API clear old tool results and thinking, or compact, as it answers. The history stays as it is: each
// request is sent whole, and only the API knows what the model was shown. Use it for an agent without a compactor. With one,
// leave the clearing to the policy: that is recorded, counts in the budget, and holds for every provider. Where the API clears, the
// cached prefix ends; OnApplied reports it.
//
// # Errors
//
// Errors that a caller acts on are those of package chat: [*chat.ContextLimitError] with the numbers that the API
// states, [*chat.TransientError] with the time that it asks to wait, [*chat.AnswerError] and [*chat.RedirectError] for
// unusable answers, [*chat.ValidationError] for a request that was not sent.
package anthropic

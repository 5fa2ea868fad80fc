// Package anthropic sends conversations to Claude, through Anthropic's official SDK,
// github.com/anthropics/anthropic-sdk-go.
//
// A [Model] is a [chat.Model] on the SDK's client, for agents and for the summaries of a compactor:
//
//	model := &anthropic.Model{Client: sdk.NewClient(), Name: sdk.ModelClaudeSonnet5}
//	response, err := model.Generate(ctx, chat.Request{Messages: result.Messages, Tools: tools})
//	err = session.Append(ctx, response.Message)
//
// # Prompt caching
//
// The API caches nothing of its own accord. A conversation that grows is read from the cache if each request asks for it:
//
//	model.Adjust = func(_ chat.Purpose, p *sdk.MessageNewParams) { p.CacheControl = sdk.NewCacheControlEphemeralParam() }
//
// or if the prompt has an elements.CacheBreakpoint behind what stays the same. Without either each step pays the full price
// of the whole prompt.
//
// # Using the parts alone
//
//   - [Request] converts a request to the SDK's types, and [Response] converts an answer back. Every block keeps its
//     place for the next request: thinking and its signatures, calls between other blocks, blocks that only the API
//     understands.
//   - [ReadRequest] reads a request that a loop on the SDK holds, so that package summarize/mirror can compact its
//     conversation: its example is such a loop.
//   - [Validate] reports each rule of the API that a request breaks; [Repair] repairs what it can and reports the
//     changes. A [Model] repairs each request, because histories that other providers' models have written need it.
//   - [Vision] counts the tokens of images, and [Model.CountTokens] asks Anthropic for those of a request. There is no
//     local tokenizer for Claude's text.
//
// # Thinking after a compaction
//
// The newest models accept thinking only if nothing before it has changed since. After a summary or a change of tools,
// the API refuses the request with status 400, a [*chat.ContentError], and a compactor sends it without that thinking; the
// model plans anew. [Thinking].DropStale has the API drop it instead, which costs no refused request.
//
// # The API's own compaction and editing
//
// [CompactionModel] asks the API to compact a history when a policy of package summarize decides so, and keeps the signed
// block that the API makes beside the summary in words. It costs one request, as a summary in words does, but each
// later request to Claude holds the summary twice: as the block and as words. The block adds the API's signature and
// encrypted content. Do not use it if messages must be erasable, because a block is not. A model or a cloud that
// refuses the block is sent the words alone.
//
// [Model].Editing has the API clear old tool results and thinking, or compact, as it answers. The history stays as it
// is: each request is sent whole, and only the API knows what the model was shown. Use it for an agent without a
// compactor. With one, leave clearing to the policy: it is recorded, counts in the budget, and works with every
// provider; or have the policy stand back (policy.Policy.StandsBack, which Copilot Chat's does). The cached prefix ends
// where the API clears; [Editing].OnApplied reports it.
//
// # Errors
//
// Errors that a caller acts on are those of package chat: [*chat.ContextLimitError] with the numbers that the API
// states, [*chat.TransientError] with the time that it asks to wait, [*chat.AnswerError] and [*chat.RedirectError] for
// unusable answers, [*chat.ValidationError] for a request that was not sent.
package anthropic

// Package gemini sends conversations to Gemini, on the Gemini API or Google Cloud, through Google's official SDK,
// google.golang.org/genai.
//
// A [Model] is a [chat.Model] on the SDK's client, for agents and for the summaries of a compactor:
//
//	client, err := gemini.NewClient(ctx, nil) // the key from GEMINI_API_KEY
//	model := &gemini.Model{Client: client, Name: "gemini-3-pro-preview"}
//	response, err := model.Generate(ctx, chat.Request{Messages: result.Messages, Tools: tools})
//	err = session.Append(ctx, response.Message)
//
// # Using the parts alone
//
//   - [Request] converts a request to the SDK's types, and [Response] converts an answer back. Every part keeps its
//     place and its thought signature for the next request.
//   - [ReadContents] reads what a loop on the SDK holds, so that package summarize/mirror can compact its conversation:
//     its example is such a loop.
//   - [Validate] reports each rule of the API that a request breaks; [Repair] repairs what it can and reports the
//     changes. A [Model] repairs each request, because histories that other providers' models have written need it.
//   - [Tokenizer] estimates the tokens of texts and images, [Counter] counts texts exactly by a file of yours, and
//     [Model.CountTokens] asks Gemini.
//   - [NewClient] creates a client that refuses redirects to other servers.
//
// # Errors
//
// Errors that a caller acts on are those of package chat: [*chat.ContextLimitError] with the numbers that the API
// states, [*chat.TransientError] with the time that it asks to wait, [*chat.AnswerError] and [*chat.RedirectError] for
// unusable answers, [*chat.ValidationError] for a request that was not sent.
package gemini

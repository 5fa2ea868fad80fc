// Package gemini sends prompts to Gemini through Google's official SDK, google.golang.org/genai, and takes its answers
// back without losing anything of them.
//
// [Model] is a [chat.Model] on a client of the SDK, for the Gemini API and for Google Cloud alike:
//
//	client, err := gemini.NewClient(ctx, nil) // the key from GEMINI_API_KEY
//	model := &gemini.Model{Client: client, Name: "gemini-3-pro-preview"}
//	response, err := model.Generate(ctx, chat.Request{Messages: result.Messages, Tools: tools})
//
// # Parts that stand on their own
//
//   - [Request] turns a request into what the SDK takes, and [Response] an answer of the SDK into ours, so that the answer
//     goes back with every part where it was, its thought signatures byte for byte.
//   - [Validate] names each rule of the API that a request breaks; [Repair] mends what can be mended and tells of it. A
//     [Model] does so before each request: histories that other providers' models have written need it.
//   - [Tokenizer] estimates what a text and an image take, and [Model.CountTokens] asks Gemini.
//   - [NewClient] makes a client that refuses redirects to other servers.
//
// Errors that a caller acts on are those of package chat: [*chat.ContextLimitError] with the numbers that the API gives,
// [*chat.TransientError] with the time that it asks to wait, [*chat.AnswerError] and [*chat.RedirectError] for what is no
// answer, [*chat.ValidationError] for what was not sent.
package gemini

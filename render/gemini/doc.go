// Package gemini sends prompts to Gemini through Google's official SDK, google.golang.org/genai, and takes its answers
// back without losing anything of them.
//
// [Model] is a [chat.Model] on a client of the SDK, for the Gemini API and for Google Cloud alike:
//
//	client, err := genai.NewClient(ctx, nil) // the key from GEMINI_API_KEY
//	model := &gemini.Model{Client: client, Name: "gemini-3-pro-preview"}
//	response, err := model.Generate(ctx, chat.Request{Messages: result.Messages, Tools: tools})
//
// Its parts can be had on their own: [Convert] and [Tools] make what the SDK takes, [FromResponse] and [FromContent] make
// messages of what it gives. [Validate] says which of Gemini's rules a conversation breaks, by name, and [Repair] mends
// it and reports each change. [Model.CountTokens] asks Gemini for a count, [Tokenizer] estimates one here.
//
// # What does not survive the SDK
//
// The SDK holds the arguments of a call as a Go map. So their keys are sorted and white space goes, and whole numbers of
// an answer that are beyond 2⁵³ have lost digits before this package sees them. Numbers on their way to Gemini keep their
// digits, see [Convert].
package gemini

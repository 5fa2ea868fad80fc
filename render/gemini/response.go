package gemini

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/contents"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// fromContent converts a model's content to an assistant message, as [Response] does. If a key is given, arguments may
// be a text under it (raw.go).
func fromContent(content *genai.Content, key string) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleAssistant}
	if content == nil {
		return m, nil
	}
	d := contents.Decoder{Model: true, Lenient: true, Key: key}
	if err := decode(&d, content.Parts); err != nil {
		return m, fmt.Errorf("gemini: %w of the answer", err)
	}
	m.Content, m.ToolCalls = d.Content, d.ToolCalls
	return m, nil
}

// decode reads parts by their JSON, except for the data of large files.
func decode(d *contents.Decoder, parts []*genai.Part) error {
	for i, p := range parts {
		switch {
		case p == nil:
			continue
		case p.FunctionCall != nil && !isWhole(p.FunctionCall):
			return fmt.Errorf("part %d: the arguments of a function call come in pieces (leave StreamFunctionCallArguments unset)", i)
		}
		if b := p.InlineData; b != nil && len(b.Data) > 0 && b.MIMEType != "" &&
			reflect.DeepEqual(*p, genai.Part{InlineData: &genai.Blob{Data: b.Data, MIMEType: b.MIMEType}}) {
			d.Inline(b.MIMEType, base64.StdEncoding.EncodeToString(b.Data))
			continue
		}
		raw, err := plainjson.Marshal(p)
		if err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		o, _ := wire.Parse(raw) // it is one
		n := len(d.Content)
		d.Part(o)
		if added := len(d.Content); added > n && p.Text != "" {
			if opaque, is := d.Content[added-1].(chat.Opaque); is && bytes.Equal(opaque.Value, raw) {
				opaque.Tokens = estimate(p.Text)
				d.Content[added-1] = opaque
			}
		}
	}
	return nil
}

// isWhole reports whether the arguments of a call are complete and did not come in pieces.
func isWhole(f *genai.FunctionCall) bool {
	return len(f.PartialArgs) == 0 && (f.WillContinue == nil || !*f.WillContinue)
}

// Response converts an answer of the API, from its first candidate, so that [Request] sends back every part unchanged
// and in its place:
//
//   - A text is a [chat.Text], an image a [chat.Image], another inline file a [chat.Document].
//   - Calls have the ids of [chat.WithCallIDs], and their thought signature as the signature, in base64 as it is sent.
//     The place of a call that other parts follow is marked by a [chat.Opaque] with its id, the note
//     {"functionCall":{"id":…}}.
//   - The thought signature of another part is in a [chat.Opaque] after it, the note {"thoughtSignature":…}. A
//     signature that came alone, as in the last piece of a stream, is a note too. It is sent back with the part before
//     it; if there is no such part, or that part is a thought, with the part after it.
//   - Any other part is a [chat.Opaque], as JSON: thoughts and their summaries, code and its result, a text of white
//     space only, future kinds of parts. A thought is not a [chat.Thinking], because Gemini signs the answer and not
//     the thought, and other providers refuse unsigned thinking.
//   - Parts without content are left out.
//
// A prompt or an answer that a filter stopped has the stop reason [chat.StopFiltered], and the message is the part that
// came before. A malformed function call is a [*chat.EndError] in a [*chat.TransientError], because the model may correct
// it when asked again, and any other reason that is not an end, a cut or a declined answer is one in a
// [*chat.AnswerError]; an answer without a candidate, or without a reason and a content, is a [*chat.TransientError], and
// one that ended in order and says nothing is a [*chat.EmptyError] in one.
// Other errors are a part that JSON cannot hold, or an incomplete call.
func Response(r *genai.GenerateContentResponse) (chat.Response, error) { return response(r, "", nil) }

// response is Response with the key under which arguments may be a text, and the finish reasons that a model declares.
func response(r *genai.GenerateContentResponse, key string, ends map[string]chat.StopReason) (chat.Response, error) {
	response := chat.Response{Message: chat.Message{Role: chat.RoleAssistant}, Usage: usage(r.UsageMetadata)}
	if len(r.Candidates) == 0 || r.Candidates[0] == nil {
		if r.PromptFeedback == nil || r.PromptFeedback.BlockReason == "" {
			return chat.Response{}, &chat.TransientError{Err: errors.New("gemini: the answer holds no message")}
		}
		response.StopReason = chat.StopFiltered
		return response, nil
	}
	candidate := r.Candidates[0]
	var err error
	if response.Message, err = fromContent(candidate.Content, key); err != nil {
		return response, err
	}
	response.StopReason, err = dialect.End(string(candidate.FinishReason), candidate.FinishMessage, response.Message, ends)
	if errors.Is(err, dialect.ErrNothing) {
		err = &chat.TransientError{Err: fmt.Errorf("gemini: %w", err)}
	}
	return response, err
}

// usage returns the usage of a request. Gemini counts cached tokens with those of the prompt, and thoughts apart from
// those of the answer; the prompts of its own tools count as input. The SDK sums up the requests that went on with an
// answer, and knows the prompt of the first.
func usage(u *genai.GenerateContentResponseUsageMetadata) chat.Usage {
	if u == nil {
		return chat.Usage{}
	}
	usage := chat.Usage{
		Input:     int(u.PromptTokenCount) + int(u.ToolUsePromptTokenCount),
		Output:    int(u.CandidatesTokenCount) + int(u.ThoughtsTokenCount),
		CacheRead: int(u.CachedContentTokenCount),
	}
	if first := u.InitialPromptTokenCount(); first != u.PromptTokenCount {
		usage.Prompt = int(first)
	}
	return usage
}

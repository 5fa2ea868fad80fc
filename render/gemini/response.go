package gemini

import (
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// fromContent converts a model's content to an assistant message, as [Response] does. If a key is given, arguments may
// be a text under it (raw.go).
func fromContent(content *genai.Content, key string) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleAssistant}
	if content == nil {
		return m, nil
	}
	last := lastNonCall(content.Parts)
	var ids chat.CallIDs
	for i, p := range content.Parts {
		switch {
		case p == nil:
			continue
		case p.FunctionCall != nil:
			call, err := fromCall(p, &ids, key)
			if err != nil {
				return chat.Message{}, fmt.Errorf("gemini: part %d of the answer: %w", i, err)
			}
			if i < last {
				note, err := placeNote(call.ID)
				if err != nil {
					return chat.Message{}, err
				}
				m.Content = append(m.Content, note)
			}
			m.ToolCalls = append(m.ToolCalls, call)
			continue
		}
		if !isEmpty(p) || p.Thought && len(p.ThoughtSignature) > 0 {
			part, whole, err := fromPart(p)
			if err != nil {
				return chat.Message{}, err
			}
			m.Content = append(m.Content, part)
			if whole {
				continue
			}
		}
		if len(p.ThoughtSignature) > 0 {
			note, err := signatureNote(p.ThoughtSignature)
			if err != nil {
				return chat.Message{}, err
			}
			m.Content = append(m.Content, note)
		}
	}
	return m, nil
}

// lastNonCall returns the index of the last part to send back that is not a call, or -1 if there is none.
func lastNonCall(parts []*genai.Part) int {
	for i := len(parts) - 1; i >= 0; i-- {
		if p := parts[i]; p != nil && p.FunctionCall == nil && (!isEmpty(p) || len(p.ThoughtSignature) > 0) {
			return i
		}
	}
	return -1
}

// isWhole reports whether the arguments of a call are complete and did not come in pieces.
func isWhole(f *genai.FunctionCall) bool {
	return len(f.PartialArgs) == 0 && (f.WillContinue == nil || !*f.WillContinue)
}

func fromCall(p *genai.Part, ids *chat.CallIDs, key string) (chat.ToolCall, error) {
	f := p.FunctionCall
	if !isWhole(f) {
		return chat.ToolCall{}, errors.New("the arguments of a function call come in pieces: leave StreamFunctionCallArguments unset")
	}
	call := chat.ToolCall{ID: ids.Next(f.ID), Name: f.Name, Arguments: "{}", Signature: writeSignature(p.ThoughtSignature)}
	if raw, ok := f.Args[key].(string); ok && key != "" && len(f.Args) == 1 {
		call.Arguments = raw
	} else if len(f.Args) > 0 {
		args, err := plainjson.Marshal(f.Args)
		if err != nil {
			return chat.ToolCall{}, fmt.Errorf("the arguments of a function call: %w", err)
		}
		call.Arguments = string(args)
	}
	return call, nil
}

// fromPart converts a part without its signature. If that would lose anything, it returns the whole part as an opaque
// one.
func fromPart(p *genai.Part) (part chat.Part, whole bool, err error) {
	plain := *p
	plain.ThoughtSignature = nil
	switch {
	case p.Text != "" && strings.TrimSpace(p.Text) != "" && reflect.DeepEqual(plain, genai.Part{Text: p.Text}):
		return chat.Text(p.Text), false, nil
	case p.InlineData != nil && len(p.InlineData.Data) > 0 && p.InlineData.MIMEType != "" &&
		reflect.DeepEqual(plain, genai.Part{InlineData: &genai.Blob{Data: p.InlineData.Data, MIMEType: p.InlineData.MIMEType}}):
		data := base64.StdEncoding.EncodeToString(p.InlineData.Data)
		if mediaType := p.InlineData.MIMEType; strings.HasPrefix(mediaType, "image/") && !strings.ContainsAny(mediaType, ",;") {
			return chat.Image{URL: "data:" + mediaType + ";base64," + data, MediaType: mediaType}, false, nil
		}
		return chat.Document{Data: data, MediaType: p.InlineData.MIMEType}, false, nil
	default:
		opaque, err := opaquePart(p)
		return opaque, true, err
	}
}

// FinishError is returned for an answer that ended without anything to use.
type FinishError struct {
	// Reason that Gemini gave, such as MALFORMED_FUNCTION_CALL.
	Reason genai.FinishReason
	// Message of Gemini about it, if any.
	Message string
}

// Error returns the reason and the message.
func (e *FinishError) Error() string {
	text := fmt.Sprintf("gemini: the answer ended with %s", e.Reason)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
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
// came before. A malformed function call is a [*FinishError] in a [*chat.TransientError], because the model may correct
// it when asked again; an answer without a candidate is a [*chat.TransientError]. Other errors are an empty answer, a
// part that JSON cannot hold, or an incomplete call.
func Response(r *genai.GenerateContentResponse) (chat.Response, error) { return response(r, "") }

func response(r *genai.GenerateContentResponse, key string) (chat.Response, error) {
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
	switch candidate.FinishReason {
	case genai.FinishReasonMaxTokens:
		response.StopReason = chat.StopMaxTokens
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonLanguage, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety,
		genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		response.StopReason = chat.StopFiltered
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls:
		return response, &chat.TransientError{Err: &FinishError{Reason: candidate.FinishReason, Message: candidate.FinishMessage}}
	default:
		if len(response.Message.ToolCalls) > 0 {
			response.StopReason = chat.StopToolCalls
		} else if len(response.Message.Content) == 0 && candidate.FinishReason != genai.FinishReasonStop {
			return response, &FinishError{Reason: candidate.FinishReason, Message: candidate.FinishMessage}
		}
	}
	return response, nil
}

// usage returns the usage of a request. Gemini counts cached tokens with those of the prompt, and thoughts apart from
// those of the answer; the prompts of its own tools count as input.
func usage(u *genai.GenerateContentResponseUsageMetadata) chat.Usage {
	if u == nil {
		return chat.Usage{}
	}
	return chat.Usage{
		Input:     int(u.PromptTokenCount) + int(u.ToolUsePromptTokenCount),
		Output:    int(u.CandidatesTokenCount) + int(u.ThoughtsTokenCount),
		CacheRead: int(u.CachedContentTokenCount),
	}
}

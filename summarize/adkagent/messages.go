package adkagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callid"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/render/gemini"
)

// clientID begins the ids that adk gives to calls which a model made without one. It takes them off before each request.
const clientID = "adk-"

// The fields in which adk keeps what a tool returned, if that is no object, and why it failed.
const (
	resultField = "result"
	errorField  = "error"
)

// FromADK returns contents as messages, so that [ToADK] of the result says the same.
//
//   - A content of the model is an assistant message as [gemini.Response] has it: texts, images, files given inline and calls in
//     our words, with the signatures of thoughts; the rest, such as thoughts and code that the model ran, as opaque parts.
//   - Each function response is a tool message. Its text is a field "result" or "error" that is a text and stands alone, or else
//     the whole as JSON. Its media are parts. Scheduling and WillContinue, of the Live API, are left out.
//   - What else a content holds that is not the model's is a user message.
//   - A call without an id gets one, and its response the same: the first that is open of the same name.
//
// Contents without parts are left out. A call whose arguments come in pieces, one that is not the model's, and what JSON cannot hold are errors.
func FromADK(contents []*genai.Content) ([]chat.Message, error) {
	var r reader
	for i, c := range contents {
		if err := r.content(c); err != nil {
			return nil, fmt.Errorf("adkagent: content %d: %w", i, err)
		}
	}
	return r.messages, nil
}

// reader reads contents in order.
type reader struct {
	messages []chat.Message
	open     []chat.ToolCall // of the last assistant message
}

func (r *reader) content(c *genai.Content) error {
	if c == nil {
		return nil
	}
	if c.Role == genai.RoleModel {
		m, err := fromModel(c)
		if err != nil || len(m.Content)+len(m.ToolCalls) == 0 {
			return err
		}
		r.open = slices.Clone(m.ToolCalls)
		r.messages = append(r.messages, m)
		return nil
	}
	var others []*genai.Part
	for _, p := range c.Parts {
		switch {
		case p == nil:
		case p.FunctionCall != nil:
			return fmt.Errorf("a call of %q in a content of role %q", p.FunctionCall.Name, c.Role)
		case p.FunctionResponse != nil:
			if err := r.user(others); err != nil {
				return err
			}
			others = nil
			m, err := r.response(p.FunctionResponse)
			if err != nil {
				return err
			}
			r.messages = append(r.messages, m)
		default:
			others = append(others, p)
		}
	}
	return r.user(others)
}

// fromModel returns what a model said as an assistant message. Ids that adk gave to calls are taken off.
func fromModel(c *genai.Content) (chat.Message, error) {
	said := &genai.Content{Role: genai.RoleModel}
	for _, p := range c.Parts {
		if p != nil && p.FunctionResponse != nil {
			return chat.Message{}, fmt.Errorf("a response to %q in a content of the model", p.FunctionResponse.Name)
		}
		if p != nil && p.FunctionCall != nil && strings.HasPrefix(p.FunctionCall.ID, clientID) {
			part, call := *p, *p.FunctionCall
			call.ID, part.FunctionCall = "", &call
			p = &part
		}
		said.Parts = append(said.Parts, p)
	}
	r, err := gemini.Response(&genai.GenerateContentResponse{Candidates: []*genai.Candidate{{Content: said, FinishReason: genai.FinishReasonStop}}})
	return r.Message, err
}

// user takes the parts of a user message.
func (r *reader) user(parts []*genai.Part) error {
	m := chat.Message{Role: chat.RoleUser}
	for _, p := range parts {
		if len(p.ThoughtSignature) > 0 || p.FileData != nil {
			part, err := userPart(p)
			if err != nil {
				return err
			}
			m.Content = append(m.Content, part)
			continue
		}
		same, err := fromModel(&genai.Content{Parts: []*genai.Part{p}})
		if err != nil {
			return err
		}
		m.Content = append(m.Content, same.Content...)
	}
	if len(m.Content) > 0 {
		r.messages = append(r.messages, m)
	}
	return nil
}

// userPart returns an image that is referred to, or a part that only Gemini understands.
func userPart(p *genai.Part) (chat.Part, error) {
	if f := p.FileData; f != nil && strings.HasPrefix(f.MIMEType, "image/") && (strings.HasPrefix(f.FileURI, "https:") || strings.HasPrefix(f.FileURI, "gs:")) {
		image := chat.Image{URL: f.FileURI, MediaType: f.MIMEType}
		if same, err := samePart(p, image); same || err != nil {
			return image, err
		}
	}
	value, err := plainjson.Marshal(p)
	return chat.Opaque{Value: value}, err
}

// samePart reports whether a part of ours stands for the whole of a part.
func samePart(p *genai.Part, ours chat.Part) (bool, error) {
	_, contents, err := gemini.Contents([]chat.Message{{Role: chat.RoleUser, Content: chat.Parts{ours}}}, gemini.Options{})
	if err != nil {
		return false, nil
	}
	got, err := plainjson.Marshal(contents[0].Parts)
	if err != nil {
		return false, err
	}
	want, err := plainjson.Marshal([]*genai.Part{p})
	return bytes.Equal(got, want), err
}

// response returns a function response as a tool message.
func (r *reader) response(f *genai.FunctionResponse) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: r.answered(f)}
	text, failed, err := fromResult(f.Response)
	if err != nil {
		return m, fmt.Errorf("the response to %q: %w", f.Name, err)
	}
	m.IsError = failed
	m.Content = chat.Parts{chat.Text(text)}
	for _, p := range f.Parts {
		part := &genai.Part{}
		switch {
		case p.InlineData != nil:
			part.InlineData = &genai.Blob{Data: p.InlineData.Data, MIMEType: p.InlineData.MIMEType, DisplayName: p.InlineData.DisplayName}
		case p.FileData != nil:
			part.FileData = &genai.FileData{FileURI: p.FileData.FileURI, MIMEType: p.FileData.MIMEType, DisplayName: p.FileData.DisplayName}
		default:
			continue
		}
		media := reader{}
		if err := media.user([]*genai.Part{part}); err != nil {
			return m, err
		}
		for _, said := range media.messages {
			m.Content = append(m.Content, said.Content...)
		}
	}
	return m, nil
}

// answered returns the id of the call that a response answers, a new one if there is none.
func (r *reader) answered(f *genai.FunctionResponse) string {
	given := f.ID
	if strings.HasPrefix(given, clientID) {
		given = ""
	}
	i := slices.IndexFunc(r.open, func(c chat.ToolCall) bool {
		return given == c.ID || given == "" && c.Name == f.Name && callid.IsNew(c.ID)
	})
	switch {
	case i >= 0:
		id := r.open[i].ID
		r.open = slices.Delete(r.open, i, i+1)
		return id
	case given != "":
		return given
	}
	return callid.New()
}

// fromResult returns what a tool returned as a text.
func fromResult(response map[string]any) (text string, failed bool, err error) {
	if len(response) == 1 {
		if s, ok := response[errorField].(string); ok && strings.TrimSpace(s) != "" {
			return s, true, nil
		}
		if s, ok := response[resultField].(string); ok && strings.TrimSpace(s) != "" {
			if _, isObject := readObject(s); !isObject {
				return s, false, nil
			}
		}
	}
	data, err := plainjson.Marshal(response)
	return string(data), false, err
}

// toResult undoes fromResult.
func toResult(text string, failed bool) map[string]any {
	if failed {
		return map[string]any{errorField: text}
	}
	if object, ok := readObject(text); ok {
		return object
	}
	return map[string]any{resultField: text}
}

// readObject reads a text that is a JSON object, or null.
func readObject(text string) (object map[string]any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&object) != nil {
		return nil, false
	}
	_, err := d.Token()
	return object, err == io.EOF
}

// ToADK returns messages as contents. System messages at the start are the instruction, for the config of a request. Messages of the
// model that follow each other are one content, and so are the results of a message's calls. What Gemini has no word for is left
// out as [gemini.Request] says; what cannot be sent is a [*chat.ValidationError].
func ToADK(messages []chat.Message) (instruction *genai.Content, contents []*genai.Content, err error) {
	return toADK(messages, gemini.Options{})
}

func toADK(messages []chat.Message, o gemini.Options) (instruction *genai.Content, contents []*genai.Content, err error) {
	if instruction, contents, err = gemini.Contents(messages, o); err != nil {
		return nil, nil, fmt.Errorf("adkagent: %w", err)
	}
	restoreResults(contents)
	return instruction, contents, nil
}

// restoreResults makes the results of tools what they were before they were texts.
func restoreResults(contents []*genai.Content) {
	for _, c := range contents {
		for _, p := range c.Parts {
			if p.FunctionResponse == nil {
				continue
			}
			r := p.FunctionResponse
			if text, failed := r.Response[errorField].(string); failed {
				r.Response = toResult(text, true)
			} else if text, ok := r.Response["output"].(string); ok {
				r.Response = toResult(text, false)
			}
		}
	}
}

// prompt returns messages as a model takes them, mended if a rule of Gemini's asks for it.
func prompt(messages []chat.Message, model string) (instruction *genai.Content, contents []*genai.Content, err error) {
	o := gemini.OptionsFor(model)
	req, _ := gemini.Repair(chat.Request{Messages: messages}, o)
	return toADK(req.Messages, o)
}

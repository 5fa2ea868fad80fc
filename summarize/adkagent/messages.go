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

// clientID is the prefix of ids that adk gives to calls without one. adk removes these ids before each request.
const clientID = "adk-"

// The fields of a function response in which adk keeps a result that is not an object, and an error.
const (
	resultField = "result"
	errorField  = "error"
)

// FromADK converts contents to messages. [ToADK] converts them back.
//
//   - A content of the model becomes an assistant message, as by [gemini.Response]. Texts, images, inline files and
//     calls are converted, with the signatures of thoughts. The rest, such as thoughts and code that the model ran,
//     becomes opaque parts.
//   - A function response becomes a tool message. If its only field is a text named "result" or "error", that is the
//     message's text; otherwise the text is the response as JSON. Its media become parts. Scheduling and WillContinue,
//     which belong to the Live API, are left out.
//   - Other parts of a content that is not the model's become a user message.
//   - A call without an id gets a new one. A response without an id gets that of the first unanswered call of its name.
//
// Contents without parts are left out. A call with partial arguments, a call in a content that is not the model's and a
// value that JSON cannot hold are errors.
func FromADK(contents []*genai.Content) ([]chat.Message, error) {
	var r reader
	for i, c := range contents {
		if err := r.content(c); err != nil {
			return nil, fmt.Errorf("adkagent: content %d: %w", i, err)
		}
	}
	return r.messages, nil
}

// reader converts contents in order.
type reader struct {
	messages   []chat.Message
	unanswered []chat.ToolCall // of the last assistant message
	named      bool            // results have the names of their tools
}

// content converts the next content.
func (r *reader) content(c *genai.Content) error {
	if c == nil {
		return nil
	}
	if c.Role == genai.RoleModel {
		m, err := fromModel(c)
		if err != nil || len(m.Content)+len(m.ToolCalls) == 0 {
			return err
		}
		r.unanswered = slices.Clone(m.ToolCalls)
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

// fromModel converts a content of the model to an assistant message, without the ids that adk gave to calls.
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

// user converts the parts of a user message.
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

// userPart converts a part to an image with a URL, if nothing is lost by that, or else to an opaque part.
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

// samePart reports whether converting a part of ours results in exactly the given part.
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

// response converts a function response to a tool message.
func (r *reader) response(f *genai.FunctionResponse) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: r.answered(f)}
	if r.named {
		m.Name = f.Name
	}
	text, failed, err := resultText(f.Response)
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

// answered returns the id of the call that a response answers, or a new id if there is no such call.
func (r *reader) answered(f *genai.FunctionResponse) string {
	given := f.ID
	if strings.HasPrefix(given, clientID) {
		given = ""
	}
	i := slices.IndexFunc(r.unanswered, func(c chat.ToolCall) bool {
		return given == c.ID || given == "" && c.Name == f.Name && callid.IsNew(c.ID)
	})
	switch {
	case i >= 0:
		id := r.unanswered[i].ID
		r.unanswered = slices.Delete(r.unanswered, i, i+1)
		return id
	case given != "":
		return given
	}
	return callid.New()
}

// resultText returns the fields of a function response as a text.
func resultText(response map[string]any) (text string, failed bool, err error) {
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

// resultFields is the inverse of resultText.
func resultFields(text string, failed bool) map[string]any {
	if failed {
		return map[string]any{errorField: text}
	}
	if object, ok := readObject(text); ok {
		return object
	}
	return map[string]any{resultField: text}
}

// readObject decodes a text that is a JSON object or null.
func readObject(text string) (object map[string]any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&object) != nil {
		return nil, false
	}
	_, err := d.Token()
	return object, err == io.EOF
}

// ToADK converts messages to contents. System messages at the start become the instruction, for the config of a
// request. Consecutive messages of the model become one content, and so do the results of a message's calls. Features
// that Gemini lacks are left out as [gemini.Request] documents. Messages that cannot be sent are a
// [*chat.ValidationError].
func ToADK(messages []chat.Message) (instruction *genai.Content, contents []*genai.Content, err error) {
	if instruction, contents, err = toADK(messages, gemini.Options{}); err != nil {
		return nil, nil, fmt.Errorf("adkagent: %w", err)
	}
	return instruction, contents, nil
}

func toADK(messages []chat.Message, o gemini.Options) (instruction *genai.Content, contents []*genai.Content, err error) {
	if instruction, contents, err = gemini.Contents(messages, o); err != nil {
		return nil, nil, err
	}
	restoreResults(contents)
	return instruction, contents, nil
}

// restoreResults gives function responses the fields that they had before FromADK made texts of them.
func restoreResults(contents []*genai.Content) {
	for _, c := range contents {
		for _, p := range c.Parts {
			if p.FunctionResponse == nil {
				continue
			}
			r := p.FunctionResponse
			if text, failed := r.Response[errorField].(string); failed {
				r.Response = resultFields(text, true)
			} else if text, ok := r.Response["output"].(string); ok {
				r.Response = resultFields(text, false)
			}
		}
	}
}

// prompt converts messages for a model, and repairs what breaks a rule of Gemini's.
func prompt(messages []chat.Message, model string) (instruction *genai.Content, contents []*genai.Content, err error) {
	o := gemini.OptionsFor(model)
	req, _ := gemini.Repair(chat.Request{Messages: messages}, o)
	return toADK(req.Messages, o)
}

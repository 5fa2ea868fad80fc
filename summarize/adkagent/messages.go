package adkagent

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/render/gemini"
)

// clientID is the prefix of ids that adk gives to calls without one. adk removes these ids before each request.
const clientID = "adk-"

// The fields of a function response in which adk keeps a result that is not an object, and an error, and that in which
// Gemini takes a result.
const (
	resultField = "result"
	errorField  = "error"
	outputField = "output"
)

// FromADK converts contents to messages, as [gemini.ReadContents] does but for what adk adds. [ToADK] converts them back.
//
//   - The ids that adk gave to calls are not kept.
//   - If the only field of a function response is a text named "result" or "error", that is the message's text;
//     otherwise the text is the response as JSON. Scheduling and WillContinue, which belong to the Live API, are left
//     out.
//
// Contents without parts are left out. A call with partial arguments, a call in a content that is not the model's and a
// value that JSON cannot hold are errors.
func FromADK(contents []*genai.Content) ([]chat.Message, error) {
	list := make([]*genai.Content, len(contents))
	for i, c := range contents {
		var err error
		if list[i], err = withoutADK(c); err != nil {
			return nil, fmt.Errorf("adkagent: content %d cannot be read: %w", i, err)
		}
	}
	read, err := gemini.ReadContents(list, nil)
	if err != nil {
		return nil, fmt.Errorf("adkagent: %w", err)
	}
	return read.Messages, nil
}

// withoutADK returns a content as [gemini.Request] would write it: without ids that adk gave, and with texts as results.
func withoutADK(c *genai.Content) (*genai.Content, error) {
	if c == nil {
		return nil, nil
	}
	out := &genai.Content{Role: genai.RoleUser}
	if c.Role == genai.RoleModel {
		out.Role = genai.RoleModel
	}
	for _, p := range c.Parts {
		if p == nil {
			continue
		}
		part := *p
		switch call, result := p.FunctionCall, p.FunctionResponse; {
		case call != nil && out.Role != genai.RoleModel:
			return nil, fmt.Errorf("a call of %q in a content of role %q", call.Name, c.Role)
		case result != nil && out.Role == genai.RoleModel:
			return nil, fmt.Errorf("a response to %q in a content of the model", result.Name)
		case call != nil:
			said := *call
			said.ID = givenID(call.ID)
			part.FunctionCall = &said
		case result != nil:
			field, text, err := resultText(result.Response)
			if err != nil {
				return nil, fmt.Errorf("the response to %q: %w", result.Name, err)
			}
			part.FunctionResponse = &genai.FunctionResponse{
				ID: givenID(result.ID), Name: result.Name, Response: map[string]any{field: text}, Parts: result.Parts,
			}
		}
		out.Parts = append(out.Parts, &part)
	}
	return out, nil
}

// givenID returns the id of a call, or "" if adk gave it.
func givenID(id string) string {
	if strings.HasPrefix(id, clientID) {
		return ""
	}
	return id
}

// resultText returns the fields of a function response as a text, and the field in which Gemini takes it.
func resultText(response map[string]any) (field, text string, err error) {
	if len(response) == 1 {
		if s, ok := response[errorField].(string); ok && strings.TrimSpace(s) != "" {
			return errorField, s, nil
		}
		if s, ok := response[resultField].(string); ok && strings.TrimSpace(s) != "" {
			if _, isObject := readObject(s); !isObject {
				return outputField, s, nil
			}
		}
	}
	data, err := plainjson.Marshal(response)
	return outputField, string(data), err
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
	return toADK(messages, gemini.Options{})
}

func toADK(messages []chat.Message, o gemini.Options) (instruction *genai.Content, contents []*genai.Content, err error) {
	if instruction, contents, err = gemini.Contents(messages, o); err != nil {
		return nil, nil, fmt.Errorf("adkagent: %w", err)
	}
	restoreResults(contents)
	return instruction, contents, nil
}

// restoreResults restores the fields that function responses had before FromADK made texts of them.
func restoreResults(contents []*genai.Content) {
	for _, c := range contents {
		for _, p := range c.Parts {
			if p.FunctionResponse == nil {
				continue
			}
			text, ok := p.FunctionResponse.Response[outputField].(string)
			if !ok {
				continue
			}
			object, is := readObject(text)
			if !is {
				object = map[string]any{resultField: text}
			}
			p.FunctionResponse.Response = object
		}
	}
}

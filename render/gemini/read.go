package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callid"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// ReadContents reads a conversation, and the system instruction and tools of a config, as a program that uses the SDK
// holds them; the config may be nil. It is the inverse of [Request]: what that wrote is read so that it writes the same
// contents again.
//
//   - A model's content is an assistant message, read as by [Response]: a call without an id gets one that is not sent,
//     another one each time it is read.
//   - Each function response is a tool message: the text of its output or its error. Any other object is the text of
//     its JSON. Media beside it, as [Request] writes it for legacy models, is part of it. A response without an id
//     answers the first call of its name before it that is open. If its call is not among the contents, the message
//     has the function's name, and the response's id, if any.
//   - Content without parts is left out: an answer that says nothing.
//   - The schema of a tool is a JSON schema, with the names of types in lower case.
//   - Other content is a user message. A part for which package chat has no place is a [chat.Opaque].
//
// Content of another role is an error that names it.
func ReadContents(contents []*genai.Content, config *genai.GenerateContentConfig) (chat.Request, error) {
	var r reader
	if config != nil {
		if err := r.config(config); err != nil {
			return chat.Request{}, err
		}
	}
	for i, c := range contents {
		if c == nil {
			continue
		}
		if err := r.content(c); err != nil {
			return chat.Request{}, fmt.Errorf("gemini: content %d cannot be read: %w", i, err)
		}
	}
	return r.request, nil
}

type reader struct {
	request chat.Request
	open    []chat.ToolCall // without a response so far
}

func (r *reader) config(config *genai.GenerateContentConfig) error {
	if system := config.SystemInstruction; system != nil {
		parts, err := partsOf(system.Parts)
		if err != nil {
			return fmt.Errorf("gemini: the system instruction cannot be read: %w", err)
		}
		r.request.Messages = append(r.request.Messages, chat.Message{Role: chat.RoleSystem, Content: parts})
	}
	for _, t := range config.Tools {
		if t == nil {
			continue
		}
		for _, f := range t.FunctionDeclarations {
			tool := chat.Tool{Name: f.Name, Description: f.Description}
			var err error
			switch {
			case f.ParametersJsonSchema != nil:
				tool.Parameters, err = plainjson.Marshal(f.ParametersJsonSchema)
			case f.Parameters != nil:
				tool.Parameters, err = jsonSchema(f.Parameters)
			}
			if err != nil {
				return fmt.Errorf("gemini: the parameters of tool %q cannot be read: %w", f.Name, err)
			}
			r.request.Tools = append(r.request.Tools, tool)
		}
	}
	return nil
}

// jsonSchema converts a schema of Gemini's, which has the names of types in capitals, to a JSON schema.
func jsonSchema(s *genai.Schema) (json.RawMessage, error) {
	data, err := plainjson.Marshal(s)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, err
	}
	lowerTypes(schema)
	return plainjson.Marshal(schema)
}

// lowerTypes writes the names of types in lower case.
func lowerTypes(schema map[string]any) {
	if name, ok := schema["type"].(string); ok {
		schema["type"] = strings.ToLower(name)
	}
	for key, v := range schema {
		switch v := v.(type) {
		case map[string]any:
			if key != "properties" && key != "$defs" {
				lowerTypes(v)
				continue
			}
			for _, property := range v {
				if property, ok := property.(map[string]any); ok {
					lowerTypes(property)
				}
			}
		case []any:
			for _, element := range v {
				if element, ok := element.(map[string]any); ok {
					lowerTypes(element)
				}
			}
		}
	}
}

func (r *reader) content(c *genai.Content) error {
	switch c.Role {
	case genai.RoleModel:
		m, err := fromContent(c, "")
		if err != nil {
			return err
		}
		if len(m.Content)+len(m.ToolCalls) == 0 {
			return nil
		}
		r.open = m.ToolCalls
		r.request.Messages = append(r.request.Messages, m)
		return nil
	case genai.RoleUser, "", "function":
	default:
		return fmt.Errorf("its role is %q: use user or model", c.Role)
	}
	var rest []*genai.Part
	first := len(r.request.Messages) // of the results
	for _, p := range c.Parts {
		if p == nil || p.FunctionResponse == nil {
			rest = append(rest, p)
			continue
		}
		m, err := r.result(p.FunctionResponse)
		if err != nil {
			return err
		}
		r.request.Messages = append(r.request.Messages, m)
	}
	parts, err := partsOf(rest)
	if err != nil {
		return err
	}
	if parts = addBeside(r.request.Messages[first:], parts); len(parts) > 0 {
		r.request.Messages = append(r.request.Messages, chat.Message{Role: chat.RoleUser, Content: parts})
	}
	return nil
}

// result reads a function response, and takes the call that it answers: the one with its id, else the first of its name.
func (r *reader) result(f *genai.FunctionResponse) (chat.Message, error) {
	place := slices.IndexFunc(r.open, func(c chat.ToolCall) bool {
		return f.ID != "" && c.ID == f.ID || f.ID == "" && c.Name == f.Name && callid.IsNew(c.ID)
	})
	m := chat.Message{Role: chat.RoleTool}
	if place < 0 {
		m.ToolCallID, m.Name = f.ID, f.Name
	} else {
		m.ToolCallID = r.open[place].ID
		r.open = slices.Delete(slices.Clone(r.open), place, place+1)
	}
	output, plain := f.Response["output"].(string)
	if failure, failed := f.Response["error"].(string); failed {
		output, plain, m.IsError = failure, true, true
	}
	if !plain || len(f.Response) != 1 {
		raw, err := plainjson.Marshal(f.Response)
		if err != nil {
			return chat.Message{}, fmt.Errorf("the response of %q: %w", f.Name, err)
		}
		output = string(raw)
	}
	said := []*genai.Part{{Text: output}}
	for _, p := range f.Parts {
		var part genai.Part
		switch {
		case p.InlineData != nil:
			part.InlineData = &genai.Blob{Data: p.InlineData.Data, MIMEType: p.InlineData.MIMEType, DisplayName: p.InlineData.DisplayName}
		case p.FileData != nil:
			part.FileData = &genai.FileData{FileURI: p.FileData.FileURI, MIMEType: p.FileData.MIMEType, DisplayName: p.FileData.DisplayName}
		default:
			return chat.Message{}, errors.New("a part of a function response without data")
		}
		said = append(said, &part)
	}
	var err error
	m.Content, err = partsOf(said)
	return m, err
}

// partsOf converts parts of a user's content. Parts without content are left out.
func partsOf(parts []*genai.Part) (chat.Parts, error) {
	var out chat.Parts
	for _, p := range parts {
		if p == nil || isEmpty(p) {
			continue
		}
		if file := p.FileData; file != nil && strings.HasPrefix(file.MIMEType, "image/") && reflect.DeepEqual(*p, genai.Part{FileData: &genai.FileData{FileURI: file.FileURI, MIMEType: file.MIMEType}}) {
			out = append(out, chat.Image{URL: file.FileURI, MediaType: file.MIMEType})
			continue
		}
		if len(p.ThoughtSignature) > 0 {
			part, err := opaquePart(p)
			if err != nil {
				return nil, err
			}
			out = append(out, part)
			continue
		}
		part, _, err := fromPart(p)
		if err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	return out, nil
}

// beside matches the line above the media of a result ([Options].responseParts).
var beside = regexp.MustCompile(`^What call (\S+) of \S+ returned besides its text:$`)

// addBeside adds media beside results to the results that it belongs to, and returns the other parts.
func addBeside(results []chat.Message, parts chat.Parts) (rest chat.Parts) {
	var to *chat.Message
	for _, p := range parts {
		if text, ok := p.(chat.Text); ok {
			to = nil
			if found := beside.FindStringSubmatch(string(text)); found != nil {
				if i := slices.IndexFunc(results, func(m chat.Message) bool { return m.ToolCallID == found[1] }); i >= 0 {
					to = &results[i]
					continue
				}
			}
		}
		if to == nil {
			rest = append(rest, p)
			continue
		}
		to.Content = append(to.Content, p)
	}
	return rest
}

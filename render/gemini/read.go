package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callid"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/wire/contents"
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
		var d contents.Decoder
		if err := decode(&d, system.Parts); err != nil {
			return fmt.Errorf("gemini: the system instruction cannot be read: %w", err)
		}
		r.request.Messages = append(r.request.Messages, chat.Message{Role: chat.RoleSystem, Content: d.Content})
	}
	for _, t := range config.Tools {
		if t == nil {
			continue
		}
		for _, f := range t.FunctionDeclarations {
			parameters, err := jsonSchema(f.ParametersJsonSchema, f.Parameters)
			if err != nil {
				return fmt.Errorf("gemini: the parameters of tool %q cannot be read: %w", f.Name, err)
			}
			r.request.Tools = append(r.request.Tools, chat.Tool{Name: f.Name, Description: f.Description, Parameters: parameters})
		}
	}
	return r.shape(config)
}

// shape reads what a config asks of the answer: a form, whose name is "answer", and a choice of tools.
func (r *reader) shape(config *genai.GenerateContentConfig) error {
	schema, err := jsonSchema(config.ResponseJsonSchema, config.ResponseSchema)
	if err != nil {
		return fmt.Errorf("gemini: the schema of the answer cannot be read: %w", err)
	}
	if schema != nil {
		r.request.Format = &chat.Format{Name: "answer", Schema: schema}
	}
	if c := config.ToolConfig; c != nil && c.FunctionCallingConfig != nil {
		switch choice := c.FunctionCallingConfig; {
		case choice.Mode == genai.FunctionCallingConfigModeNone:
			r.request.ToolChoice = chat.ToolChoiceNone
		case choice.Mode == genai.FunctionCallingConfigModeAny && len(choice.AllowedFunctionNames) == 1:
			r.request.Tool = choice.AllowedFunctionNames[0]
		case choice.Mode == genai.FunctionCallingConfigModeAny:
			r.request.ToolChoice = chat.ToolChoiceRequired
		}
	}
	return nil
}

// jsonSchema returns the JSON schema that was given, nil if there is none. In its place there may be a schema of Gemini's,
// which has the names of types in capitals. It is converted to a JSON schema with sorted keys.
func jsonSchema(given any, s *genai.Schema) (json.RawMessage, error) {
	switch {
	case given != nil:
		return plainjson.Marshal(given)
	case s == nil:
		return nil, nil
	}
	data, err := plainjson.Marshal(s)
	if err != nil {
		return nil, err
	}
	var schema any
	if err := json.Unmarshal(typeName.ReplaceAllFunc(data, bytes.ToLower), &schema); err != nil {
		return nil, err
	}
	return plainjson.Marshal(schema)
}

// typeName matches a field with the name of a type, not within a text.
var typeName = regexp.MustCompile(`"type":"[A-Z_]+"`)

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
	var d contents.Decoder
	if err := decode(&d, c.Parts); err != nil {
		return err
	}
	for i := range d.Results {
		r.answer(&d.Results[i])
	}
	parts := addBeside(d.Results, d.Content)
	r.request.Messages = append(r.request.Messages, d.Results...)
	if len(parts) > 0 {
		r.request.Messages = append(r.request.Messages, chat.Message{Role: chat.RoleUser, Content: parts})
	}
	return nil
}

// answer gives a result the id of the call that it answers: the one with its id, else the first of its name.
func (r *reader) answer(m *chat.Message) {
	place := slices.IndexFunc(r.open, func(c chat.ToolCall) bool {
		return m.ToolCallID != "" && c.ID == m.ToolCallID || m.ToolCallID == "" && c.Name == m.Name && callid.IsNew(c.ID)
	})
	if place >= 0 {
		m.ToolCallID, m.Name = r.open[place].ID, ""
		r.open = slices.Delete(slices.Clone(r.open), place, place+1)
	}
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

package tracing

import (
	"encoding/json"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// message is a message in the conventions' schema (gen-ai-input-messages.json, gen-ai-output-messages.json).
type message struct {
	Role   chat.Role `json:"role"`
	Name   string    `json:"name,omitempty"`
	Parts  []part    `json:"parts"`
	Finish string    `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  *string         `json:"response,omitempty"`
	MediaType string          `json:"mime_type,omitempty"`
	Modality  string          `json:"modality,omitempty"`
	URI       string          `json:"uri,omitempty"`
}

// messagesJSON returns messages as JSON. Of inline files it writes only the type.
func messagesJSON(messages []chat.Message, finish string) string {
	list := make([]message, len(messages))
	for i, m := range messages {
		list[i] = message{Role: m.Role, Name: m.Name, Finish: finish, Parts: partsOf(m)}
	}
	text, _ := json.Marshal(list) // all of it encodes
	return string(text)
}

func partsOf(m chat.Message) []part {
	parts := []part{}
	if m.Role == chat.RoleTool {
		parts = append(parts, part{Type: "tool_call_response", ID: m.ToolCallID, Response: new(m.Text())})
	}
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			if m.Role != chat.RoleTool {
				parts = append(parts, part{Type: "text", Content: string(p)})
			}
		case chat.Thinking:
			parts = append(parts, part{Type: "reasoning", Content: p.Text})
		case chat.Image:
			if strings.HasPrefix(p.URL, "data:") {
				parts = append(parts, part{Type: "image", MediaType: p.MediaType})
			} else {
				parts = append(parts, part{Type: "uri", Modality: "image", MediaType: p.MediaType, URI: p.URL})
			}
		case chat.Document:
			parts = append(parts, part{Type: "document", MediaType: p.MediaType})
		case chat.Opaque:
			parts = append(parts, part{Type: "opaque"})
		}
	}
	for _, call := range m.ToolCalls {
		arguments := json.RawMessage(call.Arguments)
		if !json.Valid(arguments) { // the answer may have been cut off
			arguments, _ = json.Marshal(call.Arguments) // never fails for a string
		}
		parts = append(parts, part{Type: "tool_call", ID: call.ID, Name: call.Name, Arguments: arguments})
	}
	return parts
}

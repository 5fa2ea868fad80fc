package gemini

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider"
)

func faultf(part int, rule chat.Rule, format string, args ...any) provider.Fault {
	return provider.Fault{Part: part, Rule: rule, Why: fmt.Sprintf(format, args...)}
}

// parts converts the content of a message other than a tool's. If begun is set, a system message is not at the start.
func (o Options) parts(m chat.Message, begun bool) ([]*genai.Part, []provider.Fault) {
	switch m.Role {
	case chat.RoleSystem:
		return o.systemParts(m, begun)
	case chat.RoleAssistant:
		return o.modelParts(m)
	default:
		return o.userParts(m)
	}
}

// systemParts converts a system message, which holds text only.
func (o Options) systemParts(m chat.Message, begun bool) (parts []*genai.Part, faults []provider.Fault) {
	for k, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			parts = append(parts, &genai.Part{Text: string(p)})
		case chat.Image, chat.Document:
			faults = append(faults, faultf(k, provider.RulePlace, "a system message holds text only"))
		case chat.Opaque:
			faults = append(faults, faultf(k, provider.RuleOpaque, "a system message holds text only"))
		}
	}
	if begun && len(parts) > 0 {
		for _, p := range parts {
			p.Text = plaintext.Outside(p.Text)
		}
		parts[0].Text = plaintext.SystemTag.Open() + "\n" + parts[0].Text
		parts[len(parts)-1].Text += "\n" + plaintext.SystemTag.Close()
	}
	return parts, faults
}

func (o Options) userParts(m chat.Message) (parts []*genai.Part, faults []provider.Fault) {
	if m.Name != "" {
		parts = append(parts, &genai.Part{Text: m.Name + ":"})
	}
	named := len(parts)
	for k, p := range m.Content {
		part, f := convertPart(k, p)
		switch {
		case f != nil:
			faults = append(faults, *f)
		case part == nil:
		case named == 1 && len(parts) == 1 && part.Text != "":
			parts[0].Text += " " + part.Text
			named = 0 // the name is put before a text
		default:
			parts = append(parts, part)
		}
	}
	return parts, faults
}

// convertPart converts a part of a user's or a model's content, and returns nil if nothing is sent.
func convertPart(k int, p chat.Part) (*genai.Part, *provider.Fault) {
	var part *genai.Part
	var err error
	rule := provider.RuleMedia
	switch p := p.(type) {
	case chat.Text: // no blank one, which package provider leaves out
		part = &genai.Part{Text: string(p)}
	case chat.Image:
		part, err = imagePart(p)
	case chat.Document:
		part, err = documentPart(p)
	case chat.Opaque:
		var note note
		rule = provider.RuleOpaque
		if note, err = readOpaque(p.Value); err == nil && note.part == nil {
			err = errors.New("a note that belongs in an assistant message")
		}
		part = note.part
	}
	if err != nil {
		return nil, new(faultf(k, rule, "%v", err))
	}
	return part, nil
}

// modelParts converts an assistant message: its content, with each call at the place that a note marks, and the other
// calls at the end.
func (o Options) modelParts(m chat.Message) (parts []*genai.Part, faults []provider.Fault) {
	calls := map[string]*genai.Part{} // that have no place yet
	for _, c := range m.ToolCalls {
		calls[c.ID] = callPart(c, o.written)
	}
	var pending []byte // a signature whose part did not come yet
	pendingPart := 0
	add := func(p *genai.Part) {
		if pending != nil && p.ThoughtSignature == nil {
			p.ThoughtSignature, pending = pending, nil
		}
		parts = append(parts, p)
	}
	for k, p := range m.Content {
		switch p := p.(type) {
		case chat.Thinking:
			if p.Text != "" {
				add(&genai.Part{Text: p.Text, Thought: true})
			}
			continue
		case chat.Opaque:
			note, err := readOpaque(p.Value)
			switch {
			case err != nil:
				faults = append(faults, faultf(k, provider.RuleOpaque, "%v", err))
			case note.part != nil:
				add(note.part)
			case note.call != "":
				part := calls[note.call]
				if delete(calls, note.call); part == nil {
					faults = append(faults, faultf(k, provider.RuleOpaque, "the place of call %q, which is not in the message or has another place", note.call))
					continue
				}
				add(part)
			default:
				if n := len(parts); n > 0 && !parts[n-1].Thought && parts[n-1].ThoughtSignature == nil {
					parts[n-1].ThoughtSignature = note.signature
				} else if pending == nil {
					pending, pendingPart = note.signature, k
				} else {
					faults = append(faults, faultf(k, provider.RuleEmptyPart, "a thought signature without a part"))
				}
			}
			continue
		}
		part, f := convertPart(k, p)
		if f != nil {
			faults = append(faults, *f)
		} else if part != nil {
			add(part)
		}
	}
	for _, c := range m.ToolCalls {
		if part := calls[c.ID]; part != nil {
			add(part)
			delete(calls, c.ID)
		}
	}
	if pending != nil {
		faults = append(faults, faultf(pendingPart, provider.RuleEmptyPart, "a thought signature without a part"))
	}
	return parts, faults
}

// responseParts converts a tool message to a function response, followed by the media beside it.
func (o Options) responseParts(m chat.Message, name string) ([]*genai.Part, []provider.Fault) {
	response := &genai.FunctionResponse{ID: m.ToolCallID, Name: name}
	var text strings.Builder
	var beside []*genai.Part
	var faults []provider.Fault
	for k, p := range m.Content {
		part, f := convertPart(k, p)
		switch {
		case f != nil:
			faults = append(faults, *f)
		case part == nil:
		case part.InlineData == nil && part.FileData == nil && (part.Text == "" || part.Thought):
			faults = append(faults, faultf(k, provider.RuleOpaque, "a function response holds text, images and documents only"))
		case part.Text != "":
			text.WriteString(part.Text)
		case o.Legacy:
			beside = append(beside, part)
		default:
			response.Parts = append(response.Parts, responsePart(part))
		}
	}
	key := "output"
	if m.IsError {
		key = "error"
	}
	response.Response = map[string]any{key: text.String()}
	parts := []*genai.Part{{FunctionResponse: response}}
	if len(beside) > 0 {
		parts = append(parts, &genai.Part{Text: fmt.Sprintf("What call %s of %s returned besides its text:", m.ToolCallID, name)})
	}
	return append(parts, beside...), faults
}

package importer

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// gooseReader reads the sessions of goose (block/goose): what `goose session export` writes as JSON (versions 1.10 and
// later), and the lines of earlier versions: what is known of the session, then its messages. Usage is recorded only for
// the session as a whole.
type gooseReader struct {
	*builder
	hidden bool // a message was hidden from the model: a compaction covers it
}

func (g *gooseReader) line(number int, o *wire.Object, raw []byte) error {
	if o.Is("role", wire.KindText) {
		return g.message(number, o, raw)
	}
	var messages json.RawMessage
	if o.Given("conversation") {
		messages = o.Field("conversation", wire.KindList)
	}
	model := struct {
		Provider_name string
		Model_config  struct{ Model_name string }
	}{}
	_ = json.Unmarshal(raw, &model) // or it names none
	g.rec.Header = entry.Header{From: o.Peek("id"), Time: o.Time("created_at"), Data: o.Remainder()}
	if _, err := g.answeredBy(Record{Line: number, Recorded: "session"}, model.Provider_name, model.Model_config.Model_name); err != nil || messages == nil {
		return cmp.Or(o.Err(), err)
	}
	return g.each(messages, number, "conversation", g.skip, g.message)
}

func (g *gooseReader) message(line int, o *wire.Object, raw json.RawMessage) error {
	r := Record{Line: line, Recorded: o.Text("role"), Entry: entry.Entry{Parent: g.tip, Time: o.Time("created")}}
	id := o.Peek("id")
	if id != "" && !g.has(id) {
		r.ID = id
		o.Skip("id")
	}
	m := chat.Message{Role: chat.Role(r.Recorded)}
	if o.Err() == nil && m.Role != chat.RoleUser && m.Role != chat.RoleAssistant {
		return fmt.Errorf("unknown role %q", clip(r.Recorded))
	}
	var results []chat.Message
	var kept []json.RawMessage
	var notes pending
	o.Each("content", func(p *wire.Object) error {
		raw := p.Source()
		switch typ := p.Text("type"); {
		case p.Err() != nil:
		case typ == "text":
			appendText(&m, p.Text("text"), "content.text", &notes)
		case typ == "image":
			m.Content = append(m.Content, mediaOf(p))
		case typ == "thinking":
			appendThinking(&m, chat.Thinking{Text: p.Text("thinking"), Signature: p.OptionalText("signature")}, "content.thinking", &notes)
		case typ == "reasoning": // of models without signatures
			appendThinking(&m, chat.Thinking{Text: p.Text("text")}, "content.reasoning", &notes)
		case typ == "redactedThinking":
			appendThinking(&m, chat.Thinking{Encrypted: p.Text("data")}, "content.redactedThinking", &notes)
		case (typ == "toolRequest" || typ == "frontendToolRequest") && m.Role == chat.RoleAssistant:
			return gooseRequest(&m, p, &notes)
		case typ == "toolResponse" && m.Role == chat.RoleUser:
			result, err := gooseResponse(p, &notes)
			results = append(results, result)
			return err
		default: // for the user only
			kept = append(kept, clone(raw))
			switch typ {
			case "toolConfirmationRequest", "actionRequired", "systemNotification", "conversationCompacted", "contextLengthExceeded", "summarizationRequested":
			default:
				notes.add(Unknown, "content."+typ)
			}
			return nil
		}
		notes.rest("content", p)
		return p.Err()
	})
	shown, covered, provider, model := gooseMetadata(o)
	if o.Err() != nil {
		return o.Err()
	}
	r, err := g.sayAll(r, results)
	if err != nil {
		return err
	}
	g.noteAll(line, notes)
	data := o.Remainder()
	switch {
	case len(m.Content) == 0 && len(m.ToolCalls) == 0 && (len(results) > 0 || len(kept) > 0):
	case g.hidden && covered && m.Role == chat.RoleUser:
		g.hidden = false
		r.Body = entry.Compaction{Messages: []chat.Message{m}, Summary: entry.Summary{Text: m.Text(), Data: data}}
		if err := g.add(r); err != nil {
			return err
		}
	case m.Role == chat.RoleAssistant && id != "" && g.tip == id && g.get(id).Message().Role == m.Role: // a further part of the same answer
		g.join(id, m)
	default:
		if m.Role == chat.RoleAssistant {
			if r, err = g.answeredBy(r, provider, model); err != nil {
				return err
			}
		}
		if err := g.say(r, m, data); err != nil {
			return err
		}
	}
	g.hidden = g.hidden || !shown
	return g.keepAll(r, kept)
}

// gooseMetadata reports whether the model was shown a message to the end, whether only the model was, and who wrote it.
func gooseMetadata(o *wire.Object) (shown, only bool, provider, model string) {
	m := struct {
		AgentVisible, UserVisible *bool
		Inference                 struct{ Provider, RequestedModel string }
	}{}
	_ = json.Unmarshal(o.Look("metadata"), &m) // or both see it
	shown = m.AgentVisible == nil || *m.AgentVisible
	return shown, shown && m.UserVisible != nil && !*m.UserVisible, m.Inference.Provider, m.Inference.RequestedModel
}

// gooseRequest reads a call. One that the model wrote wrongly has an error in place of its name.
func gooseRequest(m *chat.Message, p *wire.Object, notes *pending) error {
	c := chat.ToolCall{ID: p.Text("id"), Signature: p.OptionalText("thoughtSignature")}
	call := p.Object("toolCall")
	if call.Is("value", wire.KindObject) {
		value := call.Object("value")
		c.Name, c.Arguments = value.Text("name"), cmp.Or(value.Compact("arguments"), "{}")
		notes.rest("content.toolCall.value", value)
	} else {
		c.Name, c.Arguments = "invalid", inputJSON(call.OptionalText("error"))
	}
	call.Skip("status")
	notes.rest("content.toolCall", call)
	m.ToolCalls = append(m.ToolCalls, c)
	notes.rest("content", p)
	return p.Err()
}

// gooseResponse reads a result: its content, in earlier versions a list alone, or the error.
func gooseResponse(p *wire.Object, notes *pending) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: p.Text("id")}
	result := p.Object("toolResult")
	if p.Err() != nil {
		return m, p.Err()
	}
	list := result
	if result.Is("value", wire.KindObject) {
		list = result.Object("value")
		m.IsError = list.Flag("isError")
		list.Put("value", list.Raw("content"))
		if list.Given("structuredContent") {
			notes.add(Repeated, "content.toolResult.structuredContent")
			list.Skip("structuredContent")
		}
	}
	switch {
	case result.Peek("status") == "error", result.Is("error", wire.KindText):
		m.IsError = true
		appendText(&m, result.OptionalText("error"), "content.toolResult.error", notes)
	case list.Has("value"):
		list.Each("value", func(c *wire.Object) error {
			raw := c.Source()
			switch typ := c.Text("type"); {
			case typ == "text":
				appendText(&m, c.Text("text"), "content.toolResult.text", notes)
			case typ == "image":
				m.Content = append(m.Content, mediaOf(c))
			case typ == "resource" && c.Is("resource", wire.KindObject):
				resource := c.Object("resource")
				m.Content = append(m.Content, chat.Text(resource.OptionalText("text")+resource.OptionalText("blob")))
				notes.rest("content.toolResult.resource", resource)
			default:
				m.Content = append(m.Content, chat.Opaque{Value: raw})
				return c.Err()
			}
			notes.rest("content.toolResult", c)
			return c.Err()
		})
		list.Skip("value")
	}
	result.Skip("status")
	notes.rest("content.toolResult", result)
	if list != result {
		notes.rest("content.toolResult.value", list)
	}
	notes.rest("content", p)
	return m, p.Err()
}

// isGoose reports whether an object is an export, what is known of a session, or one of its messages.
func isGoose(o *wire.Object) bool {
	if o.Is("working_dir", wire.KindText) && !o.Is("role", wire.KindText) {
		return o.Is("conversation", wire.KindList) || o.Given("description") || o.Given("message_count") || o.Given("total_tokens")
	}
	return o.Is("role", wire.KindText) && o.Is("created", wire.KindNumber) && o.Is("content", wire.KindList)
}

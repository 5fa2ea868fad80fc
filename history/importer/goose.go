package importer

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// gooseReader reads the sessions of goose (block/goose): what `goose session export` writes as JSON (versions 1.10 and
// later), and the lines of earlier versions: what is known of the session, then its messages. Usage is recorded only for
// the session as a whole.
type gooseReader struct {
	*builder
	hidden bool // a message was hidden from the model: a compaction covers it
}

func (g *gooseReader) line(number int, o *object, raw []byte) error {
	if o.is("role", kindText) {
		return g.message(number, o, raw)
	}
	var messages json.RawMessage
	if o.given("conversation") {
		messages = o.field("conversation", kindList)
	}
	model := struct {
		Provider_name string
		Model_config  struct{ Model_name string }
	}{}
	_ = json.Unmarshal(raw, &model) // or it names none
	g.rec.Header = entry.Header{From: o.peek("id"), Time: o.time("created_at"), Data: o.remainder()}
	if _, err := g.answeredBy(Record{Line: number, Recorded: "session"}, model.Provider_name, model.Model_config.Model_name); err != nil || messages == nil {
		return cmp.Or(o.err, err)
	}
	return g.each(messages, number, "conversation", g.skip, g.message)
}

func (g *gooseReader) message(line int, o *object, raw json.RawMessage) error {
	r := Record{Line: line, Recorded: o.text("role"), Entry: entry.Entry{Parent: g.tip, Time: o.time("created")}}
	id := o.peek("id")
	if id != "" && !g.has(id) {
		r.ID = id
		delete(o.fields, "id")
	}
	m := chat.Message{Role: chat.Role(r.Recorded)}
	if o.err == nil && m.Role != chat.RoleUser && m.Role != chat.RoleAssistant {
		return fmt.Errorf("unknown role %q", clip(r.Recorded))
	}
	var results []chat.Message
	var kept []json.RawMessage
	var notes pending
	o.each("content", func(p *object, raw json.RawMessage) error {
		switch typ := p.text("type"); {
		case p.err != nil:
		case typ == "text":
			appendText(&m, p.text("text"), "content.text", &notes)
		case typ == "image":
			m.Content = append(m.Content, p.media())
		case typ == "thinking":
			appendThinking(&m, chat.Thinking{Text: p.text("thinking"), Signature: p.optionalText("signature")}, "content.thinking", &notes)
		case typ == "reasoning": // of models without signatures
			appendThinking(&m, chat.Thinking{Text: p.text("text")}, "content.reasoning", &notes)
		case typ == "redactedThinking":
			appendThinking(&m, chat.Thinking{Encrypted: p.text("data")}, "content.redactedThinking", &notes)
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
		return p.err
	})
	shown, covered, provider, model := gooseMetadata(o)
	if o.err != nil {
		return o.err
	}
	r, err := g.sayAll(r, results)
	if err != nil {
		return err
	}
	g.noteAll(line, notes)
	data := o.remainder()
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
func gooseMetadata(o *object) (shown, only bool, provider, model string) {
	m := struct {
		AgentVisible, UserVisible *bool
		Inference                 struct{ Provider, RequestedModel string }
	}{}
	_ = json.Unmarshal(o.fields["metadata"], &m) // or both see it
	shown = m.AgentVisible == nil || *m.AgentVisible
	return shown, shown && m.UserVisible != nil && !*m.UserVisible, m.Inference.Provider, m.Inference.RequestedModel
}

// gooseRequest reads a call. One that the model wrote wrongly has an error in place of its name.
func gooseRequest(m *chat.Message, p *object, notes *pending) error {
	c := chat.ToolCall{ID: p.text("id"), Signature: p.optionalText("thoughtSignature")}
	call := p.object("toolCall")
	if call.is("value", kindObject) {
		value := call.object("value")
		c.Name, c.Arguments = value.text("name"), cmp.Or(value.compact("arguments"), "{}")
		notes.rest("content.toolCall.value", value)
	} else {
		c.Name, c.Arguments = "invalid", inputJSON(call.optionalText("error"))
	}
	delete(call.fields, "status")
	notes.rest("content.toolCall", call)
	m.ToolCalls = append(m.ToolCalls, c)
	notes.rest("content", p)
	return p.err
}

// gooseResponse reads a result: its content, in earlier versions a list alone, or the error.
func gooseResponse(p *object, notes *pending) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: p.text("id")}
	result := p.object("toolResult")
	if p.err != nil {
		return m, p.err
	}
	list := result
	if result.is("value", kindObject) {
		list = result.object("value")
		m.IsError = list.flag("isError")
		list.fields["value"] = list.raw("content")
		if list.given("structuredContent") {
			notes.add(Repeated, "content.toolResult.structuredContent")
			delete(list.fields, "structuredContent")
		}
	}
	switch {
	case result.peek("status") == "error", result.is("error", kindText):
		m.IsError = true
		appendText(&m, result.optionalText("error"), "content.toolResult.error", notes)
	case list.fields["value"] != nil:
		list.each("value", func(c *object, raw json.RawMessage) error {
			switch typ := c.text("type"); {
			case typ == "text":
				appendText(&m, c.text("text"), "content.toolResult.text", notes)
			case typ == "image":
				m.Content = append(m.Content, c.media())
			case typ == "resource" && c.is("resource", kindObject):
				resource := c.object("resource")
				m.Content = append(m.Content, chat.Text(resource.optionalText("text")+resource.optionalText("blob")))
				notes.rest("content.toolResult.resource", resource)
			default:
				m.Content = append(m.Content, chat.Opaque{Value: raw})
				return c.err
			}
			notes.rest("content.toolResult", c)
			return c.err
		})
		delete(list.fields, "value")
	}
	delete(result.fields, "status")
	notes.rest("content.toolResult", result)
	if list != result {
		notes.rest("content.toolResult.value", list)
	}
	notes.rest("content", p)
	return m, p.err
}

// isGoose reports whether an object is an export, what is known of a session, or one of its messages.
func isGoose(o *object) bool {
	if o.is("working_dir", kindText) && !o.is("role", kindText) {
		return o.is("conversation", kindList) || o.given("description") || o.given("message_count") || o.given("total_tokens")
	}
	return o.is("role", kindText) && o.is("created", kindNumber) && o.is("content", kindList)
}

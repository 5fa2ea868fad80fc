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

func (g *gooseReader) line(o *wire.Object) {
	if o.Is("role", wire.KindText) {
		g.message(o)
		return
	}
	messages := o.Raw("conversation")
	g.rec.Header = entry.Header{From: o.Peek("id"), Time: o.Time("created_at"), Data: o.Remainder()}
	g.answeredBy(Record{}, o.Peek("provider_name"), within(o, "model_config").Peek("model_name"))
	g.each(messages, "conversation", g.skip, g.message)
}

func (g *gooseReader) message(o *wire.Object) {
	r := Record{Recorded: o.Text("role"), Entry: entry.Entry{Parent: g.tip, Time: o.Time("created")}}
	id := o.Peek("id")
	if id != "" && !g.has(id) {
		r.ID = id
		o.Skip("id")
	}
	m := chat.Message{Role: chat.Role(r.Recorded)}
	if m.Role != chat.RoleUser && m.Role != chat.RoleAssistant {
		o.Fail(fmt.Errorf("unknown role %q", clip(r.Recorded)))
	}
	var results []chat.Message
	var kept []json.RawMessage
	o.Each("content", func(p *wire.Object) {
		switch typ := p.Text("type"); {
		case typ == "text":
			g.text(&m, p.Text("text"), "content.text")
		case typ == "image":
			m.Content = append(m.Content, mediaOf(p))
		case typ == "thinking":
			g.thought(&m, chat.Thinking{Text: p.Text("thinking"), Signature: p.OptionalText("signature")}, "content.thinking")
		case typ == "reasoning": // of models without signatures
			g.thought(&m, chat.Thinking{Text: p.Text("text")}, "content.reasoning")
		case typ == "redactedThinking":
			g.thought(&m, chat.Thinking{Encrypted: p.Text("data")}, "content.redactedThinking")
		case (typ == "toolRequest" || typ == "frontendToolRequest") && m.Role == chat.RoleAssistant:
			m.ToolCalls = append(m.ToolCalls, g.request(p))
		case typ == "toolResponse" && m.Role == chat.RoleUser:
			results = append(results, g.response(p))
		default: // for the user only
			kept = append(kept, p.Source())
			switch typ {
			case "toolConfirmationRequest", "actionRequired", "systemNotification", "conversationCompacted", "contextLengthExceeded", "summarizationRequested":
			default:
				g.note(noteUnknown, "content."+typ)
			}
			return
		}
		g.rest("content", p)
	})
	metadata := within(o, "metadata")
	hidden := func(field string) bool { return metadata.Is(field, wire.KindBoolean) && !metadata.Flag(field) }
	shown, onlyModel := !hidden("agentVisible"), hidden("userVisible")
	if o.Err() != nil {
		return
	}
	r = g.sayAll(r, results)
	data := o.Remainder()
	switch {
	case len(m.Content) == 0 && len(m.ToolCalls) == 0 && (len(results) > 0 || len(kept) > 0):
	case g.hidden && shown && onlyModel && m.Role == chat.RoleUser:
		g.hidden = false
		g.add(r, entry.Compaction{Messages: []chat.Message{m}, Summary: entry.Summary{Text: m.Text(), Data: data}})
	case m.Role == chat.RoleAssistant && id != "" && g.tip == id && g.get(id).Message().Role == m.Role: // a further part of the same answer
		g.join(id, m)
	default:
		if m.Role == chat.RoleAssistant {
			by := within(metadata, "inference")
			r = g.answeredBy(r, by.Peek("provider"), by.Peek("requestedModel"))
		}
		g.say(r, m, data)
	}
	g.hidden = g.hidden || !shown
	g.keepAll(r, kept)
}

// request reads a call. One that the model wrote wrongly has an error in place of its name.
func (g *gooseReader) request(p *wire.Object) chat.ToolCall {
	c := chat.ToolCall{ID: p.Text("id"), Signature: p.OptionalText("thoughtSignature")}
	call := p.Object("toolCall")
	if call.Is("value", wire.KindObject) {
		value := call.Object("value")
		c.Name, c.Arguments = value.Text("name"), cmp.Or(value.Compact("arguments"), "{}")
		g.rest("content.toolCall.value", value)
	} else {
		c.Name, c.Arguments = "invalid", inputJSON(call.OptionalText("error"))
	}
	call.Skip("status")
	g.rest("content.toolCall", call)
	return c
}

// response reads a result: its content, in earlier versions a list alone, or the error.
func (g *gooseReader) response(p *wire.Object) chat.Message {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: p.Text("id")}
	result := p.Object("toolResult")
	list := result
	if result.Is("value", wire.KindObject) {
		list = result.Object("value")
		m.IsError = list.Flag("isError")
		list.Put("value", list.Raw("content"))
		if list.Given("structuredContent") {
			g.note(noteRepeated, "content.toolResult.structuredContent")
			list.Skip("structuredContent")
		}
	}
	switch {
	case result.Peek("status") == "error", result.Is("error", wire.KindText):
		m.IsError = true
		g.text(&m, result.OptionalText("error"), "content.toolResult.error")
	case list.Has("value"):
		list.Each("value", func(c *wire.Object) {
			switch typ := c.Text("type"); {
			case typ == "text":
				g.text(&m, c.Text("text"), "content.toolResult.text")
			case typ == "image":
				m.Content = append(m.Content, mediaOf(c))
			case typ == "resource" && c.Is("resource", wire.KindObject):
				resource := c.Object("resource")
				m.Content = append(m.Content, chat.Text(resource.OptionalText("text")+resource.OptionalText("blob")))
				g.rest("content.toolResult.resource", resource)
			default:
				m.Content = append(m.Content, chat.Opaque{Value: c.Source()})
				return
			}
			g.rest("content.toolResult", c)
		})
		list.Skip("value")
	}
	result.Skip("status")
	g.rest("content.toolResult", result)
	if list != result {
		g.rest("content.toolResult.value", list)
	}
	return m
}

// isGoose reports whether an object is an export, what is known of a session, or one of its messages.
func isGoose(o *wire.Object) bool {
	if o.Is("working_dir", wire.KindText) && !o.Is("role", wire.KindText) {
		return o.Is("conversation", wire.KindList) || o.Given("description") || o.Given("message_count") || o.Given("total_tokens")
	}
	return o.Is("role", wire.KindText) && o.Is("created", wire.KindNumber) && o.Is("content", wire.KindList)
}

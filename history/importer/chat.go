package importer

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
)

// chatReader reads messages in the form of OpenAI's chat completions and Anthropic's messages API: a list of messages,
// or a request with one, as a JSON document; or one message or request per line. Each of several requests is a
// conversation of its own. The fields of a request besides its messages are kept in one [entry.Custom] before them,
// and so are system messages, there or in one of their own, because the prompt renders those anew.
//
// Both APIs write a text-only conversation in the same way. The format is decided by the first message, or field of a
// request, that only one of them can have; without one it is OpenAI's. What came before reads the same in both.
type chatReader struct{ *builder }

// line reads a message, or a request.
func (c *chatReader) line(o *wire.Object) {
	if !o.Is("messages", wire.KindList) {
		c.message(c.tip, o)
		return
	}
	messages := o.Raw("messages")
	if o.Given("system") || o.Given("anthropic_version") || o.Given("stop_sequences") {
		c.rec.Format = cmp.Or(c.rec.Format, formatAnthropic)
	}
	usage := c.chatUsage(o)
	parent := ""
	if settings := o.Remainder(); settings != nil {
		r := Record{Recorded: "request"}
		c.add(r, entry.Custom{Name: r.Recorded, Data: settings})
		parent = c.tip
	}
	answer := ""
	c.each(messages, "messages", c.skip && c.doc != nil, func(m *wire.Object) {
		if c.message(parent, m); m.Err() != nil {
			return
		}
		parent = c.tip
		if r := c.get(c.tip); r != nil && r.Message().Role == chat.RoleAssistant {
			answer = c.tip
		}
	})
	if r := c.get(answer); r != nil && r.Usage == (chat.Usage{}) { // usage logged with the request belongs to its answer
		r.Usage = usage
	}
}

func (c *chatReader) finish() {
	c.rec.Format = cmp.Or(c.rec.Format, formatOpenAI)
	c.rec.Leaf = c.tip
}

// messageFormat returns the format of a message, "" if it may be either.
func messageFormat(o *wire.Object) Program {
	fields := []string{"tool_calls", "function_call", "refusal", "audio", "name", "reasoning_content"}
	if slices.Contains([]string{"system", "developer", "tool", "function"}, o.Peek("role")) || slices.ContainsFunc(fields, o.Given) {
		return formatOpenAI
	}
	var found Program
	_ = wire.Each(o.Look("content"), func(part *wire.Object, _ int) error { // errors are reported when the message is read
		typ := part.Peek("type")
		switch {
		case found != "":
		case typ == "image_url", typ == "input_audio", typ == "file", typ == "refusal":
			found = formatOpenAI
		case typ != "text", part.Given("cache_control"), part.Given("citations"):
			found = formatAnthropic
		}
		return nil
	})
	return found
}

// message reads a message that follows a parent.
func (c *chatReader) message(parent string, o *wire.Object) {
	if c.rec.Format == "" {
		c.rec.Format = messageFormat(o)
	}
	r := Record{Recorded: o.Peek("role")}
	r.Parent, r.Time = parent, o.Time("ts") // as Cline and Roo Code store it
	if c.rec.Format == formatAnthropic {
		c.anthropic(r, o)
	} else {
		c.openAI(r, o)
	}
}

// isChat reports whether an object is a message or a request. The role of its first message tells.
func isChat(o *wire.Object) bool {
	if o.Is("messages", wire.KindList) {
		m := firstOf(o, "messages")
		return m == nil || isChatRole(m)
	}
	return isChatRole(o)
}

func isChatRole(o *wire.Object) bool {
	return slices.Contains([]string{"user", "assistant", "system", "developer", "tool", "function"}, o.Peek("role"))
}

// openAI reads a message of OpenAI's chat completions, also of the form before tools: the results of those name a function
// and not a call, and belong to its last call.
func (b *builder) openAI(r Record, o *wire.Object) {
	var m chat.Message
	var name json.RawMessage // of a function
	switch role := o.Peek("role"); role {
	case "system", "developer":
		b.custom(r, "system", o)
		return
	case "assistant":
		b.thinkingBlocks(&m, o)
	case "function":
		name = o.Raw("name")
		o.PutText("role", "tool")
		o.PutText("tool_call_id", legacyCall(r.Parent))
	case "user", "tool":
	default:
		b.unknownRole(r, role, o)
		return
	}
	var left wire.Leftovers
	said, _ := completions.Decode(o, &left) // an error is recorded in o
	said.Content = append(m.Content, said.Content...)
	b.left(left)
	if said.Role == chat.RoleAssistant && o.Given("function_call") {
		if r.ID == "" {
			r.ID = b.madeUp()
		}
		call := o.Object("function_call")
		said.ToolCalls = append(said.ToolCalls, chat.ToolCall{
			ID: legacyCall(r.ID), Name: call.Text("name"), Arguments: call.Text("arguments"),
		})
		b.rest("function_call", call)
	}
	if o.Is("usage", wire.KindObject) {
		r.Usage = b.chatUsage(o)
	}
	said.Origin.Model = o.Peek("model")
	o.Put("name", name)
	b.say(r, said, o.Remainder())
}

// unknownRole keeps a message of a role that neither API has.
func (b *builder) unknownRole(r Record, role string, o *wire.Object) {
	o.Text("role") // an error if it is none
	b.note(noteUnknown, "role "+role)
	b.custom(r, "role", o)
}

// legacyCall returns an id for a call without one, from that of its message. The call's result comes right after the
// message.
func legacyCall(record string) string { return "call-" + record }

// anthropic reads a message of Anthropic's messages API, version 2023-06-01: a message of a request, or an answer with
// its id, model and usage.
func (b *builder) anthropic(r Record, o *wire.Object) {
	role := chat.Role(o.Peek("role"))
	switch role {
	case chat.RoleSystem:
		b.custom(r, "system", o)
		return
	case chat.RoleUser, chat.RoleAssistant:
		o.Skip("role")
	default:
		b.unknownRole(r, string(role), o)
		return
	}
	d := b.blocks(role, o)
	r.Usage = b.chatUsage(o)
	d.Message.Origin.Model = o.Peek("model")
	if o.Is("metrics", wire.KindObject) || o.Is("modelInfo", wire.KindObject) {
		r, d.Message.Origin.Model = b.cline(r, o)
	}
	if last := len(d.Results) - 1; last >= 0 && len(d.Message.Content) == 0 {
		b.say(b.sayAll(r, d.Results[:last]), d.Results[last], o.Remainder())
		return
	}
	b.say(b.sayAll(r, d.Results), d.Message, o.Remainder())
}

// cline reads the model and the usage that Cline stores with an answer. Its prompt tokens are all, and the cached ones
// those of them that were read.
func (b *builder) cline(r Record, o *wire.Object) (_ Record, model string) {
	provider := ""
	b.inside(o, "", "modelInfo", func(info *wire.Object) {
		model, provider = info.OptionalText("modelId"), info.OptionalText("providerId")
	})
	b.inside(o, "", "metrics", func(metrics *wire.Object) {
		r.Cost = metrics.Amount("cost")
		b.inside(metrics, "metrics.", "tokens", func(u *wire.Object) { r.Usage = clineUsage.read(u) })
	})
	return b.answeredBy(r, provider, model), model
}

package importer

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
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

package importer

import (
	"encoding/json"

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

func newChat(b *builder) *chatReader { return &chatReader{builder: b} }

// line reads a message, or a request.
func (c *chatReader) line(number int, o *wire.Object, raw []byte) error {
	if !o.Is("messages", wire.KindList) {
		return c.message(number, c.tip, o, raw)
	}
	messages := o.Raw("messages")
	c.decide(requestFormat(o))
	var notes pending
	usage, err := chatUsage(o, &notes)
	if err != nil {
		return err
	}
	parent := ""
	if settings := o.Remainder(); settings != nil {
		r := Record{Line: number, Recorded: "request"}
		r.Body = entry.Custom{Name: r.Recorded, Data: settings}
		if err := c.add(r); err != nil {
			return err
		}
		parent = c.tip
	}
	answer := ""
	err = c.each(messages, number, "messages", c.skip && c.doc != nil, func(line int, m *wire.Object, raw json.RawMessage) error {
		if err := c.message(line, parent, m, raw); err != nil {
			return err
		}
		parent = c.tip
		if m, ok := c.get(c.tip).Body.(entry.Message); ok && m.Role == chat.RoleAssistant {
			answer = c.tip
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r := c.get(answer); r != nil && r.Usage == (chat.Usage{}) { // usage logged with the request belongs to its answer
		r.Usage = usage
	}
	c.noteAll(number, notes)
	return nil
}

func (c *chatReader) finish() error {
	c.decide(FormatOpenAI)
	c.rec.Leaf = c.tip
	return nil
}

// decide sets the format unless it is known.
func (c *chatReader) decide(f Format) {
	if c.rec.Format == "" {
		c.rec.Format = f
	}
}

// requestFormat returns the format of a request, "" if it may be either.
func requestFormat(o *wire.Object) Format {
	if o.Given("system") || o.Given("anthropic_version") || o.Given("stop_sequences") {
		return FormatAnthropic
	}
	return ""
}

// messageFormat returns the format of a message, "" if it may be either.
func messageFormat(o *wire.Object) Format {
	switch o.Peek("role") {
	case "system", "developer", "tool", "function":
		return FormatOpenAI
	}
	for _, field := range []string{"tool_calls", "function_call", "refusal", "audio", "name", "reasoning_content"} {
		if o.Given(field) {
			return FormatOpenAI
		}
	}
	if !o.Is("content", wire.KindList) {
		return ""
	}
	var found Format
	_ = wire.Each(o.Look("content"), func(part *wire.Object, _ int) error { // errors are reported when the message is read
		typ := part.Peek("type")
		switch {
		case found != "":
		case typ == "image_url", typ == "input_audio", typ == "file", typ == "refusal":
			found = FormatOpenAI
		case typ != "text", part.Given("cache_control"), part.Given("citations"):
			found = FormatAnthropic
		}
		return nil
	})
	return found
}

// message reads a message that follows a parent.
func (c *chatReader) message(line int, parent string, o *wire.Object, raw json.RawMessage) error {
	if c.rec.Format == "" {
		c.decide(messageFormat(o))
	}
	var notes pending
	r := Record{Line: line, Recorded: o.Peek("role")}
	r.Parent, r.Time = parent, o.Time("ts") // as Cline and Roo Code store it
	read := c.openAI
	if c.rec.Format == FormatAnthropic {
		read = c.anthropic
	}
	if err := read(r, o, raw, &notes); err != nil {
		return err
	}
	c.noteAll(line, notes)
	return nil
}

// chatUsage reads usage as either API reports it.
func chatUsage(o *wire.Object, notes *pending) (chat.Usage, error) {
	if !o.Is("usage", wire.KindObject) {
		return chat.Usage{}, nil
	}
	if u := o.Inside("usage"); !u.Is("input_tokens_details", wire.KindObject) && !u.Given("prompt_tokens") {
		usage, _, err := anthropicUsage.read(o, notes)
		return usage, err
	}
	u := o.Object("usage")
	var usage chat.Usage
	completions.ReadUsage(&usage, u)
	for _, name := range u.Rest() {
		if details := u.Inside(name); details != nil {
			notes.rest("usage."+name, details)
			u.Skip(name)
		}
	}
	notes.rest("usage", u)
	return usage, nil
}

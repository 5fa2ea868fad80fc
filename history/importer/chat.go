package importer

import (
	"encoding/json"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
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
func (c *chatReader) line(number int, o *object, raw []byte) error {
	if !o.is("messages", kindList) {
		return c.message(number, c.tip, o, raw)
	}
	messages := o.raw("messages")
	c.decide(requestFormat(o))
	var notes pending
	usage, err := chatUsage(o, &notes)
	if err != nil {
		return err
	}
	parent := ""
	if settings := o.remainder(); settings != nil {
		r := Record{Line: number, Recorded: "request"}
		r.Body = entry.Custom{Name: r.Recorded, Data: settings}
		if err := c.add(r); err != nil {
			return err
		}
		parent = c.tip
	}
	answer := ""
	err = c.each(messages, number, "messages", c.skip && c.doc != nil, func(line int, m *object, raw json.RawMessage) error {
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
func requestFormat(o *object) Format {
	if o.given("system") || o.given("anthropic_version") || o.given("stop_sequences") {
		return FormatAnthropic
	}
	return ""
}

// messageFormat returns the format of a message, "" if it may be either.
func messageFormat(o *object) Format {
	switch o.peek("role") {
	case "system", "developer", "tool", "function":
		return FormatOpenAI
	}
	for _, field := range []string{"tool_calls", "function_call", "refusal", "audio", "name", "reasoning_content"} {
		if o.given(field) {
			return FormatOpenAI
		}
	}
	if !o.is("content", kindList) {
		return ""
	}
	var found Format
	_ = eachObject(o.fields["content"], func(part *object, _ json.RawMessage) error { // errors are reported when the message is read
		typ := part.peek("type")
		switch {
		case found != "":
		case typ == "image_url", typ == "input_audio", typ == "file", typ == "refusal":
			found = FormatOpenAI
		case typ != "text", part.given("cache_control"), part.given("citations"):
			found = FormatAnthropic
		}
		return nil
	})
	return found
}

// message reads a message that follows a parent.
func (c *chatReader) message(line int, parent string, o *object, raw json.RawMessage) error {
	if c.rec.Format == "" {
		c.decide(messageFormat(o))
	}
	var notes pending
	r := Record{Line: line, Recorded: o.peek("role")}
	r.Parent = parent
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
func chatUsage(o *object, notes *pending) (chat.Usage, error) {
	if !o.is("usage", kindObject) {
		return chat.Usage{}, nil
	}
	input, output, details := "input_tokens", "output_tokens", "input_tokens_details" // of the responses API
	u, err := parseObject(o.fields["usage"])
	switch {
	case err == nil && u.is(details, kindObject):
	case err == nil && u.given("prompt_tokens"):
		input, output, details = "prompt_tokens", "completion_tokens", "prompt_tokens_details"
	default:
		usage, _, err := anthropicUsage.read(o, notes)
		return usage, err
	}
	u = o.object("usage")
	usage := chat.Usage{
		Input: u.count(input), Output: u.count(output),
		CacheRead: u.count("cache_read_input_tokens"), CacheWrite: u.count("cache_creation_input_tokens"), // as LiteLLM has them
	}
	if u.is(details, kindObject) {
		d := u.object(details)
		usage.CacheRead = max(usage.CacheRead, d.count("cached_tokens"))
		notes.rest("usage."+details, d)
	}
	notes.rest("usage", u)
	return usage, o.err
}

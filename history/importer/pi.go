package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// The types of pi's lines that are looked at.
const (
	piSession = "session"
	piMessage = "message"
)

// The roles of pi's messages.
const (
	piUser          = "user"
	piAssistant     = "assistant"
	piToolResult    = "toolResult"
	piBashExecution = "bashExecution"
)

// piHeader checks the line that a pi session begins with.
func piHeader(o *object) error {
	if typ := o.text("type"); o.err == nil && typ != piSession {
		return fmt.Errorf("the type is %q", typ)
	}
	o.text("id")
	return o.err
}

// readPi reads what comes after the header.
func readPi(lines *lineReader) (*Recording, error) {
	p := piReader{recording: Recording{Format: FormatPi}, lines: map[string]int{}}
	for {
		o, err := lines.object()
		if err == io.EOF {
			return &p.recording, nil
		}
		if err != nil {
			return nil, err
		}
		if err := p.line(lines.number, o); err != nil {
			return nil, lines.wrap(err)
		}
	}
}

// piReader turns the lines of a pi session into entries.
type piReader struct {
	recording Recording
	last      string         // id of the line before, empty where lines have none
	lines     map[string]int // the line of each id
}

func (p *piReader) line(number int, o *object) error {
	typ := o.text("type")
	if o.err != nil {
		return o.err
	}
	if err := p.follow(number, o); err != nil {
		return err
	}
	switch typ {
	case piSession:
		return errors.New("a second session begins")
	case piMessage:
		m := o.object("message")
		if o.err != nil {
			return o.err
		}
		if err := p.message(number, m); err != nil {
			return fmt.Errorf("message: %w", err)
		}
	default:
		p.skip(typ)
	}
	return nil
}

// follow checks that a line goes on from the line before it, where lines say what they go on from. A parent that was
// never met is no branch: pi leaves labels out when it copies a session, and does not mend the lines after them.
func (p *piReader) follow(number int, o *object) error {
	id, parent := o.optionalText("id"), o.optionalText("parentId")
	if o.err != nil || id == "" {
		return o.err
	}
	at, met := p.lines[parent]
	switch {
	case parent == p.last:
	case parent == "":
		return errors.New("the session branches: the line goes on from the start")
	case met:
		return fmt.Errorf("the session branches: the line goes on from line %d", at)
	}
	p.last = id
	p.lines[id] = number
	return nil
}

func (p *piReader) skip(typ string) {
	if p.recording.Skipped == nil {
		p.recording.Skipped = map[string]int{}
	}
	p.recording.Skipped[typ]++
}

func (p *piReader) message(number int, o *object) error {
	role := o.text("role")
	if o.err != nil {
		return o.err
	}
	e := Entry{Line: number}
	var err error
	switch role {
	case piUser:
		e.Message, err = piUserMessage(o)
	case piAssistant:
		if e.Message, err = piAssistantMessage(o); err == nil {
			e.Usage, err = piUsage(o)
		}
	case piToolResult:
		e.Message, err = piToolMessage(o)
	case piBashExecution:
		if o.flag("excludeFromContext") {
			p.skip(role)
			return nil
		}
		e.Message, err = piBashMessage(o)
	default:
		return fmt.Errorf("unknown role %q", role)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	p.recording.Entries = append(p.recording.Entries, e)
	return nil
}

// piUserMessage reads a user message, whose content is a text or a list of parts.
func piUserMessage(o *object) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleUser}
	if !o.given("content") || kind(o.fields["content"]) != kindText {
		err := piContent(&m, o)
		return m, err
	}
	if text := o.text("content"); text != "" {
		m.Content = chat.Parts{chat.Text(text)}
	}
	return m, o.err
}

func piAssistantMessage(o *object) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleAssistant}
	err := piContent(&m, o)
	return m, err
}

func piToolMessage(o *object) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: o.text("toolCallId"), IsError: o.flag("isError")}
	err := piContent(&m, o)
	return m, err
}

// piBashMessage tells of a command that the user ran in the words in which pi tells its model.
func piBashMessage(o *object) (chat.Message, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Ran `%s`\n", o.text("command"))
	if output := o.text("output"); output != "" {
		fmt.Fprintf(&b, "```\n%s\n```", output)
	} else {
		b.WriteString("(no output)")
	}
	cancelled, exitCode := o.flag("cancelled"), o.number("exitCode")
	switch {
	case cancelled:
		b.WriteString("\n\n(command cancelled)")
	case exitCode != "" && exitCode != "0":
		fmt.Fprintf(&b, "\n\nCommand exited with code %s", exitCode)
	}
	truncated, path := o.flag("truncated"), o.optionalText("fullOutputPath")
	switch {
	case truncated && path != "":
		fmt.Fprintf(&b, "\n\n[Output truncated. Full output: %s]", path)
	case truncated:
		b.WriteString("\n\n[Output truncated]")
	}
	return chat.UserMessage(b.String()), o.err
}

// piContent reads the list of a message's parts and tool calls.
func piContent(m *chat.Message, o *object) error {
	parts := o.list("content")
	for i, part := range parts {
		if err := piPart(m, part); err != nil {
			return fmt.Errorf("content: part %d: %w", i, err)
		}
	}
	return o.err
}

func piPart(m *chat.Message, o *object) error {
	typ := o.text("type")
	assistant := m.Role == chat.RoleAssistant
	switch {
	case o.err != nil:
	case typ == "text":
		if text := o.text("text"); text != "" {
			m.Content = append(m.Content, chat.Text(text))
		}
	case typ == "image" && !assistant:
		data, mediaType := o.text("data"), o.text("mimeType")
		m.Content = append(m.Content, chat.Image{URL: "data:" + mediaType + ";base64," + data})
	case typ == "thinking" && assistant:
		if t := piThinking(o); t != (chat.Thinking{}) {
			m.Content = append(m.Content, t)
		}
	case typ == "toolCall" && assistant:
		m.ToolCalls = append(m.ToolCalls, piToolCall(o))
	default:
		return fmt.Errorf("unknown type %q", typ)
	}
	return o.err
}

// piThinking reads a thought. In a redacted one, the text is a note of pi's that there is none, and the signature is
// what the provider sent in its place.
func piThinking(o *object) chat.Thinking {
	text, signature := o.text("thinking"), o.optionalText("thinkingSignature")
	if o.flag("redacted") {
		return chat.Thinking{Encrypted: signature}
	}
	return chat.Thinking{Text: text, Signature: signature}
}

func piToolCall(o *object) chat.ToolCall {
	c := chat.ToolCall{ID: o.text("id"), Name: o.text("name")}
	var b bytes.Buffer
	if raw := o.field("arguments", kindObject); o.err == nil {
		o.err = json.Compact(&b, raw)
	}
	c.Arguments = b.String()
	return c
}

// piUsage reads what the provider reported. Pi counts the tokens that the cache served or took in apart.
func piUsage(o *object) (chat.Usage, error) {
	if !o.given("usage") {
		return chat.Usage{}, nil
	}
	u := o.object("usage")
	usage := chat.Usage{
		Input:      u.count("input"),
		Output:     u.count("output"),
		CacheRead:  u.count("cacheRead"),
		CacheWrite: u.count("cacheWrite"),
	}
	usage.Input += usage.CacheRead + usage.CacheWrite
	switch {
	case o.err != nil:
		return usage, o.err
	case u.err != nil:
		return usage, fmt.Errorf("usage: %w", u.err)
	}
	return usage, nil
}

package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// message reads a message by its role; entry is the object that contains it. If the role is unknown, the line is kept
// as it is.
func (p *piReader) message(r *Record, e, o *object, raw []byte, notes *pending) error {
	role := o.text("role")
	if o.err != nil {
		return o.err
	}
	if r.Time.IsZero() {
		r.Time = o.time("timestamp")
	}
	body, err := p.body(role, r, o, raw, notes)
	if err == nil {
		err = o.err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	e.put("message", o.remainder())
	data := e.remainder()
	switch b := body.(type) {
	case entry.Message:
		b.Data = data
		r.Body = b
	case entry.Shell:
		b.Data = data
		r.Body = b
	case entry.CustomMessage:
		b.Data = data
		r.Body = b
	default:
		r.Body = body
	}
	return nil
}

func (p *piReader) body(role string, r *Record, o *object, raw []byte, notes *pending) (entry.Body, error) {
	var m chat.Message
	var err error
	switch role {
	case "user":
		m.Role = chat.RoleUser
		err = piContent(&m, o, notes)
	case "assistant":
		m.Role = chat.RoleAssistant
		if err = piContent(&m, o, notes); err == nil {
			signThinking(&m, o)
			r.Usage, r.Cost, err = piUsage.read(o, notes)
		}
	case "toolResult":
		m.Role, m.ToolCallID, m.IsError = chat.RoleTool, o.text("toolCallId"), o.flag("isError")
		err = piContent(&m, o, notes)
	case "bashExecution", "pythonExecution":
		return piShell(role, o), nil
	case "custom", "hookMessage":
		m.Role = chat.RoleUser
		err = piContent(&m, o, notes)
		return entry.CustomMessage{Name: o.optionalText("customType"), Content: m.Content}, err
	case "fileMention":
		m.Role = chat.RoleUser
		err = piFiles(&m, o)
		return entry.CustomMessage{Name: role, Content: m.Content}, err
	case "branchSummary", "compactionSummary":
		return entry.CustomMessage{Name: role, Content: summaryMessage(o.text("summary")).Content}, o.err
	case "developer": // the prompt renders the developer's words anew
		return entry.Custom{Name: role, Data: clone(raw)}, nil
	default:
		notes.add(Unknown, "message."+role)
		return entry.Custom{Name: role, Data: clone(raw)}, nil
	}
	return entry.Message{Message: m}, err
}

// piShell reads a command, or Python, that the user ran.
func piShell(role string, o *object) entry.Shell {
	s := entry.Shell{Cancelled: o.flag("cancelled"), Hidden: o.flag("excludeFromContext"), Output: o.text("output")}
	if role == "pythonExecution" {
		s.Command = o.text("code")
	} else {
		s.Command = o.text("command")
	}
	if code := o.number("exitCode"); code != "" {
		var err error
		if s.ExitCode, err = strconv.Atoi(code); err != nil && o.err == nil {
			o.err = fmt.Errorf("exitCode: %s is not an exit code", clip(code))
		}
	}
	return s
}

// piFiles reads the files that a user mentioned, each as a text with its name, or as an image.
func piFiles(m *chat.Message, o *object) error {
	o.each("files", func(file *object, _ json.RawMessage) error {
		path := file.text("path")
		if content := file.optionalText("content"); content != "" {
			m.Content = append(m.Content, chat.Text(fmt.Sprintf("<file path=%q>\n%s\n</file>", path, content)))
		} else {
			m.Content = append(m.Content, chat.Text(fmt.Sprintf("<file path=%q/>", path)))
		}
		if file.given("image") {
			image := file.object("image")
			m.Content = append(m.Content, piImage(image))
		}
		return file.err
	})
	return o.err
}

// piContent reads the content of a message: a text or a list of parts and, in some roles, tool calls.
func piContent(m *chat.Message, o *object, notes *pending) error {
	if (m.Role == chat.RoleUser || m.Role == chat.RoleSystem) && o.is("content", kindText) {
		if text := o.text("content"); text != "" {
			m.Content = chat.Parts{chat.Text(text)}
		} else {
			notes.add(Empty, "content")
		}
		return o.err
	}
	o.each("content", func(part *object, raw json.RawMessage) error { return piPart(m, part, raw, notes) })
	return o.err
}

func piPart(m *chat.Message, o *object, raw json.RawMessage, notes *pending) error {
	typ := o.text("type")
	assistant := m.Role == chat.RoleAssistant
	var part chat.Part
	switch {
	case o.err != nil:
		return o.err
	case typ == "text":
		part = chat.Text(o.text("text"))
	case typ == "image":
		part = piImage(o)
	case typ == "thinking" && assistant:
		part = piThinking(o)
	case typ == "redactedThinking" && assistant:
		part = chat.Thinking{Encrypted: o.text("data")}
	case typ == "toolCall" && assistant:
		m.ToolCalls = append(m.ToolCalls, piToolCall(o))
	case (typ == "toolCall" || typ == "thinking") && !assistant:
		return fmt.Errorf("type %q in a message of role %s", typ, m.Role)
	default: // specific to a provider, such as a search that it ran itself
		m.Content = append(m.Content, chat.Opaque{Value: raw})
		return nil
	}
	if o.err != nil {
		return o.err
	}
	switch part {
	case nil:
	case chat.Text(""), chat.Thinking{}:
		notes.add(Empty, "content."+typ)
	default:
		m.Content = append(m.Content, part)
	}
	notes.rest("content."+typ, o)
	return nil
}

// piImage reads an image. Oh-my-pi may store the data in a separate file and refer to it as blob:….
func piImage(o *object) chat.Part {
	data, mediaType := o.text("data"), o.text("mimeType")
	if strings.HasPrefix(data, "blob:") {
		return chat.Image{URL: data, MediaType: mediaType}
	}
	return chat.Image{URL: "data:" + mediaType + ";base64," + data}
}

// piThinking reads a thought. The text of a redacted one is only a note by pi, and the signature is what the provider
// sent instead.
func piThinking(o *object) chat.Part {
	text, signature := o.text("thinking"), o.optionalText("thinkingSignature")
	if o.flag("redacted") {
		return chat.Thinking{Encrypted: signature}
	}
	return chat.Thinking{Text: text, Signature: signature}
}

// signThinking sets the signature of thinking of a Chat Completions server as later versions of pi do: to the field in which
// it came, and goes back. Earlier versions of pi wrote none. An answer that was cut off is left as it is.
func signThinking(m *chat.Message, o *object) {
	reason := o.peek("stopReason")
	if o.peek("api") != "openai-completions" || reason == "aborted" || reason == "error" {
		return
	}
	for i, p := range m.Content {
		if t, ok := p.(chat.Thinking); ok && t.Signature == "" && t.Encrypted == "" {
			t.Signature = "reasoning_content"
			m.Content[i] = t
		}
	}
}

func piToolCall(o *object) chat.ToolCall {
	c := chat.ToolCall{ID: o.text("id"), Name: o.text("name"), Signature: o.optionalText("thoughtSignature")}
	var b bytes.Buffer
	if raw := o.field("arguments", kindObject); o.err == nil {
		o.err = json.Compact(&b, raw)
	}
	c.Arguments = b.String()
	return c
}

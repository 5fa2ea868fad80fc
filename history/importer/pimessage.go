package importer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// message reads a message by its role; entry is the object that contains it. If the role is unknown, the line is kept
// as it is.
func (p *piReader) message(r *Record, e, o *wire.Object, raw []byte, notes *pending) error {
	role := o.Text("role")
	if o.Err() != nil {
		return o.Err()
	}
	if r.Time.IsZero() {
		r.Time = o.Time("timestamp")
	}
	body, err := p.body(role, r, o, raw, notes)
	if err == nil {
		err = o.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	e.Put("message", o.Remainder())
	data := e.Remainder()
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

func (p *piReader) body(role string, r *Record, o *wire.Object, raw []byte, notes *pending) (entry.Body, error) {
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
			m.Origin = chat.Origin{Provider: providers[o.Peek("api")], Model: o.Peek("model")}
			r.Usage, r.Cost, err = piUsage.read(o, notes)
		}
	case "toolResult":
		m.Role, m.ToolCallID, m.IsError = chat.RoleTool, o.Text("toolCallId"), o.Flag("isError")
		err = piContent(&m, o, notes)
	case "bashExecution", "pythonExecution":
		return piShell(role, o), nil
	case "custom", "hookMessage":
		m.Role = chat.RoleUser
		err = piContent(&m, o, notes)
		return entry.CustomMessage{Name: o.OptionalText("customType"), Content: m.Content}, err
	case "fileMention":
		m.Role = chat.RoleUser
		err = piFiles(&m, o)
		return entry.CustomMessage{Name: role, Content: m.Content}, err
	case "branchSummary", "compactionSummary":
		return entry.CustomMessage{Name: role, Content: summaryMessage(o.Text("summary")).Content}, o.Err()
	case "developer": // the prompt renders the developer's words anew
		return entry.Custom{Name: role, Data: clone(raw)}, nil
	default:
		notes.add(Unknown, "message."+role)
		return entry.Custom{Name: role, Data: clone(raw)}, nil
	}
	return entry.Message{Message: m}, err
}

// piShell reads a command, or Python, that the user ran.
func piShell(role string, o *wire.Object) entry.Shell {
	s := entry.Shell{Cancelled: o.Flag("cancelled"), Hidden: o.Flag("excludeFromContext"), Output: o.Text("output")}
	if role == "pythonExecution" {
		s.Command = o.Text("code")
	} else {
		s.Command = o.Text("command")
	}
	if code := o.Number("exitCode"); code != "" {
		var err error
		if s.ExitCode, err = strconv.Atoi(code); err != nil {
			o.Fail(fmt.Errorf("exitCode: %s is not an exit code", clip(code)))
		}
	}
	return s
}

// piFiles reads the files that a user mentioned, each as a text with its name, or as an image.
func piFiles(m *chat.Message, o *wire.Object) error {
	o.Each("files", func(file *wire.Object) error {
		path := file.Text("path")
		if content := file.OptionalText("content"); content != "" {
			m.Content = append(m.Content, chat.Text(fmt.Sprintf("<file path=%q>\n%s\n</file>", path, content)))
		} else {
			m.Content = append(m.Content, chat.Text(fmt.Sprintf("<file path=%q/>", path)))
		}
		if file.Given("image") {
			image := file.Object("image")
			m.Content = append(m.Content, piImage(image))
		}
		return file.Err()
	})
	return o.Err()
}

// piContent reads the content of a message: a text or a list of parts and, in some roles, tool calls.
func piContent(m *chat.Message, o *wire.Object, notes *pending) error {
	if (m.Role == chat.RoleUser || m.Role == chat.RoleSystem) && o.Is("content", wire.KindText) {
		if text := o.Text("content"); text != "" {
			m.Content = chat.Parts{chat.Text(text)}
		} else {
			notes.add(Empty, "content")
		}
		return o.Err()
	}
	o.Each("content", func(part *wire.Object) error { return piPart(m, part, part.Source(), notes) })
	return o.Err()
}

func piPart(m *chat.Message, o *wire.Object, raw json.RawMessage, notes *pending) error {
	typ := o.Text("type")
	assistant := m.Role == chat.RoleAssistant
	var part chat.Part
	switch {
	case o.Err() != nil:
		return o.Err()
	case typ == "text":
		part = chat.Text(o.Text("text"))
	case typ == "image":
		part = piImage(o)
	case typ == "thinking" && assistant:
		part = piThinking(o)
	case typ == "redactedThinking" && assistant:
		part = chat.Thinking{Encrypted: o.Text("data")}
	case typ == "toolCall" && assistant:
		m.ToolCalls = append(m.ToolCalls, piToolCall(o))
	case (typ == "toolCall" || typ == "thinking") && !assistant:
		return fmt.Errorf("type %q in a message of role %s", typ, m.Role)
	default: // specific to a provider, such as a search that it ran itself
		m.Content = append(m.Content, chat.Opaque{Value: raw})
		return nil
	}
	if o.Err() != nil {
		return o.Err()
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
func piImage(o *wire.Object) chat.Part {
	data, mediaType := o.Text("data"), o.Text("mimeType")
	if strings.HasPrefix(data, "blob:") {
		return chat.Image{URL: data, MediaType: mediaType}
	}
	return chat.Image{URL: "data:" + mediaType + ";base64," + data}
}

// piThinking reads a thought. The text of a redacted one is only a note by pi, and the signature is what the provider
// sent instead.
func piThinking(o *wire.Object) chat.Part {
	text, signature := o.Text("thinking"), o.OptionalText("thinkingSignature")
	if o.Flag("redacted") {
		return chat.Thinking{Encrypted: signature}
	}
	return chat.Thinking{Text: text, Signature: signature}
}

// signThinking sets the signature of thinking of a Chat Completions server as later versions of pi do: to the field in which
// it came, and goes back. Earlier versions of pi wrote none. An answer that was cut off is left as it is.
func signThinking(m *chat.Message, o *wire.Object) {
	reason := o.Peek("stopReason")
	if o.Peek("api") != "openai-completions" || reason == "aborted" || reason == "error" {
		return
	}
	for i, p := range m.Content {
		if t, ok := p.(chat.Thinking); ok && t.Signature == "" && t.Encrypted == "" {
			t.Signature = "reasoning_content"
			m.Content[i] = t
		}
	}
}

func piToolCall(o *wire.Object) chat.ToolCall {
	c := chat.ToolCall{ID: o.Text("id"), Name: o.Text("name"), Signature: o.OptionalText("thoughtSignature")}
	if raw := o.Field("arguments", wire.KindObject); raw != nil {
		c.Arguments = wire.Compacted(raw)
	}
	return c
}

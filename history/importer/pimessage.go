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

// piMessage reads a message by its role; e is the line that contains it. If the role is unknown, the line is kept
// as it is.
func (b *builder) piMessage(r *Record, e, o *wire.Object) entry.Body {
	role := o.Text("role")
	if r.Time.IsZero() {
		r.Time = o.Time("timestamp")
	}
	rest := func() json.RawMessage { // what of the line was not read
		e.Put("message", o.Remainder())
		return e.Remainder()
	}
	m := chat.Message{Role: chat.RoleUser}
	switch role {
	case "user":
		b.piContent(&m, o)
	case "assistant":
		m.Role = chat.RoleAssistant
		b.piContent(&m, o)
		signThinking(&m, o)
		m.Origin = chat.Origin{Provider: providers[o.Peek("api")], Model: o.Peek("model")}
		r.Usage, r.Cost = b.piUsage(o)
	case "toolResult":
		m.Role, m.ToolCallID, m.IsError = chat.RoleTool, o.Text("toolCallId"), o.Flag("isError")
		b.piContent(&m, o)
	case "bashExecution", "pythonExecution":
		shell := piShell(role, o)
		shell.Data = rest()
		return shell
	case "custom", "hookMessage":
		b.piContent(&m, o)
		return entry.CustomMessage{Name: o.OptionalText("customType"), Content: m.Content, Data: rest()}
	case "fileMention":
		piFiles(&m, o)
		return entry.CustomMessage{Name: role, Content: m.Content, Data: rest()}
	case "branchSummary", "compactionSummary":
		return entry.CustomMessage{Name: role, Content: summaryMessage(o.Text("summary")).Content, Data: rest()}
	case "developer": // the prompt renders the developer's words anew
		return entry.Custom{Name: role, Data: e.Source()}
	default:
		b.note(noteUnknown, "message."+role)
		return entry.Custom{Name: role, Data: e.Source()}
	}
	return entry.Message{Message: m, Data: rest()}
}

// piShell reads a command, or Python, that the user ran.
func piShell(role string, o *wire.Object) entry.Shell {
	s := entry.Shell{Cancelled: o.Flag("cancelled"), Hidden: o.Flag("excludeFromContext"), Output: o.Text("output")}
	s.Command = o.Text(map[string]string{"bashExecution": "command", "pythonExecution": "code"}[role])
	if code := o.Number("exitCode"); code != "" {
		var err error
		if s.ExitCode, err = strconv.Atoi(code); err != nil {
			o.Fail(fmt.Errorf("exitCode: %s is not an exit code", clip(code)))
		}
	}
	return s
}

// piFiles reads the files that a user mentioned, each as a text with its name, or as an image.
func piFiles(m *chat.Message, o *wire.Object) {
	o.Each("files", func(file *wire.Object) {
		path := file.Text("path")
		if content := file.OptionalText("content"); content != "" {
			m.Content = append(m.Content, chat.Text(fmt.Sprintf("<file path=%q>\n%s\n</file>", path, content)))
		} else {
			m.Content = append(m.Content, chat.Text(fmt.Sprintf("<file path=%q/>", path)))
		}
		if file.Given("image") {
			m.Content = append(m.Content, piImage(file.Object("image")))
		}
	})
}

// piContent reads the content of a message: a text or a list of parts and, in some roles, tool calls.
func (b *builder) piContent(m *chat.Message, o *wire.Object) {
	if m.Role == chat.RoleUser && o.Is("content", wire.KindText) {
		b.text(m, o.Text("content"), "content")
		return
	}
	o.Each("content", func(p *wire.Object) {
		typ, assistant := p.Text("type"), m.Role == chat.RoleAssistant
		switch {
		case typ == "text":
			b.text(m, p.Text("text"), "content.text")
		case typ == "image":
			m.Content = append(m.Content, piImage(p))
		case typ == "thinking" && assistant:
			b.thought(m, piThinking(p), "content.thinking")
		case typ == "redactedThinking" && assistant:
			b.thought(m, chat.Thinking{Encrypted: p.Text("data")}, "content.redactedThinking")
		case typ == "toolCall" && assistant:
			m.ToolCalls = append(m.ToolCalls, piToolCall(p))
		case typ == "toolCall", typ == "thinking":
			p.Fail(fmt.Errorf("type %q in a message of role %s", typ, m.Role))
		default: // specific to a provider, such as a search that it ran itself
			m.Content = append(m.Content, chat.Opaque{Value: p.Source()})
			return
		}
		b.rest("content."+typ, p)
	})
}

// piUsage reads the field "usage", if present, and the cost.
func (b *builder) piUsage(o *wire.Object) (usage chat.Usage, cost float64) {
	if !o.Given("usage") {
		return usage, cost
	}
	u := o.Object("usage")
	usage = piUsage.read(u)
	b.inside(u, "usage.", "cost", func(costs *wire.Object) { cost = costs.Amount("total") })
	b.rest("usage", u)
	return usage, cost
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
func piThinking(o *wire.Object) chat.Thinking {
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

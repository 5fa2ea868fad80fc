package entry

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// erasedText replaces a text that was erased, unless it is longer than the text.
const erasedText = "[erased]"

// erasedFor returns the replacement for a text.
func erasedFor(text string) string {
	if len(text) < len(erasedText) {
		return ""
	}
	return erasedText
}

// Erased returns a body without its content.
func Erased(body Body) Body {
	none := func(string, []byte) []byte { return nil }
	v := &visitor{show: func(p Passage) string { return erasedFor(p.Text) }, value: none}
	switch b := body.(type) {
	case Message:
		eraseMessage("", &b.Message)
		b.Data = nil
		return b
	case CustomMessage:
		b.Content, b.Data = erasedParts(b.Content), nil
		return b
	case Compaction:
		b.Messages = each(b.Messages, "", eraseMessage)
		b.Thinking, b.Title, b.Summary = nil, "", Summary{Text: erasedFor(b.Text), Extension: b.Extension}
		return b
	case BranchSummary:
		b.Summary = Summary{Text: erasedFor(b.Text), Extension: b.Extension}
		return b
	case Clearing:
		b.Arguments = each(b.Arguments, "", func(_ string, c *Cleared) { c.Text = "{}" })
		b.Results = each(b.Results, "", func(_ string, c *Cleared) { c.Text = cleared(c.Text) })
		return b
	case Todos:
		return Todos{Text: erasedFor(b.Text)}
	case Preamble:
		b.System = each(b.System, "", eraseMessage)
		b.Tools = each(b.Tools, "", func(_ string, t *chat.Tool) { *t = chat.Tool{Name: t.Name} })
		return b
	case Plan:
		b.Instructions, b.Thinking = "", nil
		return b
	case PlanEnd:
		b.Error, b.Finished = erasedFor(b.Error), nil
		return b
	case Unknown:
		b.Line = erasedLine(b.Line)
		return b
	}
	return v.body(body)
}

// erasedLine returns the line of an entry of an unknown type with nothing but its id, parent and type.
func erasedLine(line []byte) []byte {
	var head struct {
		Type   Type   `json:"type"`
		ID     string `json:"id"`
		Parent string `json:"parent,omitempty"`
	}
	if json.Unmarshal(line, &head) != nil {
		return line
	}
	left, err := plainjson.Marshal(head)
	if err != nil {
		return line
	}
	return left
}

// cleared returns the replacement for a placeholder, which is never empty.
func cleared(text string) string {
	if t := erasedFor(text); t != "" {
		return t
	}
	return "-"
}

// eraseMessage erases the content of a message.
func eraseMessage(_ string, m *chat.Message) {
	m.Name, m.Content = "", erasedParts(m.Content)
	m.ToolCalls = each(m.ToolCalls, "", func(_ string, c *chat.ToolCall) {
		c.Signature = ""
		if len(c.Arguments) > len("{}") {
			c.Arguments = "{}"
		}
	})
}

// erasedParts returns content with its text erased, and empty content if there was no text.
func erasedParts(parts chat.Parts) chat.Parts {
	for _, p := range parts {
		if text, ok := p.(chat.Text); ok && len(text) >= len(erasedText) {
			return chat.Parts{chat.Text(erasedText)}
		}
	}
	return nil
}

// Copies finds word for word copies of the texts of some bodies in others.
type Copies struct {
	texts []string
	lines map[string]bool // whole lines
	at    map[string]copied
}

// copied is the place in texts at which a key first occurs.
type copied struct{ text, at int }

// runSize is the number of consecutive bytes that make a copy wherever they occur; each such run contains a key of
// keySize bytes at a multiple of keySize. A whole line of at least lineSize bytes is a copy too.
const (
	runSize  = 32
	keySize  = runSize / 2
	lineSize = 4
)

// NewCopies returns a finder of copies that knows no text yet.
func NewCopies() *Copies { return &Copies{lines: map[string]bool{}, at: map[string]copied{}} }

// Add records the texts of a body.
func (c *Copies) Add(body Body) {
	for _, text := range textsOf(body) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= lineSize {
				c.lines[line] = true
			}
		}
		for i := 0; i+keySize <= len(text); i += keySize {
			if _, known := c.at[text[i:i+keySize]]; !known {
				c.at[text[i:i+keySize]] = copied{len(c.texts), i}
			}
		}
		c.texts = append(c.texts, text)
	}
}

// run returns the start and end of the copy that contains the key at a place in a text, and false if there is none.
func (c *Copies) run(text string, at int) (start, end int, ok bool) {
	from, ok := c.at[text[at:at+keySize]]
	if !ok {
		return 0, 0, false
	}
	source := c.texts[from.text]
	start, end = at, at+keySize
	for i := from.at; i > 0 && start > 0 && source[i-1] == text[start-1]; i-- {
		start--
	}
	for i := from.at + keySize; i < len(source) && end < len(text) && source[i] == text[end]; i++ {
		end++
	}
	return start, end, end-start >= runSize
}

// Without returns a body without its copies, and reports whether it had any.
func (c *Copies) Without(body Body) (Body, bool) {
	changed := false
	v := &visitor{
		show: func(p Passage) string { return c.cut(p.Text) },
		value: func(_ string, value []byte) []byte {
			cut := c.cut(string(value))
			if cut == string(value) {
				return value
			}
			return nil
		},
		changed: func(string) { changed = true },
	}
	switch b := body.(type) {
	case Compaction:
		before, had := b.Thinking, b.Data
		b = v.body(b).(Compaction)
		changed = changed || len(before) != len(b.Thinking) || !bytes.Equal(had, b.Data)
		return b, changed
	case Plan:
		before := b.Thinking
		b = v.body(b).(Plan)
		return b, changed || len(before) != len(b.Thinking)
	case BranchSummary, PlanEnd:
		return v.body(body), changed
	case Clearing:
		list := func(of []Cleared, instead func(string) string) []Cleared {
			return each(of, "", func(_ string, o *Cleared) {
				if c.cut(o.Text) != o.Text {
					o.Text, changed = instead(o.Text), true
				}
			})
		}
		b.Results = list(b.Results, cleared)
		b.Arguments = list(b.Arguments, func(string) string { return "{}" })
		return b, changed
	}
	return body, false
}

// cut returns a text without its copies.
func (c *Copies) cut(text string) string {
	gone := make([]bool, len(text))
	found := false
	for i := 0; i+keySize <= len(text); i++ {
		if start, end, ok := c.run(text, i); ok {
			found = true
			for k := start; k < end; k++ {
				gone[k] = true
			}
			i = end - keySize
		}
	}
	at := 0
	for line := range strings.Lines(text) {
		if c.lines[strings.TrimSpace(line)] {
			found = true
			for k := at; k < at+len(line); k++ {
				gone[k] = true
			}
		}
		at += len(line)
	}
	if !found {
		return text
	}
	var left strings.Builder
	for i := 0; i < len(text); {
		k := i
		for k < len(text) && gone[k] == gone[i] {
			k++
		}
		if gone[i] {
			left.WriteString(erasedFor(text[i:k]))
		} else {
			left.WriteString(text[i:k])
		}
		i = k
	}
	return strings.ToValidUTF8(left.String(), "")
}

// textsOf returns the texts of a body.
func textsOf(body Body) []string {
	var texts []string
	v := &visitor{
		show: func(p Passage) string {
			texts = append(texts, p.Text)
			return p.Text
		},
		value: func(_ string, value []byte) []byte {
			texts = append(texts, string(value))
			return value
		},
	}
	v.body(body)
	return texts
}

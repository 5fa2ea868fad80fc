package entry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/facts"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
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
	case Custom:
		b.Data = nil
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
	v := &visitor{show: func(p Passage) string { return erasedFor(p.Text) }, value: func(string, []byte) []byte { return nil }}
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
	left, _ := plainjson.Marshal(head) // texts always encode
	return left
}

// cleared returns the replacement for a placeholder, which is never empty.
func cleared(text string) string { return cmp.Or(erasedFor(text), "-") }

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

// Whole returns all that a body says to a model, whoever says it, and "" for a body that says nothing.
func Whole(body Body) string {
	switch b := body.(type) {
	case Message:
		b.Name, b.Data = "", nil
		body = b
	case CustomMessage:
		b.Data = nil
		body = b
	case Shell:
		b.Data = nil
		body = b
	default:
		return ""
	}
	return strings.Join(textsOf(body), "\xff")
}

// Copies finds word for word copies of the texts of some bodies in others.
type Copies struct {
	ctx   context.Context // of all methods; once it has ended, what they return means nothing
	texts strings.Builder // with a byte after each that is in no text
	lines map[string]bool // whole lines
	names map[string]bool // by name that was looked for, whether it is in the texts
	ids   map[string]bool // of the entries, and of the calls that they answer
	seed  maphash.Seed
	runs  []uint32 // a table, by hash, of the places in texts of all runs, each plus one; nil until it is needed
}

// runSize is the number of consecutive bytes, a run, that make a copy wherever they occur. A whole line of at least
// lineSize bytes is a copy too. Every stepSize bytes the context is looked at.
const (
	runSize  = 32
	lineSize = 4
	stepSize = 1 << 16
)

// NewCopies returns a finder of copies that knows no text yet, and stops when the context ends.
func NewCopies(ctx context.Context) *Copies {
	return &Copies{ctx: ctx, lines: map[string]bool{}, names: map[string]bool{}, ids: map[string]bool{}, seed: maphash.MakeSeed()}
}

// AddID records an entry whose texts are known, and the call that it answers, if any.
func (c *Copies) AddID(id, call string) { c.ids[id], c.ids[call] = true, true }

// Add records the texts of an entry, and the texts in its JSON. The error is the context's, or that all texts together
// have more than 4 GB. All are added before the first is looked for.
func (c *Copies) Add(e Entry) error {
	c.AddID(e.ID, e.Message().ToolCallID)
	for _, text := range textsOf(e.Body) {
		for line := range strings.Lines(text) {
			if c.ctx.Err() != nil {
				return context.Cause(c.ctx)
			}
			if line = strings.TrimSpace(line); len(line) >= lineSize {
				c.lines[line] = true
			}
		}
		c.texts.WriteString(text)
		c.texts.WriteByte(0xff)
	}
	if c.texts.Len() > math.MaxUint32 {
		return errors.New("history: the entries have more than 4 GB of text: erase fewer at once")
	}
	return nil
}

// has reports whether a name is in one of the texts.
func (c *Copies) has(name string) bool {
	found, known := c.names[name]
	if !known && c.ctx.Err() == nil {
		found = strings.Contains(c.texts.String(), name)
		c.names[name] = found
	}
	return found
}

// hasRun reports whether a run is in one of the texts.
func (c *Copies) hasRun(run string) bool {
	if texts := c.texts.String(); c.runs == nil {
		c.runs = make([]uint32, len(texts)*3/2+1)
		for i := 0; i+runSize <= len(texts) && (i%stepSize > 0 || c.ctx.Err() == nil); i++ {
			*c.place(texts[i : i+runSize]) = uint32(i + 1)
		}
	}
	return *c.place(run) > 0
}

// place returns where the table of runs has a run, or has room for it.
func (c *Copies) place(run string) *uint32 {
	i, _ := bits.Mul64(maphash.String(c.seed, run), uint64(len(c.runs)))
	for c.runs[i] > 0 && c.texts.String()[c.runs[i]-1:][:runSize] != run {
		i = (i + 1) % uint64(len(c.runs))
	}
	return &c.runs[i]
}

// Holds reports whether a body holds copies.
func (c *Copies) Holds(body Body) bool {
	return slices.ContainsFunc(textsOf(body), func(text string) bool { return c.cut(text) != text })
}

// Without returns a body that is made of others without its copies, and reports whether it had any.
func (c *Copies) Without(body Body) (Body, bool) {
	changed := false
	v := &visitor{
		show: func(p Passage) string { return c.cut(c.unlisted(p.Text)) },
		value: func(_ string, value []byte) []byte {
			if !c.inJSON(value) {
				return value
			}
			changed = true
			return nil
		},
		changed: func(string) { changed = true },
	}
	switch b := body.(type) {
	case Compaction, Plan, BranchSummary, PlanEnd, Todos:
		body = v.body(body)
		return body, changed
	case Custom:
		if b.Of != "" && c.ids[b.Of] && c.Holds(b) || strings.HasPrefix(b.Name, marks.SourceName) && c.says(b) {
			return Erased(b), true
		}
	case Clearing:
		list := func(of []Cleared, instead func(string) string) []Cleared {
			return each(of, "", func(_ string, o *Cleared) {
				if c.ids[o.Entry] || c.inJSON([]byte(o.Text)) {
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

// says reports whether one of the texts says as a whole what the data of a source does.
func (c *Copies) says(b Custom) bool {
	return slices.ContainsFunc(textsOf(b), func(text string) bool {
		return len(text) >= runSize && c.hasRun(text[:runSize]) && strings.Contains(c.texts.String(), text)
	})
}

// unlisted returns an index of names without those that are in the texts.
func (c *Copies) unlisted(text string) string {
	if !strings.HasPrefix(text, plaintext.IndexTag.Open()) {
		return text
	}
	var left strings.Builder
	for line := range strings.Lines(text) {
		id, list, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if ok && !strings.HasPrefix(line, "(") {
			names := slices.DeleteFunc(facts.Listed(list), c.has)
			line = id + ": " + facts.List(names) + "\n"
			if len(names) == 0 {
				continue
			}
		}
		left.WriteString(line)
	}
	return left.String()
}

// cut returns a text without its copies. What is left when they are cut may be a copy in its turn.
func (c *Copies) cut(text string) string {
	for {
		left := c.cutOnce(text)
		if left == text || len(left) > len(text) {
			return text
		}
		text = left
	}
}

func (c *Copies) cutOnce(text string) string {
	var left strings.Builder
	from, to := 0, 0 // of the last copy; what precedes it is in left
	for i := range len(text) {
		end := i
		switch {
		case i%stepSize == 0 && c.ctx.Err() != nil:
			return text
		case i+runSize <= len(text) && c.hasRun(text[i:i+runSize]):
			end = i + runSize
		}
		if i == 0 || text[i-1] == '\n' {
			if line, _, _ := strings.Cut(text[i:], "\n"); c.lines[strings.TrimSpace(line)] {
				end = max(end, min(i+len(line)+1, len(text)))
			}
		}
		if end > i {
			if i > to {
				left.WriteString(erasedFor(text[from:to]) + text[to:i])
				from = i
			}
			to = max(to, end)
		}
	}
	if to == 0 {
		return text
	}
	left.WriteString(erasedFor(text[from:to]) + text[to:])
	return strings.ToValidUTF8(left.String(), "")
}

// inJSON reports whether a JSON value holds a copy, as it is or in one of its strings.
func (c *Copies) inJSON(value []byte) bool {
	found := c.cut(string(value)) != string(value)
	v := &visitor{show: func(p Passage) string {
		found = found || c.cut(p.Text) != p.Text
		return p.Text
	}}
	v.json("", value)
	return found
}

// textsOf returns the texts of a body: its JSON as it is, and the strings in it that may hold a run. The name of a custom
// entry, which stays, is not among them.
func textsOf(body Body) []string {
	if b, ok := body.(Custom); ok {
		b.Name = ""
		body = b
	}
	var texts []string
	show := func(p Passage) string {
		texts = append(texts, p.Text)
		return p.Text
	}
	inside := &visitor{show: func(p Passage) string {
		if len(p.Text) >= runSize {
			texts = append(texts, p.Text)
		}
		return p.Text
	}}
	v := &visitor{show: show, value: func(path string, value []byte) []byte {
		texts = append(texts, string(value))
		return inside.json(path, value)
	}}
	v.body(body)
	return texts
}

// Package join makes messages of the pieces that stand in them: which texts become one, and where line breaks go.
package join

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Progress is how far a message has been put together: what decides whether a line break comes before the next text.
type Progress uint8

const (
	Open       Progress = 1 << iota // text is being joined
	filled                          // and is not empty
	onNewLine                       // and ends in a line break
	afterTag                        // a tag has been closed: what follows starts on a line of its own
	textBefore                      // text stands directly before, in the same element
)

// Text adds a text and reports whether a line break goes before it.
func (p Progress) Text(s string, flags tree.Flags) (next Progress, newLine bool) {
	newLine = flags&tree.StartsLine != 0 || flags&tree.StartsElement != 0 && p&textBefore == 0
	next = p | Open | textBefore
	if s != "" {
		newLine = newLine || p&afterTag != 0 && s[0] != '\n'
		next &^= afterTag
	}
	newLine = newLine && p&filled != 0 && p&onNewLine == 0
	switch {
	case s != "" && s[len(s)-1] == '\n', s == "" && newLine:
		next |= filled | onNewLine
	case s != "":
		next = next&^onNewLine | filled
	}
	return next, newLine
}

// Part adds something that is no text.
func (p Progress) Part() Progress { return p & textBefore }

// EnterTag is what comes after the opening of a tag, CloseTag after its closing, and Leave after an element.
func (p Progress) EnterTag() Progress { return p &^ textBefore }
func (p Progress) CloseTag() Progress { return p | afterTag }
func (p Progress) Leave() Progress    { return p &^ textBefore }

// Message returns a message as it would have been sent after a step.
func Message(s *tree.State, n tree.ID, at tree.Step) chat.Message {
	m := Frame(s, n, at)
	j := joiner{state: s, at: at}
	if bytes, only := j.textBytes(n); only {
		j.room = bytes
	}
	j.children(n)
	j.flush()
	m.Content = j.parts
	return m
}

// Frame returns a message without content, with the calls that were there after a step.
func Frame(s *tree.State, n tree.ID, at tree.Step) chat.Message {
	m := s.Extra(n).Frame
	m.ToolCalls = Calls(s.CallsAt(n, at))
	return m
}

// Calls returns calls without their groups, nil for none.
func Calls(calls []elements.ToolCall) []chat.ToolCall {
	if len(calls) == 0 {
		return nil
	}
	plain := make([]chat.ToolCall, len(calls))
	for i, c := range calls {
		plain[i] = c.ToolCall
	}
	return plain
}

// Messages returns the messages that had something to say after a step.
func Messages(s *tree.State, at tree.Step) []chat.Message {
	var list []chat.Message
	var collect func(n tree.ID)
	collect = func(n tree.ID) {
		switch s.Nodes[n].Kind {
		case tree.Finished:
			list = append(list, whole(s.Extra(n).Block.Messages)...)
		case tree.Container:
			for c := range s.Children(n, at) {
				collect(c)
			}
		case tree.Message:
			if !s.BlankAt(n, at) {
				list = append(list, Message(s, n, at))
			}
		}
	}
	collect(tree.Root)
	return list
}

// whole returns finished messages for a caller who may change them.
func whole(messages []chat.Message) []chat.Message {
	list := make([]chat.Message, len(messages))
	for i, m := range messages {
		m.Content, m.ToolCalls = slices.Clone(m.Content), slices.Clone(m.ToolCalls)
		list[i] = m
	}
	return list
}

// joiner puts the pieces of a message together.
type joiner struct {
	state    *tree.State
	at       tree.Step
	progress Progress
	only     string // the text joined so far, as long as it is one
	text     strings.Builder
	room     int // bytes that will be enough for the text, 0 if they are not known
	parts    chat.Parts
}

// textBytes returns how many bytes the texts in n had, a line break before each, and whether there was nothing else.
func (j *joiner) textBytes(n tree.ID) (bytes int, only bool) {
	for c := range j.state.Children(n, j.at) {
		node := &j.state.Nodes[c]
		switch {
		case node.Kind == tree.Text:
			bytes += len(node.Text) + 1
			continue
		case node.Leaf():
			return 0, false
		}
		inside, only := j.textBytes(c)
		if !only {
			return 0, false
		}
		bytes += inside
	}
	return bytes, true
}

func (j *joiner) children(n tree.ID) {
	for c := range j.state.Children(n, j.at) {
		node := &j.state.Nodes[c]
		switch node.Kind {
		case tree.Text:
			j.add(node.Text, node.Flags)
			if node.Is(tree.Element) {
				j.progress = j.progress.Leave()
			}
		case tree.Part:
			j.flush()
			j.parts = append(j.parts, j.state.Extra(c).Part)
		case tree.Breakpoint:
			j.flush()
			j.parts = AddBreakpoint(j.parts, j.state.Extra(c).Part)
		default:
			j.element(c)
		}
	}
}

func (j *joiner) element(n tree.ID) {
	tag := j.state.Tag(n)
	switch {
	case tag == nil:
		j.children(n)
	case !j.state.BlankAt(n, j.at):
		j.add(tag.Open, tree.StartsLine)
		j.progress = j.progress.EnterTag()
		j.children(n)
		j.add(tag.Close, tree.StartsLine)
		j.progress = j.progress.CloseTag()
	}
	j.progress = j.progress.Leave()
}

func (j *joiner) add(s string, flags tree.Flags) {
	next, newLine := j.progress.Text(s, flags)
	switch {
	case newLine:
		j.copy()
		j.text.WriteByte('\n')
		j.text.WriteString(s)
	case j.text.Len() == 0 && j.only == "":
		j.only = s
	case s != "":
		j.copy()
		j.text.WriteString(s)
	}
	j.progress = next
}

// copy gives up on there being one text alone, which would need no copy.
func (j *joiner) copy() {
	if j.text.Len() == 0 {
		j.text.Grow(j.room)
		j.text.WriteString(j.only)
	}
	j.only = ""
}

func (j *joiner) flush() {
	switch {
	case j.progress&Open == 0:
	case j.text.Len() == 0:
		j.parts = append(j.parts, chat.Text(j.only))
	default:
		j.parts = append(j.parts, chat.Text(j.text.String()))
		j.text.Reset()
	}
	j.only, j.progress = "", j.progress.Part()
}

// AddBreakpoint appends a cache breakpoint; of several in a row the last one stands.
func AddBreakpoint(parts chat.Parts, p chat.Part) chat.Parts {
	if last := len(parts) - 1; last >= 0 {
		if _, again := parts[last].(chat.CacheBreakpoint); again {
			parts[last] = p
			return parts
		}
	}
	return append(parts, p)
}

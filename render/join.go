package render

import (
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// joined is how far a message's pieces have been put together: what decides whether a line break comes before the next
// text.
type joined uint8

const (
	open       joined = 1 << iota // text is being joined
	filled                        // and is not empty
	onNewLine                     // and ends in a line break
	afterTag                      // a tag has been closed: what follows starts on a line of its own
	textBefore                    // text stands directly before, in the same element
)

// text adds a text and tells whether a line break goes before it.
func (j joined) text(s string, traits trait) (next joined, newLine bool) {
	newLine = traits&breaksAlways != 0 || traits&breaksFirst != 0 && j&textBefore == 0
	next = j | open | textBefore
	if s != "" {
		newLine = newLine || j&afterTag != 0 && s[0] != '\n'
		next &^= afterTag
	}
	newLine = newLine && j&filled != 0 && j&onNewLine == 0
	switch {
	case s != "" && s[len(s)-1] == '\n', s == "" && newLine:
		next |= filled | onNewLine
	case s != "":
		next = next&^onNewLine | filled
	}
	return next, newLine
}

// part adds something that is no text.
func (j joined) part() joined { return j & textBefore }

// enterTag is what comes after a tag's opening, leave what comes after an element.
func (j joined) enterTag() joined { return j &^ textBefore }
func (j joined) leave() joined    { return j &^ textBefore }

// closeTag is what comes after a tag's closing.
func (j joined) closeTag() joined { return j | afterTag }

// chatMessage is the message as it would have been sent after a step.
func (n *node) chatMessage(at step) chat.Message {
	m := n.more().frame
	m.ToolCalls = plainCalls(n.callsAt(at))
	j := joiner{at: at}
	if bytes, only := n.textBytes(at); only {
		j.room = bytes
	}
	j.children(n)
	j.flush()
	m.Content = j.parts
	return m
}

// textBytes is how many bytes the texts in n had after a step, a line break before each, and whether there was nothing else.
func (n *node) textBytes(at step) (bytes int, only bool) {
	for c := range n.present(at) {
		switch {
		case c.kind == text:
			bytes += len(c.text) + 1
			continue
		case c.leaf():
			return 0, false
		}
		inside, only := c.textBytes(at)
		if !only {
			return 0, false
		}
		bytes += inside
	}
	return bytes, true
}

// joiner puts a message's pieces together: text to text, with line breaks where they belong.
type joiner struct {
	at    step
	state joined
	only  string // the text joined so far, as long as it is one
	text  strings.Builder
	room  int // bytes that will be enough for it, where they are known
	parts chat.Parts
}

func (j *joiner) children(n *node) {
	for c := range n.present(j.at) {
		switch c.kind {
		case text:
			j.add(c.text, c.traits)
			if c.is(isElement) {
				j.state = j.state.leave()
			}
		case part:
			j.flush()
			j.parts = append(j.parts, c.rare.part)
		case breakpoint:
			j.flush()
			j.parts = addBreakpoint(j.parts, c.rare.part)
		default:
			j.element(c)
		}
	}
}

func (j *joiner) element(n *node) {
	tag := n.tag()
	switch {
	case tag == nil:
		j.children(n)
	case !n.emptyAt(j.at):
		j.add(tag.open, breaksAlways)
		j.state = j.state.enterTag()
		j.children(n)
		j.add(tag.close, breaksAlways)
		j.state = j.state.closeTag()
	}
	j.state = j.state.leave()
}

func (j *joiner) add(s string, traits trait) {
	next, newLine := j.state.text(s, traits)
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
	j.state = next
}

// copy gives up on there being one text only.
func (j *joiner) copy() {
	if j.text.Len() == 0 {
		j.text.Grow(j.room)
		j.text.WriteString(j.only)
	}
	j.only = ""
}

func (j *joiner) flush() {
	switch {
	case j.state&open == 0:
	case j.text.Len() == 0:
		j.parts = append(j.parts, chat.Text(j.only))
	default:
		j.parts = append(j.parts, chat.Text(j.text.String()))
		j.text.Reset()
	}
	j.only, j.state = "", j.state.part()
}

// addBreakpoint adds a cache breakpoint; of several in a row the last one stands.
func addBreakpoint(parts chat.Parts, p chat.Part) chat.Parts {
	if last := len(parts) - 1; last >= 0 {
		if _, again := parts[last].(chat.CacheBreakpoint); again {
			parts[last] = p
			return parts
		}
	}
	return append(parts, p)
}

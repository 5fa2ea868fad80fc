package completions

import (
	"strings"

	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// tagged splits a text into the thinking at its start and the rest. Thinking stands in a pair of [dialect.Tags], or
// before a closing tag if the prompt opened the thought. A tag that is never closed is text, unless the answer was cut
// off.
type tagged struct {
	tag   dialect.Tag // that was opened
	state tagState
	raw   strings.Builder // the text, up to the end of the thought
	body  int             // where the thought begins in raw
	sent  int             // how much of raw was streamed
}

type tagState int

const (
	atStart tagState = iota // the text may begin with a tag
	inTag
	afterTag // white space after the tag is left out
	inText
)

// read reads a piece of text. It returns what is to be streamed as thinking, the whole thought if it ended, and text.
func (t *tagged) read(said string) (piece, thought, text string) {
	switch t.state {
	case atStart:
		t.raw.WriteString(said)
		raw := strings.TrimLeft(t.raw.String(), " \t\r\n")
		for _, tag := range dialect.Tags {
			switch {
			case strings.HasPrefix(raw, tag.Open):
				t.state, t.tag = inTag, tag
				t.body = t.raw.Len() - len(raw) + len(tag.Open)
				t.sent = t.body
				return t.read("")
			case strings.HasPrefix(tag.Open, raw):
				return "", "", "" // it may become one
			}
		}
		t.state = inText
		return "", "", t.raw.String()
	case inTag:
		t.raw.WriteString(said)
		raw := t.raw.String()
		if i := strings.Index(raw[t.sent:], t.tag.Close); i >= 0 {
			i += t.sent
			piece, thought = raw[t.sent:i], strings.TrimSpace(raw[t.body:i])
			t.state = afterTag
			_, _, text = t.read(raw[i+len(t.tag.Close):])
			return piece, thought, text
		}
		if n := len(raw) - begun(raw, t.tag.Close); n > t.sent {
			piece, t.sent = raw[t.sent:n], n
		}
		return piece, "", ""
	case afterTag:
		if said = strings.TrimLeft(said, " \t\r\n"); said != "" {
			t.state = inText
		}
	}
	return "", "", said
}

// begun returns the length of the end of a text with which a tag begins.
func begun(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// end returns what was held back when no more text comes: the thought of an answer that was cut off within it, else text.
func (t *tagged) end(cut bool) (thought, text string) {
	switch {
	case t.state == inTag && cut:
		thought = strings.TrimSpace(t.raw.String()[t.body:])
	case t.state <= inTag:
		text = t.raw.String()
	}
	t.state = inText
	return thought, text
}

package history

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/internal/facts"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/toolname"
)

// The names of the tools by which an agent reads and searches its session ("read_session", "search_session"), and pins
// entries: those of package recall. A session opened with [Options.Recall] names them where something is left out of a
// prompt.
const (
	ReadTool   = toolname.ReadSession
	SearchTool = toolname.SearchSession
	PinTool    = "pin_session"
)

// Handle returns what a mark in a prompt names so that the agent can read what an entry says, from one offset of
// [entry.Entry.Text] to another, in bytes; all of it if both are 0. The same entry has the same handle at any time:
//
//	read_session({"entry":"0c1…","from":1200,"to":90400})  if the agent has the tool ([Options.Recall])
//	/logs/s.jsonl.texts/0c1….txt lines 24-310              for a long entry of a session in a file
//	entry 0c1… of /logs/s.jsonl                            for a short one
//
// In other stores it is "".
func (s *Session) Handle(e entry.Entry, from, to int) string {
	return handles{s.log.Reading()}.of(e, from, to)
}

// handles makes the handles of a session. The zero value knows only ids.
type handles struct{ log.Reading }

// of implements [Session.Handle].
func (h handles) of(e entry.Entry, from, to int) string {
	return h.ofText(e, e.Text, from, to)
}

// ofText is [handles.of] with the entry's text.
func (h handles) ofText(e entry.Entry, text func() string, from, to int) string {
	id, _ := plainjson.Marshal(e.ID) // strings always encode
	path := ""
	if h.TextPath != nil && !h.Recall && log.HasText(e) {
		path = plaintext.PathLine(h.TextPath(e.ID))
	}
	switch {
	case h.Recall && to > 0:
		return fmt.Sprintf(`%s({"entry":%s,"from":%d,"to":%d})`, ReadTool, id, from, to)
	case h.Recall:
		return fmt.Sprintf(`%s({"entry":%s})`, ReadTool, id)
	case path != "" && to > 0:
		return path + fmt.Sprintf(" lines %d-%d", entry.LineOf(text(), from), entry.LineOf(text(), to-1))
	case path != "":
		return path
	case h.Path != "":
		return "entry " + plaintext.OneLine(e.ID, entry.MaxID) + " of " + plaintext.PathLine(h.Path)
	}
	return ""
}

// marking returns the text that stands for what was cut from offset from to offset to of a text of n tokens or bytes.
type marking func(n int, unit string, from, to int) string

// mark marks what was cut from a text without saying where it can be read.
func mark(n int, unit string, _, _ int) string {
	return plaintext.CutHere(n, unit, "")
}

// marks returns the marks of a text that begins at an offset of [entry.Entry.Text].
func (h handles) marks(e entry.Entry, offset int) marking {
	text := sync.OnceValue(e.Text)
	return func(n int, unit string, from, to int) string {
		return plaintext.CutHere(n, unit, h.ofText(e, text, offset+from, offset+to))
	}
}

// resultMarks returns the marks of a result of a round. What was cleared is not the entry's text, so no range is named.
func (h handles) resultMarks(r *openRound, e entry.Entry) marking {
	if r.isCleared(e.ID) {
		return func(n int, unit string, _, _ int) string { return plaintext.CutHere(n, unit, h.ofShown(r, e)) }
	}
	return h.marks(e, 0)
}

// callMarks returns the marks of the arguments of a call of a round. They name the call, because what is cut from a string
// in JSON is not a part of the text.
func (h handles) callMarks(r *openRound, c chat.ToolCall) marking {
	handle := sync.OnceValue(func() string {
		if r.isCleared(r.Assistant.ID) {
			return h.ofShown(r, r.Assistant)
		}
		at := r.Assistant.CallAt(c.ID)
		return h.of(r.Assistant, at, at+len(c.Name)+len(c.Arguments)+len("()"))
	})
	return func(n int, unit string, _, _ int) string { return plaintext.CutHere(n, unit, handle()) }
}

// ofShown returns the handle of an entry of a round, whatever the round shows in its place.
func (h handles) ofShown(r *openRound, e entry.Entry) string {
	if o, ok := r.replaced[e.ID]; ok {
		return o.handle
	}
	return h.of(e, 0, 0)
}

const (
	namedShare = 6       // names take at most this part of what they are in: a sixth
	maxNamed   = 1 << 20 // bytes of a text in which names are looked for
)

// markStart matches the mark in a preview up to its names: its numbers are none of the result.
var markStart = regexp.MustCompile(`\[\.\.\. \d+ \w+ cut here[^;\]]*`)

// namesIn returns names that take at most room tokens in a mark: those that a text mentions most often, without those that shown has.
func namesIn(t chat.Tokenizer, text, shown string, room int) []string {
	text = markStart.ReplaceAllString(text[:min(len(text), maxNamed)], "")
	names := facts.Mentioned(text, shown, room/facts.LeastTokens)
	fit := sort.Search(len(names), func(n int) bool { return t.CountText(plaintext.NamesInIt+strings.Join(names[:n+1], ", ")) > room })
	return names[:fit]
}

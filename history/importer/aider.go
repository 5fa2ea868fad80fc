package importer

import (
	"bytes"
	"io"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// aiderReader reads the .aider.chat.history.md of aider: chats one after the other, what the user said in headings of level 4,
// what aider said in quotations, and the model's answers between. What files the model was shown is not recorded, and an edit
// is in the text of an answer.
type aiderReader struct {
	*builder
	time time.Time // of the chat
	next bool      // nothing was said in it yet
	role chat.Role // who says the lines that are held: a system message is aider's
	text strings.Builder
}

// aiderStart begins a chat, before its time.
const aiderStart = "# aider chat started at "

// isAider reports whether a recording begins as aider's do.
func isAider(lines *lineReader) bool {
	start, _ := lines.r.Peek(len(aiderStart) + 2)
	return bytes.HasPrefix(bytes.TrimSpace(start), []byte(aiderStart[:len(aiderStart)-1]))
}

// readAider reads a whole recording.
func readAider(b *builder) (*Recording, error) {
	a := &aiderReader{builder: b}
	b.rec.Format = formatAider
	for {
		if _, err := b.lines.next(); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		line := strings.ToValidUTF8(string(b.lines.buf), "\uFFFD") // an escape in it is text, not JSON
		if line != string(b.lines.buf) {
			b.lines.mended = append(b.lines.mended, b.lines.number)
		}
		a.line(strings.TrimRight(line, "\r"))
	}
	a.end()
	b.finish()
	return b.recording(), nil
}

func (a *aiderReader) line(line string) {
	role, said := chat.RoleAssistant, line
	if started, ok := strings.CutPrefix(line, aiderStart); ok {
		a.end()
		a.time, _ = time.Parse(time.DateTime, started) // or it is not known
		a.next = true
		if a.rec.Header.Time.IsZero() {
			a.rec.Header.Time = a.time
		}
		return
	}
	if text, ok := strings.CutPrefix(line, "#### "); ok {
		role, said = chat.RoleUser, text
	} else if text, ok := strings.CutPrefix(line, "> "); ok {
		role, said = chat.RoleSystem, text
	} else if line == "" && a.role != chat.RoleAssistant {
		return
	}
	if role != a.role {
		a.end()
		a.role, a.at = role, a.lines.number
	}
	a.text.WriteString(strings.TrimSuffix(said, "  ") + "\n")
}

// end adds what was said by one.
func (a *aiderReader) end() {
	text := strings.TrimSpace(a.text.String())
	a.text.Reset()
	r := Record{Recorded: string(a.role), Entry: entry.Entry{Parent: a.tip, Time: a.time}}
	if a.next { // another conversation
		r.Parent = ""
	}
	switch {
	case text == "":
	case a.role == chat.RoleSystem:
		r.Recorded = "output"
		a.keep(r, []byte(inputJSON(text)))
	default:
		a.next = false
		a.say(r, chat.Message{Role: a.role, Content: chat.Parts{chat.Text(text)}}, nil)
	}
	a.role = ""
}

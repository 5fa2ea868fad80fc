package entry

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/storage"
)

// Text returns everything that the entry says, as one text: the texts of its content, one a line after the other, then a
// line for each image, document or opaque value with its size, then the tool calls with their arguments. Thinking is
// left out. For a shell command it is the command and its output, and for a compaction and a branch summary the words of
// the summary. It is "" for other entries. Places in an entry are given as offsets in this text, in bytes.
func (e Entry) Text() string {
	text, _ := e.textAndCall("")
	return text
}

// CallAt returns the offset in [Entry.Text] of the tool call with an id, 0 if there is none.
func (e Entry) CallAt(id string) int {
	_, at := e.textAndCall(id)
	return at
}

// textAndCall returns the text, and the offset of a call in it.
func (e Entry) textAndCall(id string) (text string, at int) {
	var b strings.Builder
	line := func(text string) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	content := func(parts chat.Parts) {
		for _, p := range parts {
			if text, ok := p.(chat.Text); ok {
				line(string(text))
			}
		}
		for _, p := range parts {
			if note := partNote(p); note != "" {
				line(note)
			}
		}
	}
	switch body := e.Body.(type) {
	case Message:
		content(body.Content)
		for _, c := range body.ToolCalls {
			call := c.Name + "(" + c.Arguments + ")"
			if line(call); c.ID == id {
				at = b.Len() - len(call)
			}
		}
	case Shell:
		line("$ " + body.Command)
		line(body.Output)
	case CustomMessage:
		content(body.Content)
	case Compaction:
		line(body.Text)
	case BranchSummary:
		line(body.Text)
	}
	return b.String(), at
}

// partNote returns the line for a part that is neither text nor thinking, "" for others.
func partNote(p chat.Part) string {
	switch p := p.(type) {
	case chat.Image:
		if data, ok := strings.CutPrefix(p.URL, "data:"); ok {
			kind, data, _ := strings.Cut(data, ",")
			kind, _, _ = strings.Cut(kind, ";")
			return fmt.Sprintf("[image %s, %d bytes]", kind, base64.StdEncoding.DecodedLen(len(data)))
		}
		return fmt.Sprintf("[image %s]", p.URL)
	case chat.Document:
		return fmt.Sprintf("[document %s, %d bytes]", p.MediaType, base64.StdEncoding.DecodedLen(len(p.Data)))
	case chat.Opaque:
		return fmt.Sprintf("[value, %d bytes]", len(p.Value))
	}
	return ""
}

// maxWidth is the length of a line of a text file above which it is broken, in UTF-16 code units, as most tools that read
// files count characters. They cut lines at 2,000.
const maxWidth = 1900

// broken ends a line of a text file that goes on in the next.
const broken = "↩"

// fileHead returns the first lines of an entry's text file.
func (e Entry) fileHead() string {
	what := string(e.Type())
	if m, ok := e.Body.(Message); ok {
		what += " of role " + string(m.Role)
	}
	return fmt.Sprintf("%s A line of %d characters that ends in %s goes on in the next.\n\n", storage.TextHead(e.ID, what), maxWidth, broken)
}

// headLines is the number of lines of a text file before the text, as [storage.TextHead] says.
const headLines = 2

// TextFile returns [Entry.Text] as a file for tools that read files by lines: two lines that say what it is, then the
// text, in which lines of more than 1,900 characters are broken.
func (e Entry) TextFile() []byte {
	text := e.Text()
	file := append(make([]byte, 0, len(text)+len(text)/256+256), e.fileHead()...)
	from := 0
	for to := range breaks(text) {
		file = append(append(file, text[from:to]...), broken+"\n"...)
		from = to
	}
	return append(append(file, text[from:]...), '\n')
}

// LineOf returns the line of the text file, from 1, in which an offset of the text stands.
func LineOf(text string, offset int) int {
	offset = min(max(0, offset), len(text))
	line := headLines + 1 + strings.Count(text[:offset], "\n")
	for to := range breaks(text) {
		if to > offset {
			break
		}
		line++
	}
	return line
}

// breaks returns the offsets at which long lines of a text are broken, in order.
func breaks(text string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		width := 0
		for i, r := range text {
			switch size := utf16.RuneLen(r); {
			case r == '\n':
				width = 0
			case width+size > maxWidth:
				if !yield(i) {
					return
				}
				width = size
			default:
				width += size
			}
		}
	}
}

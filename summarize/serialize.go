package summarize

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// Mentions names what a message refers to beside its text, such as files that the user's editor put with it. It is the
// application's to know.
type Mentions func(chat.Message) []string

// block is what somebody said at once: a message, that of an assistant with what came of its calls.
type block struct {
	role  chat.Role
	text  string
	notes []string // what is no text
	calls []Call
}

// blocks joins results to their calls. A result without a call is a block of its own.
func blocks(messages []chat.Message, mentions Mentions) []block {
	list := make([]block, 0, len(messages))
	type place struct{ block, call int }
	calls := map[string]place{}
	for _, m := range messages {
		text, notes := content(m)
		if m.Role == chat.RoleTool {
			result := Call{Result: text, Notes: notes, Answered: true, Failed: m.IsError}
			if at, ok := calls[m.ToolCallID]; ok {
				c := &list[at.block].calls[at.call]
				result.ToolCall = c.ToolCall
				*c = result
				delete(calls, m.ToolCallID)
			} else {
				list = append(list, block{role: chat.RoleTool, calls: []Call{result}})
			}
			continue
		}
		if mentions != nil {
			if named := mentions(m); len(named) > 0 {
				notes = append(notes, "[mentioned: "+oneLine(strings.Join(named, ", "), 2000)+"]")
			}
		}
		b := block{role: m.Role, text: text, notes: notes}
		for i, c := range m.ToolCalls {
			calls[c.ID] = place{len(list), i}
			b.calls = append(b.calls, Call{ToolCall: c})
		}
		list = append(list, b)
	}
	return list
}

// content returns the text of a message and names its other parts. What a model thought is left out: it was for the answer,
// which is there.
func content(m chat.Message) (text string, notes []string) {
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Image, chat.Document, chat.Opaque:
			notes = append(notes, attached(p))
		}
	}
	return m.Text(), notes
}

// attached is the note that names a part that is no text.
func attached(p chat.Part) string {
	what := "a value"
	switch p := p.(type) {
	case chat.Image:
		what = "image " + source(p.URL, p.MediaType)
	case chat.Document:
		what = fmt.Sprintf("document %s, %d bytes", p.MediaType, decoded(p.Data))
	case chat.Opaque:
		what = fmt.Sprintf("a value for the provider alone, %d bytes", len(p.Value))
	}
	return "[attached: " + oneLine(what, 300) + "]"
}

// source names a picture: by its URL, or, where that holds the picture, by its type and size.
func source(url, mediaType string) string {
	data, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return strings.TrimSpace(url + " " + mediaType)
	}
	head, body, _ := strings.Cut(data, ",")
	if mediaType == "" {
		mediaType, _, _ = strings.Cut(head, ";")
	}
	return fmt.Sprintf("%s, %d bytes", mediaType, decoded(body))
}

// decoded is how many bytes base64 stands for.
func decoded(data string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))
}

// note is a line that reads as one of the notes in square brackets, which the serialisers write.
var note = regexp.MustCompile(`(?m)^([^\S\n]*)(\\*\[.*\][^\S\n]*)$`)

// unnoted puts a backslash before what somebody said where it reads as a note, so that only a serialiser writes one: lines
// in square brackets, one with backslashes before it already included. So it can be undone.
func unnoted(text string) string {
	if !strings.Contains(text, "[") {
		return text
	}
	return note.ReplaceAllString(text, `$1\$2`)
}

// cutMark is what [history.Clip] puts where it cut.
var cutMark = regexp.MustCompile(`(?m)^\\(\[\.\.\. \d+ (?:tokens|bytes) cut here; the session's transcript has them \.\.\.\])$`)

// shortened is a text that was said, cut where it is long. The mark of the cut is a note.
func shortened(text string, clip func(string) string) string {
	short := clip(text)
	said := unnoted(short)
	if short != text {
		said = cutMark.ReplaceAllString(said, "$1")
	}
	return said
}

// piece is a text on lines of its own, one of those that may be left out.
func piece(text string, priority int, required bool) elements.Node {
	return elements.TextChunk{
		Props:    elements.Props{Priority: new(priority), Required: required},
		Children: elements.Nodes{elements.Text(text)},
	}
}

// staying is a text on lines of its own that always stays.
func staying(text string) elements.Node { return piece(text, 0, true) }

// enclosed puts texts between tags, each of which may be left out by itself, the lowest priority first. The tags go with the
// text that stays longest.
func enclosed(props elements.Props, tag string, texts []ranked) elements.Node {
	if len(texts) == 0 {
		return nil
	}
	longest := 0
	for i, text := range texts {
		if text.priority > texts[longest].priority || text.required && !texts[longest].required {
			longest = i
		}
	}
	group := &elements.Group{Name: tag}
	end := func(text string) elements.Node {
		return elements.KeepWith{Props: elements.Props{Priority: new(math.MaxInt)}, Group: group, Children: elements.Nodes{
			elements.TextChunk{Children: elements.Nodes{elements.Text(text)}},
		}}
	}
	nodes := make(elements.Nodes, 0, len(texts)+2)
	nodes = append(nodes, end("<"+tag+">"))
	for i, text := range texts {
		if i != longest {
			nodes = append(nodes, piece(text.text, text.priority, text.required))
			continue
		}
		nodes = append(nodes, elements.KeepWith{
			Props: elements.Props{Priority: new(text.priority), Required: text.required}, Group: group,
			Children: elements.Nodes{elements.TextChunk{Children: elements.Nodes{elements.Text(text.text)}}},
		})
	}
	return elements.Wrap{Props: props, Children: append(nodes, end("</"+tag+">"))}
}

// ranked is a text that may be left out, the lowest priority first, unless it is required.
type ranked struct {
	text     string
	priority int
	required bool
}

// leftOut says, first in a text, that it is not whole.
const leftOut = "[This is not all: it was more than there is room for, and parts of it were left out.]"

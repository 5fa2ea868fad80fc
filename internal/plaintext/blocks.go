package plaintext

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Block is a message, with the results of its calls if it is an assistant's.
type Block struct {
	Role  chat.Role
	Text  string
	Notes []string // the names of parts that are not text
	Calls []Call
}

// Call is a tool call with its result.
type Call struct {
	chat.ToolCall
	// Result is the text of the result, and Notes name its other parts.
	Result string
	Notes  []string
	// Answered reports whether there is a result. An interrupted call has none.
	Answered bool
	// Failed reports whether the tool failed, which the result describes.
	Failed bool
}

// Mentions returns the names of things that a message refers to, from its text and the application's data.
type Mentions = func(m chat.Message, data json.RawMessage) []string

// Blocks joins results to their calls. A result without a call is a block of its own. Data holds the data of the
// messages and may be shorter; mentions may be nil.
func Blocks(messages []chat.Message, data []json.RawMessage, mentions Mentions) []Block {
	list := make([]Block, 0, len(messages))
	var pairing chat.Pairing
	blocks := make([]int, len(messages)) // of messages with calls
	for i, m := range messages {
		call, answers := pairing.Add(m)
		text, notes := Content(m)
		if m.Role == chat.RoleTool {
			result := Call{Result: text, Notes: notes, Answered: true, Failed: m.IsError}
			if answers {
				c := &list[blocks[call.Message]].Calls[call.Call]
				result.ToolCall = c.ToolCall
				*c = result
			} else {
				list = append(list, Block{Role: chat.RoleTool, Calls: []Call{result}})
			}
			continue
		}
		if mentions != nil {
			var kept json.RawMessage
			if i < len(data) {
				kept = data[i]
			}
			if named := mentions(m, kept); len(named) > 0 {
				notes = append(notes, "[mentioned: "+Outside(OneLine(strings.Join(named, ", "), 2000))+"]")
			}
		}
		b := Block{Role: m.Role, Text: text, Notes: notes}
		blocks[i] = len(list)
		for _, c := range m.ToolCalls {
			b.Calls = append(b.Calls, Call{ToolCall: c})
		}
		list = append(list, b)
	}
	return list
}

// Content returns the text of a message and the names of its other parts, without thinking.
func Content(m chat.Message) (text string, notes []string) {
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Image, chat.Document, chat.Opaque:
			notes = append(notes, Attached(p))
		}
	}
	return m.Text(), notes
}

// InWords returns messages for a model that summarises, with their texts and calls. promptree's own tags are escaped,
// so that no text passes for an earlier summary or for the request; marks are not, because a prompt's own are among
// them. Images and documents become notes; thinking and opaque parts are left out.
func InWords(messages []chat.Message) []chat.Message {
	list := make([]chat.Message, 0, len(messages))
	for _, m := range messages {
		var parts chat.Parts
		for _, p := range m.Content {
			switch p := p.(type) {
			case chat.Text:
				parts = append(parts, chat.Text(escape(string(p), isTag, false)))
			case chat.Image, chat.Document:
				parts = append(parts, chat.Text(Attached(p)))
			}
		}
		if len(parts) == 0 && (m.Role == chat.RoleUser || m.Role == chat.RoleTool) {
			for _, p := range m.Content { // a message of these roles needs content
				parts = append(parts, chat.Text(Attached(p)))
			}
		}
		if m.Content = parts; len(parts) > 0 || len(m.ToolCalls) > 0 {
			list = append(list, m)
		}
	}
	return list
}

// LastToGo returns the index of the block that is left out last: the user's first, or the last block if the user has
// none. It is -1 if there are no blocks.
func LastToGo(list []Block) int {
	if i := slices.IndexFunc(list, func(b Block) bool { return b.Role == chat.RoleUser }); i >= 0 {
		return i
	}
	return len(list) - 1
}

// Attached returns the note for a part that is not a text.
func Attached(p chat.Part) string {
	what := "a value"
	switch p := p.(type) {
	case chat.Image:
		what = "image " + source(p.URL, p.MediaType)
	case chat.Document:
		what = fmt.Sprintf("document %s, %d bytes", p.MediaType, decoded(p.Data))
	case chat.Opaque:
		what = fmt.Sprintf("a value for the provider alone, %d bytes", len(p.Value))
	}
	return "[attached: " + Outside(OneLine(what, 300)) + "]"
}

// source names an image by its URL, or by its type and size if the URL holds the image.
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

// decoded returns the number of bytes that base64 data decodes to.
func decoded(data string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))
}

// note matches a line that reads as a note in square brackets, such as those of [Attached].
var note = regexp.MustCompile(`(?m)^([^\S\n]*)(\\*\[.*\][^\S\n]*)$`)

// escapeNotes puts a backslash before lines that read as notes, so that only a serialiser writes notes. Lines that are
// escaped already are escaped again, so that the escapes can be undone.
func escapeNotes(text string) string {
	if !strings.Contains(text, "[") {
		return text
	}
	return note.ReplaceAllString(text, `$1\$2`)
}

// cutMark matches the mark of [history.Clip].
var cutMark = regexp.MustCompile(`(?m)^\\(\[\.\.\. \d+ (?:tokens|bytes) cut here \.\.\.\])$`)

// Shortened returns a text from outside, cut if it is long. The mark of the cut is a note.
func Shortened(text string, clip func(string) string) string {
	text = Outside(text)
	short := clip(text)
	escaped := escapeNotes(short)
	if short != text {
		escaped = cutMark.ReplaceAllString(escaped, "$1")
	}
	return escaped
}

// Indent starts all lines of a text but the first.
const Indent = "  "

// Lines returns the block as text. Its text, each call and each result begin on a line of their own; their other lines
// are indented. clip cuts long texts, clipResult long calls and results.
func (b Block) Lines(clip, clipResult func(string) string) string {
	var lines strings.Builder
	write := func(kind, text string, notes []string) {
		text = strings.Join(append([]string{text}, notes...), "\n")
		text = strings.TrimRight(strings.TrimPrefix(text, "\n"), "\n")
		lines.WriteString(kind + ": " + strings.ReplaceAll(text, "\n", "\n"+Indent) + "\n")
	}
	if b.Text != "" || len(b.Notes) > 0 {
		write(string(b.Role), Shortened(b.Text, clip), b.Notes)
	}
	for _, c := range b.Calls {
		if c.Name != "" {
			write("call", Name(c.Name)+"("+Shortened(c.Arguments, clipResult)+")", nil)
		}
	}
	for _, c := range b.Calls {
		switch {
		case c.Failed:
			write("error", Shortened(c.Result, clipResult), c.Notes)
		case c.Answered:
			write("result", Shortened(c.Result, clipResult), c.Notes)
		}
	}
	return strings.TrimSuffix(lines.String(), "\n")
}

// Fill returns about the most tokens that each result, and each call's arguments, may take so that together they take
// at most room tokens more than with least tokens each. It counts each text once, and records the counts in sizes.
func Fill(list []Block, s chat.Tokenizer, sizes map[string]int, least, most, room int) int {
	type size struct {
		tokens int
		grows  float64 // factor by which indents lengthen it
	}
	var texts []size
	for _, b := range list {
		for _, c := range b.Calls {
			for _, text := range [...]string{c.Arguments, c.Result} {
				grows := 1 + float64(len(Indent)*strings.Count(text, "\n"))/float64(max(1, len(text)))
				switch {
				case len(text) <= least: // no token is shorter than a byte
				case (len(text)-1<<20)/128 > most: // slow to count, and larger than most in any case
					texts = append(texts, size{most, grows})
				default:
					sizes[text] = s.CountText(text)
					texts = append(texts, size{sizes[text], grows})
				}
			}
		}
	}
	return least + sort.Search(most-least, func(more int) bool {
		taken := 0.0
		for _, t := range texts {
			taken += t.grows * float64(max(0, min(t.tokens, least+more+1)-least))
		}
		return taken > float64(room)
	})
}

// Thinking returns the thinking of a message. It is kept whole, because providers accept it only whole.
func Thinking(m chat.Message) []chat.Thinking {
	var list []chat.Thinking
	for _, p := range m.Content {
		if t, ok := p.(chat.Thinking); ok {
			list = append(list, t)
		}
	}
	return list
}

// WithoutTools removes the calls of some tools and their results. A message with nothing left is removed too.
func WithoutTools(messages []chat.Message, tools []string) []chat.Message {
	gone := map[string]bool{}
	var list []chat.Message
	for _, m := range messages {
		if m.Role == chat.RoleTool && gone[m.ToolCallID] {
			continue
		}
		if len(m.ToolCalls) > 0 {
			kept := make([]chat.ToolCall, 0, len(m.ToolCalls))
			for _, call := range m.ToolCalls {
				if slices.Contains(tools, call.Name) {
					gone[call.ID] = true
				} else {
					kept = append(kept, call)
				}
			}
			if m.ToolCalls = kept; len(kept) == 0 && m.Text() == "" {
				continue
			}
		}
		list = append(list, m)
	}
	return list
}

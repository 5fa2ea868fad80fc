package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// ErrNotErasable is returned for an erasure in a store that is not an [storage.Eraser].
var ErrNotErasable = errors.New("history: the session's store cannot erase")

// Erasure records what was erased. It follows the leaf of the session at that time.
type Erasure struct {
	// Entries lists the ids of the entries whose content was erased.
	Entries []string `json:"entries"`
	// Copies lists the compactions, clearings and plans from which word for word copies of that content were erased too.
	Copies []string `json:"copies,omitempty"`
	// Summaries lists the compactions and branch summaries that cover the erased entries. Their words may still reveal
	// the content.
	Summaries []string `json:"summaries,omitempty"`
}

// erasedText replaces a text that was erased, unless it is longer than the text.
const erasedText = "[erased]"

// Erase erases the content of entries for good, and appends an [Erasure], which it returns. Their ids, parents, roles
// and the ids of calls stay, so that the tree and the rules of providers hold. Each text becomes "[erased]", or empty
// if that would be longer. Arguments of calls become {}; thinking, images, documents, opaque parts and data are
// removed.
//
// Word for word copies in later compactions, clearings, branch summaries and plans are erased too: whole lines of a
// text, and pieces of 32 bytes or more. A summary describes what it covers in its own words and is not changed; those
// that cover what is erased are listed in [Erasure.Summaries], so erase them too if they must not reveal it. Checkpoint
// files, redactions and what was sent to models are outside the session and stay.
//
// The store must be an [storage.Eraser], else the error is [ErrNotErasable]. Erase reads everything that follows the
// entries. Other sessions that have the store open show what was erased until they refresh. If Erase fails halfway it
// can be called again.
func (s *Session) Erase(ctx context.Context, ids ...string) (Erasure, error) {
	if err := s.begins(ctx); err != nil {
		return Erasure{}, err
	}
	defer s.writing.release()
	r, _, end, err := s.state()
	if err != nil {
		return Erasure{}, err
	}
	store, ok := unwrapped(r.store).(storage.Eraser)
	if !ok {
		return Erasure{}, ErrNotErasable
	}
	if len(ids) == 0 {
		return Erasure{}, nil
	}
	e := eraser{erasure: Erasure{Entries: ids}, below: make([]map[string]bool, len(ids)), copies: newCopies()}
	first := end
	for i, id := range ids {
		entry, at, err := r.lookUp(ctx, end, Ref{ID: id})
		if err != nil {
			return Erasure{}, err
		}
		first = min(first, at)
		e.below[i] = map[string]bool{id: true}
		e.copies.add(textsOf(entry.Body))
	}
	for line, err := range r.store.Read(ctx, first) {
		entry, err := r.decode(ctx, line, err)
		if err != nil {
			return Erasure{}, err
		}
		if err := e.visit(line, entry); err != nil {
			return Erasure{}, err
		}
	}
	_, err = do(ctx, r.store, "Replace", func(ctx context.Context) (struct{}, error) { return struct{}{}, store.Replace(ctx, e.lines...) })
	if err != nil {
		return Erasure{}, err
	}
	if err := s.reload(ctx, r, end); err != nil {
		return Erasure{}, err
	}
	_, err = s.add(ctx, []Entry{{Body: e.erasure}}, false)
	return e.erasure, err
}

// Remove removes the session with everything in it from its store, and closes it. The store must be an
// [storage.Eraser], else the error is [ErrNotErasable].
func (s *Session) Remove(ctx context.Context) error {
	if err := s.begins(ctx); err != nil {
		return err
	}
	defer s.writing.release()
	r, _, _, err := s.state()
	if err != nil {
		return err
	}
	store, ok := unwrapped(r.store).(storage.Eraser)
	if !ok {
		return ErrNotErasable
	}
	_, err = do(ctx, r.store, "Remove", func(ctx context.Context) (struct{}, error) { return struct{}{}, store.Remove(ctx) })
	if err != nil {
		return err
	}
	r.cache.forget(r.key)
	s.mu.Lock()
	s.closed, s.path = true, path{}
	s.mu.Unlock()
	s.endLeases()
	return nil
}

// reload drops the cached entries of a session in which something was erased, and reads it again. The caller holds
// writing.
func (s *Session) reload(ctx context.Context, r *reader, end storage.Position) error {
	r.cache.forget(r.key)
	fresh := *r
	fresh.key = sessions.Add(1) // concurrent readers may still store what they read under the old key
	p, err := fresh.open(ctx, end, "")
	if err != nil {
		return err
	}
	if err := s.views.making.take(ctx); err != nil {
		return err
	}
	defer s.views.making.release()
	s.views.last = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.path, s.end = fresh.key, p, end
	return nil
}

// eraser walks through the entries that follow erased ones.
type eraser struct {
	erasure Erasure
	below   []map[string]bool // for each entry, the ids of its descendants and its own
	copies  *copies
	lines   []storage.Stored
}

func (e *eraser) visit(line storage.Stored, entry Entry) error {
	after, covered := false, false
	for i, id := range e.erasure.Entries {
		below := e.below[i]
		if below[entry.Parent] {
			below[entry.ID] = true
		}
		if !below[entry.ID] {
			b, ok := entry.Body.(BranchSummary)
			after = after || ok && below[b.From]
			covered = covered || ok && below[b.From]
			continue
		}
		after = after || entry.ID != id
		switch b := entry.Body.(type) {
		case Compaction: // it covers what is erased, unless it keeps that
			cut := b.boundary()
			covered = covered || entry.ID != id && (cut == "" || below[cut] && (cut != id || b.FirstKept == ""))
		case BranchSummary:
			covered = covered || entry.ID != id && below[b.From] && !below[entry.Parent]
		}
	}
	was := entry.Body
	switch {
	case slices.Contains(e.erasure.Entries, entry.ID):
		entry.Body = erased(was)
	case after:
		if covered {
			e.erasure.Summaries = append(e.erasure.Summaries, entry.ID)
		}
		changed := false
		if entry.Body, changed = e.copies.without(was); !changed {
			return nil
		}
		e.erasure.Copies = append(e.erasure.Copies, entry.ID)
	default:
		return nil
	}
	data, err := entry.encode()
	if err == nil && len(data) > len(line.Data) { // the old line was written in a shorter form
		err = fmt.Errorf("history: entry %q cannot be erased: the line that replaces it would be longer", entry.ID)
	}
	if err != nil {
		return err
	}
	line.Data = data
	e.lines = append(e.lines, line)
	return nil
}

// erasedFor returns the replacement for a text.
func erasedFor(text string) string {
	if len(text) < len(erasedText) {
		return ""
	}
	return erasedText
}

// erased returns a body without its content.
func erased(body Body) Body {
	none := func(string, []byte) []byte { return nil }
	v := &visitor{show: func(p Passage) string { return erasedFor(p.Text) }, value: none}
	switch b := body.(type) {
	case Message:
		b.Message, b.Data = erasedMessage(b.Message), nil
		return b
	case CustomMessage:
		b.Content, b.Data = erasedParts(b.Content), nil
		return b
	case Compaction:
		b.Messages = each(b.Messages, "", func(_ string, m chat.Message) chat.Message { return erasedMessage(m) })
		b.Thinking, b.Title, b.Summary = nil, "", Summary{Text: erasedFor(b.Text), Extension: b.Extension}
		return b
	case BranchSummary:
		b.Summary = Summary{Text: erasedFor(b.Text), Extension: b.Extension}
		return b
	case Clearing:
		b.Arguments = each(b.Arguments, "", func(_ string, c Cleared) Cleared {
			c.Text = "{}"
			return c
		})
		b.Results = each(b.Results, "", func(_ string, c Cleared) Cleared {
			c.Text = cleared(c.Text)
			return c
		})
		return b
	case Todos:
		return Todos{Text: erasedFor(b.Text)}
	case Preamble:
		b.System = each(b.System, "", func(_ string, m chat.Message) chat.Message { return erasedMessage(m) })
		b.Tools = each(b.Tools, "", func(_ string, t chat.Tool) chat.Tool { return chat.Tool{Name: t.Name} })
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
		Type   EntryType `json:"type"`
		ID     string    `json:"id"`
		Parent string    `json:"parent,omitempty"`
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

func erasedMessage(m chat.Message) chat.Message {
	m.Name, m.Content = "", erasedParts(m.Content)
	m.ToolCalls = each(m.ToolCalls, "", func(_ string, c chat.ToolCall) chat.ToolCall {
		c.Signature = ""
		if len(c.Arguments) > len("{}") {
			c.Arguments = "{}"
		}
		return c
	})
	return m
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

// copies finds word for word copies of some texts in others.
type copies struct {
	texts []string
	lines map[string]bool // whole lines
	at    map[string]copied
}

// copied is the place in texts at which a key first occurs.
type copied struct{ text, at int }

// pieceSize is the number of consecutive bytes that make a copy wherever they occur; each such run contains a key of
// keySize bytes at a multiple of keySize. A whole line of at least lineSize bytes is a copy too.
const (
	pieceSize = 32
	keySize   = pieceSize / 2
	lineSize  = 4
)

func newCopies() *copies { return &copies{lines: map[string]bool{}, at: map[string]copied{}} }

func (c *copies) add(texts []string) {
	for _, text := range texts {
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

// piece returns the start and end of the copy that contains the key at a place in a text, and false if there is none.
func (c *copies) piece(text string, at int) (start, end int, ok bool) {
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
	return start, end, end-start >= pieceSize
}

// without returns a body without its copies, and reports whether it had any.
func (c *copies) without(body Body) (Body, bool) {
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
			return each(of, "", func(_ string, o Cleared) Cleared {
				if c.cut(o.Text) != o.Text {
					o.Text, changed = instead(o.Text), true
				}
				return o
			})
		}
		b.Results = list(b.Results, cleared)
		b.Arguments = list(b.Arguments, func(string) string { return "{}" })
		return b, changed
	}
	return body, false
}

// cut returns a text without its copies.
func (c *copies) cut(text string) string {
	gone := make([]bool, len(text))
	found := false
	for i := 0; i+keySize <= len(text); i++ {
		if start, end, ok := c.piece(text, i); ok {
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

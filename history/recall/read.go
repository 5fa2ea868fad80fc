package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// Range is a part of what an entry says: the arguments of [history.ReadTool].
type Range struct {
	// Entry is its id, or the end of it. White space and quotes around it are ignored.
	Entry string `json:"entry"`
	// From and To are offsets in the entry's text, in bytes. If To is 0 the part ends with the text.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
}

// Read returns the answer to a call of [history.ReadTool]. The error is a [*chat.ArgumentError] if there is no such
// entry or range.
func (t Tools) Read(ctx context.Context, r Range) (string, error) {
	return t.within(func(limit int) (string, error) {
		e, err := t.entry(ctx, r.Entry)
		if err != nil {
			return "", err
		}
		text := e.Text()
		to := r.To
		if to == 0 || to > len(text) {
			to = len(text)
		}
		switch id := plaintext.OneLine(e.ID, entry.MaxID); {
		case text == "":
			return fmt.Sprintf("Entry %s, %s, says nothing.", id, describe(e, "")), nil
		case r.From < 0 || r.From >= len(text):
			return "", wrong("entry %s has %d bytes: from must be from 0 to %d", id, len(text), len(text)-1)
		case to <= r.From:
			return "", wrong("to is %d and from %d: to must be above from", r.To, r.From)
		}
		for to < len(text) && plaintext.Align(text, to) != to {
			to++
		}
		return part(e, text, plaintext.Align(text, r.From), to, limit), nil
	})
}

// part returns as much of a range as fits an answer, with the call that reads on.
func part(e entry.Entry, text string, from, to, limit int) string {
	head := func(end int) string {
		return fmt.Sprintf("Entry %s, %s, bytes %d-%d of %d:\n%s\n", plaintext.OneLine(e.ID, entry.MaxID), describe(e, ""), from, end, len(text), plaintext.EntryTag.Open())
	}
	more := func(end int) string {
		next := Range{Entry: e.ID, From: end}
		if to < len(text) {
			next.To = to
		}
		return fmt.Sprintf("\n[%d bytes more: %s]", to-end, callOf(history.ReadTool, next))
	}
	end, room, rest := to, limit-len(head(to))-len(entryEnd), ""
	if to-from > room || len(shown(text[from:to])) > room {
		room = max(utf8.UTFMax, room-len(more(to))-len(fmt.Sprint(to-from)))
		end = min(to, from+room)
		if i := strings.LastIndexByte(text[from:end], '\n') + 1; i > room/2 {
			end = from + i
		}
		for end = plaintext.Align(text, end); len(shown(text[from:end])) > room; { // it may grow
			end = plaintext.Align(text, from+(end-from)/2)
		}
		rest = more(end)
	}
	return head(end) + shown(text[from:end]) + entryEnd + rest
}

var entryEnd = "\n" + plaintext.EntryTag.Close()

// shown returns what an entry says as it may stand between the tags.
func shown(text string) string { return plaintext.Outside(strings.ToValidUTF8(text, "\uFFFD")) }

// leastEnd is the least number of bytes of an id's end that may stand for it.
const leastEnd = 4

// entry returns the entry with an id, or with the only id that ends so.
func (t Tools) entry(ctx context.Context, id string) (entry.Entry, error) {
	if id == "" {
		return entry.Entry{}, wrong("give the id of an entry: %s finds entries", history.SearchTool)
	}
	e, err := t.Session.Entry(ctx, id)
	if _, missing := errors.AsType[*storage.NoEntryError](err); !missing {
		return e, err
	}
	var ids []string
	id = strings.Trim(id, " \t\n`'\"") // as models write it
	if len(id) >= leastEnd {
		for other, err := range t.Session.Entries(ctx) {
			if err != nil {
				return e, err
			}
			if strings.HasSuffix(other.ID, id) {
				e, ids = other, append(ids, other.ID)
			}
		}
	}
	switch len(ids) {
	case 0:
		return e, wrong("there is no entry %q: %s finds entries", plaintext.OneLine(id, 64), history.SearchTool)
	case 1:
		return e, nil
	}
	return entry.Entry{}, wrong("the ids of %d entries end so: give all of %s or another", len(ids), strings.Join(ids[:min(3, len(ids))], ", "))
}

package recall

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/toolname"
)

// Query says what to search for: the arguments of [history.SearchTool].
type Query struct {
	// Words to look for; see the package comment.
	Words string `json:"query,omitempty"`
	// Pattern is a regular expression to search for instead.
	Pattern string `json:"pattern,omitempty"`
	// Before is the id of an entry, or the end of it; what is older is searched. Everything by default.
	Before string `json:"before,omitempty"`
}

// Limits of one search.
const (
	maxScan  = 32 << 20 // bytes
	maxTime  = 2 * time.Second
	perEntry = 256 // bytes that an entry counts as in addition to its text
)

// Search returns the answer to a call of [history.SearchTool]. The error is a [*chat.ArgumentError] if the query is
// not one.
func (t Tools) Search(ctx context.Context, q Query) (string, error) {
	var found *hits
	return t.within(func(limit int) (string, error) {
		find, err := q.finder(limit / 4)
		if err != nil {
			return "", err
		}
		if found == nil && q.Pattern == "" && !strings.ContainsAny(q.Words, `"*`) {
			found, err = t.rank(ctx, q)
		}
		if err == nil && (found == nil || len(found.list) == 0 && found.last == "") {
			found, err = t.find(ctx, q, find)
		}
		if gone, ok := errors.AsType[*storage.NoEntryError](err); ok && gone.ID == q.Before {
			if e, err := t.entry(ctx, q.Before); err == nil && e.ID != q.Before { // an end of an id, as an index has
				q.Before = e.ID
				return t.Search(ctx, q)
			}
			return "", wrong("there is no entry %q: leave before out to search from the newest", plaintext.OneLine(q.Before, 64))
		} else if err != nil {
			return "", err
		}
		return found.answer(limit), nil
	})
}

// find returns the entries that match, the newest first.
func (t Tools) find(ctx context.Context, q Query, find finder) (*hits, error) {
	h, scanned, end := &hits{query: q, newest: true}, 0, time.Time{}
	over := func() bool { return ctx.Err() != nil || time.Now().After(end) }
	for s, err := range t.said(ctx, q.Before) {
		if err != nil {
			return nil, err
		}
		if end.IsZero() { // what is newer than q.Before was passed over
			end = time.Now().Add(maxTime)
		}
		var places []span
		if scanned <= maxScan {
			places = find(s.text, over)
		}
		found := len(places) > 0
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		stopped := scanned > maxScan || !found && over()
		if stopped && scanned > 0 {
			return h, nil
		}
		switch {
		case found && len(h.list) < mostHits:
			f := hit{what: s.what, id: s.entry.ID, text: s.text}
			for _, at := range places {
				f.places = append(f.places, place{at, span{0, len(s.text)}})
			}
			h.list = append(h.list, f)
		case found:
			h.more++
		}
		scanned += len(s.text) + perEntry
		if h.last = s.entry.ID; stopped { // by this entry alone
			h.part = s.entry.ID
			return h, nil
		}
	}
	h.last = ""
	return h, nil
}

// excerpt returns the part of a text to show of one of some places: all that it stands in if that has at most width bytes,
// else its share of them, in whole lines if they are short.
func (p place) excerpt(text string, width, places int) span {
	if p.within.to-p.within.from <= width {
		return p.within
	}
	width /= places
	from, to := max(p.within.from, p.at.from-width/4), min(p.at.to, p.at.from+width/2)
	end := min(p.within.to, from+width)
	if i := strings.IndexByte(text[from:p.at.from], '\n'); from > p.within.from && i >= 0 {
		from += i + 1
	}
	if i := strings.LastIndexByte(text[to:end], '\n'); end < p.within.to && i >= 0 {
		end = to + i
	}
	return span{plaintext.Align(text, from), plaintext.Align(text, end)}
}

// said is an entry with the text that is searched, "" if it is not.
type said struct {
	entry history.Located
	what  string
	text  string
}

// said returns the entries that are older than one, the newest first.
func (t Tools) said(ctx context.Context, before string) iter.Seq2[said, error] {
	return func(yield func(said, error) bool) {
		tools := map[string]string{}  // names by the ids of calls
		var pending []history.Located // from a result back to its call
		all := func() bool {
			list := pending
			pending = nil
			return !slices.ContainsFunc(list, func(e history.Located) bool { return !yield(searched(e, tools), nil) })
		}
		skip := before != ""
		for e, err := range t.Session.BackLocated(ctx, before) {
			if err != nil {
				yield(said{}, err)
				return
			}
			for _, c := range e.Message().ToolCalls {
				tools[c.ID] = c.Name
			}
			if skip {
				skip = e.ID != before
				continue
			}
			pending = append(pending, e)
			if kind.Of(pending[0].Entry) == kind.Tool && kind.Of(e.Entry) != kind.Assistant {
				continue
			}
			if !all() {
				return
			}
		}
		if !all() { // their calls are nowhere
			return
		}
		if skip {
			yield(said{}, &storage.NoEntryError{ID: before})
		}
	}
}

// searched returns what is searched of an entry: what was said, but for look-ups.
func searched(e history.Located, tools map[string]string) said {
	tool := tools[e.Message().ToolCallID]
	s := said{entry: e, what: describe(e.Entry, tool)}
	if kind.Of(e.Entry).Shown() && !toolname.IsLookUp(tool) {
		s.text = searchable(e.Entry).Text()
	}
	return s
}

// searchable returns an entry without its look-ups. Places in the text stay.
func searchable(e entry.Entry) entry.Entry {
	if m, ok := e.Body.(entry.Message); ok {
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for i, c := range m.ToolCalls {
			if toolname.IsLookUp(c.Name) {
				m.ToolCalls[i].Name, m.ToolCalls[i].Arguments = strings.Repeat(" ", len(c.Name)), strings.Repeat(" ", len(c.Arguments))
			}
		}
		e.Body = m
	}
	return e
}

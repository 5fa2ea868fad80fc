package recall

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// Query says what to search for: the arguments of [history.SearchTool].
type Query struct {
	// Words to look for; see the package comment.
	Words string `json:"query,omitempty"`
	// Pattern is a regular expression to search for instead.
	Pattern string `json:"pattern,omitempty"`
	// Before is the id of an entry; what is older is searched. Everything by default.
	Before string `json:"before,omitempty"`
}

// Limits of one search.
const (
	maxScan  = 32 << 20 // bytes
	maxTime  = 2 * time.Second
	perEntry = 256 // bytes that an entry counts as in addition to its text
)

// Search returns the answer to a call of [history.SearchTool]. The error is an [*chat.ArgumentError] if the query is
// not one.
func (t Tools) Search(ctx context.Context, q Query) (string, error) {
	var ranked *hits
	return t.within(ctx, func(limit int) (string, error) {
		find, err := q.finder(limit / 4)
		if err != nil {
			return "", err
		}
		end := time.Now().Add(maxTime)
		over := func() bool { return ctx.Err() != nil || time.Now().After(end) }
		if ranked == nil && !strings.ContainsAny(q.Words, `"*`) && q.Pattern == "" {
			if ranked, err = t.rank(ctx, q, over); err != nil {
				return "", noEntry(q.Before, err)
			}
		}
		if ranked != nil && (len(ranked.found) > 0 || ranked.last != "") {
			return ranked.answer(limit), nil
		}
		p := page{query: q, limit: limit}
		scanned := 0
		end = time.Time{}
		for s, err := range t.said(ctx, q.Before) {
			if err != nil {
				return "", noEntry(q.Before, err)
			}
			if end.IsZero() { // what is newer than q.Before was passed over
				end = time.Now().Add(maxTime)
			}
			found := s.text != "" && scanned <= maxScan && find.matches(s.text, over)
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			if p.stopped = scanned > maxScan || !found && over(); p.stopped && scanned > 0 {
				break
			}
			if found {
				p.add(s, find, ctx)
			}
			scanned += len(s.text) + perEntry
			if p.last = s.entry.ID; p.stopped { // by this entry alone
				p.part = s.entry.ID
				break
			}
		}
		return p.String(), nil
	})
}

// noEntry returns the error of a search before an entry that may be missing.
func noEntry(before string, err error) error {
	if gone, ok := errors.AsType[*storage.NoEntryError](err); ok && gone.ID == before {
		return wrong("there is no entry %q: leave before out to search from the newest", plaintext.OneLine(before, 64))
	}
	return err
}

// page is one answer of a search.
type page struct {
	query   Query
	limit   int
	blocks  []string
	ids     []string // of the entries in blocks
	size    int      // of the blocks, with those that did not fit
	more    int      // entries that match and are not shown
	last    string   // the last entry that was searched
	stopped bool     // before the last entry
	part    string   // the entry for which the time was too short, "" if there is none
}

// add adds an entry that matches.
func (p *page) add(s said, find finder, ctx context.Context) {
	if p.size > p.limit {
		p.more++
		return
	}
	width, call, shown := p.limit/8, Range{Entry: s.entry.ID}, s.text
	if len(s.text) > width {
		end := time.Now().Add(maxTime / 8)
		places := find.places(s.text, func() bool { return ctx.Err() != nil || time.Now().After(end) })
		if len(places) == 0 {
			places = []span{{}}
		}
		call.From, shown = excerpt(s.text, places[0], width).from, ""
		for _, place := range places {
			cut := excerpt(s.text, place, width)
			shown += fmt.Sprintf("%d: %s\n", cut.from, s.text[cut.from:cut.to])
		}
	}
	block := fmt.Sprintf("%s, %d bytes: %s\n%s\n", s.what, len(s.text), callOf(history.ReadTool, call), plaintext.EntryTag.Around(strings.ToValidUTF8(shown, "")))
	p.blocks, p.ids, p.size = append(p.blocks, block), append(p.ids, s.entry.ID), p.size+len(block)
}

// String returns the answer, within its limit.
func (p *page) String() string {
	for {
		text, n := strings.Join(p.blocks, "")+p.end(), len(p.blocks)-1
		if len(text) <= p.limit || n < 1 {
			return text
		}
		p.blocks, p.ids, p.more = p.blocks[:n], p.ids[:n], p.more+1
	}
}

// end returns the last line of the answer.
func (p *page) end() string {
	next, atLeast := p.query, ""
	if p.stopped {
		next.Before, atLeast = p.last, "at least "
	}
	switch {
	case p.more > 0:
		next.Before = p.ids[len(p.ids)-1]
		return fmt.Sprintf("[%s%d older entries match too: %s]", atLeast, p.more, callOf(history.SearchTool, next))
	case p.part != "":
		return fmt.Sprintf("[entry %s is too long to be searched for this: give a longer word, or a simpler pattern; to go on: %s]", p.part, callOf(history.SearchTool, next))
	case p.stopped:
		return fmt.Sprintf("[not everything is searched yet; to go on: %s]", callOf(history.SearchTool, next))
	case len(p.blocks) == 0:
		return "[nothing matches: try fewer words, or a part of one]"
	}
	return "[nothing older matches]"
}

// excerpt returns the part of a text to show of a place: whole lines if they are short.
func excerpt(text string, place span, width int) span {
	from, to := max(0, place.from-width/4), min(place.to, place.from+width/2)
	end := min(len(text), from+width)
	if i := strings.IndexByte(text[from:place.from], '\n'); from > 0 && i >= 0 {
		from += i + 1
	}
	if i := strings.LastIndexByte(text[to:end], '\n'); end < len(text) && i >= 0 {
		end = to + i
	}
	return span{start(text, from), start(text, end)}
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
		skip := before != ""
		for e, err := range t.back(ctx, before) {
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
			for _, e := range pending {
				if !yield(searched(e, tools), nil) {
					return
				}
			}
			pending = nil
		}
		for _, e := range pending { // their calls are on a branch that was read before
			if !yield(searched(e, tools), nil) {
				return
			}
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
	if kind.Of(e.Entry).Shown() && !history.IsLookUp(tool) {
		s.text = searchable(e.Entry).Text()
	}
	return s
}

// searchable returns an entry without its look-ups. Places in the text stay.
func searchable(e entry.Entry) entry.Entry {
	if m, ok := e.Body.(entry.Message); ok {
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for i, c := range m.ToolCalls {
			if history.IsLookUp(c.Name) {
				m.ToolCalls[i].Name, m.ToolCalls[i].Arguments = strings.Repeat(" ", len(c.Name)), strings.Repeat(" ", len(c.Arguments))
			}
		}
		e.Body = m
	}
	return e
}

// back returns the entries from one, the newest first. With Branches they begin with the newest entry instead.
func (t Tools) back(ctx context.Context, from string) iter.Seq2[history.Located, error] {
	if !t.Branches {
		return t.Session.BackLocated(ctx, from)
	}
	return func(yield func(history.Located, error) bool) {
		leaves, err := t.Session.Leaves(ctx)
		if err != nil {
			yield(history.Located{}, err)
			return
		}
		seen := map[string]bool{}
		for _, leaf := range slices.Backward(append(leaves, t.Session.Leaf())) {
			for e, err := range t.Session.BackLocated(ctx, leaf) {
				if err == nil && seen[e.ID] {
					break
				}
				seen[e.ID] = true
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

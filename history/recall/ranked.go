package recall

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/rank"
)

const (
	pieceSize  = 900      // bytes
	maxRanked  = 96 << 20 // bytes of texts that are ranked
	mostHits   = 20       // pieces in an answer
	leastHits  = 10       // the same, if their calls alone fit
	usualHit   = 300      // bytes of an answer for a piece, before there are fewer than mostHits
	leastScore = 0.2      // of the best piece's
	leastShown = 40       // bytes of a piece
)

// ranked is an entry that is ranked. It has no pieces if it is not searched.
type ranked struct {
	entry.Ref
	what   string
	pieces []piece
}

// piece is a part of the text of an entry, from one offset to another, with its words.
type piece struct {
	from, to int
	rank.Document
}

// reading holds what was read of a session: entries of the path to the leaf, the newest first.
type reading struct {
	entries []ranked
	text    int    // bytes of their texts
	whole   bool   // to the root
	part    string // the entry for which the time was too short, "" if there is none
}

// bytes returns about how much memory a reading takes.
func (r *reading) bytes() (n int) {
	for _, e := range r.entries {
		n += 100 + len(e.ID) + len(e.what)
		for _, p := range e.pieces {
			n += p.Bytes()
		}
	}
	return n
}

// read returns what is older than an entry, everything for "", as far as there is time. The session keeps what was read of
// the path to its leaf.
func (t Tools) read(ctx context.Context, before string, over func() bool) (*reading, error) {
	made, keep := t.Session.Kept()
	known, _ := made.(*reading)
	places := map[string]int{}
	if known != nil {
		for i, e := range known.entries {
			places[e.ID] = i
		}
	}
	r := &reading{}
	if _, ok := places[before]; t.Branches || before != "" && !ok {
		_, err := t.readOn(ctx, r, before, nil, over)
		return r, err
	}
	at, err := t.readOn(ctx, r, "", places, over)
	if at >= 0 {
		r.entries, r.text, r.whole = append(r.entries, known.entries[at:]...), r.text+known.text, known.whole
		if !r.whole && err == nil {
			_, err = t.readOn(ctx, r, r.entries[len(r.entries)-1].ID, nil, over)
		}
	}
	if err != nil {
		return nil, err
	}
	if r.part == "" {
		keep(r, r.bytes())
	}
	if before != "" {
		i := slices.IndexFunc(r.entries, func(e ranked) bool { return e.ID == before })
		r = &reading{entries: r.entries[i+1:], whole: r.whole, part: r.part}
	}
	return r, nil
}

// readOn adds what is older than an entry to a reading, as far as there is time, or to a known entry, whose place it
// returns, -1 if it reached none.
func (t Tools) readOn(ctx context.Context, r *reading, before string, known map[string]int, over func() bool) (int, error) {
	for s, err := range t.said(ctx, before) {
		if err != nil {
			return -1, err
		}
		if at, ok := known[s.entry.ID]; ok {
			return at, nil
		}
		if r.text > maxRanked || len(r.entries) > 0 && over() {
			return -1, context.Cause(ctx)
		}
		pieces, done := piecesOf(s, over)
		if ctx.Err() != nil {
			return -1, context.Cause(ctx)
		}
		if !done && len(r.entries) > 0 {
			return -1, nil
		}
		r.entries, r.text = append(r.entries, ranked{entry.Ref{ID: s.entry.ID, At: s.entry.At}, s.what, pieces}), r.text+len(s.text)
		if !done { // the time was too short for this entry alone
			r.part = s.entry.ID
			return -1, nil
		}
	}
	r.whole = true
	return -1, nil
}

// piecesOf splits what an entry says, at the ends of lines if there are any, and reports whether there was time.
func piecesOf(s said, over func() bool) (pieces []piece, done bool) {
	escaped := len(s.entry.Message().ToolCalls) > 0
	for from, n := 0, 0; from < len(s.text); n++ {
		if n%64 == 63 && over() {
			return pieces, false
		}
		to := min(len(s.text), from+pieceSize)
		if line := strings.LastIndexByte(s.text[from:to], '\n'); to < len(s.text) && line > pieceSize/2 {
			to = from + line + 1
		}
		to = max(start(s.text, to), from+1)
		text := s.text[from:to]
		if escaped {
			text = unescaped(text)
		}
		pieces = append(pieces, piece{from, to, rank.Of(text)})
		from = to
	}
	return pieces, true
}

var (
	escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\/`, "/")
	codes   = regexp.MustCompile(`(?:\\u[0-9a-fA-F]{4})+`)
)

// unescaped returns a part of a JSON text with the characters of its strings for their escapes.
func unescaped(text string) string {
	if strings.Contains(text, `\u`) {
		text = codes.ReplaceAllStringFunc(text, func(escape string) (decoded string) {
			if json.Unmarshal([]byte(`"`+escape+`"`), &decoded) != nil {
				return escape
			}
			return decoded
		})
	}
	return escapes.Replace(text)
}

// hits are the best pieces for a query.
type hits struct {
	query Query
	found []hit
	more  int    // pieces that match less
	last  string // the last entry that was searched, "" if all were
	part  string // the entry of which only a part was searched, "" if there is none
}

// hit is a piece, with the entry and its text.
type hit struct {
	ranked
	piece
	text string
}

// rank returns the best pieces for the words of a query.
func (t Tools) rank(ctx context.Context, q Query, over func() bool) (*hits, error) {
	r, err := t.read(ctx, q.Before, over)
	if err != nil {
		return nil, err
	}
	var all []hit
	var documents []rank.Document
	for _, e := range r.entries {
		for _, p := range e.pieces {
			all, documents = append(all, hit{ranked: e, piece: p}), append(documents, p.Document)
		}
	}
	order := rank.NewQuery(q.Words).Rank(documents)
	near := slices.IndexFunc(order, func(m rank.Match) bool { return m.Score < order[0].Score*leastScore })
	if near < 0 {
		near = len(order)
	}
	near = min(near, mostHits)
	h := &hits{query: q, more: len(order) - near, part: r.part}
	if n := len(r.entries); n > 0 && !r.whole {
		h.last = r.entries[n-1].ID
	}
	refs, texts := []entry.Ref{}, map[string]string{}
	for _, m := range order[:near] {
		h.found, refs = append(h.found, all[m.Document]), append(refs, all[m.Document].Ref)
	}
	entries, err := t.Session.Resolve(ctx, refs...)
	for _, e := range entries {
		texts[e.ID] = searchable(e).Text()
	}
	for i, f := range h.found {
		h.found[i].text = texts[f.ID]
	}
	h.found = slices.DeleteFunc(h.found, func(f hit) bool { return len(f.text) < f.to }) // erased meanwhile
	return h, err
}

// answer returns the answer of at most limit bytes: with less room the pieces are shorter, and then fewer.
func (h *hits) answer(limit int) string {
	n := min(len(h.found), max(leastHits, min(mostHits, limit/usualHit)))
	for width := limit / max(1, n); ; width -= max(1, width/16) {
		if width < leastShown {
			if n--; n < 1 {
				return h.end(len(h.found))
			}
			width = limit / n
		}
		var b strings.Builder
		for _, f := range h.found[:n] {
			b.WriteString(f.block(h.query, width))
		}
		if end := h.end(len(h.found) - n); b.Len()+len(end) <= limit {
			return b.String() + end
		}
	}
}

// block returns a piece with the call that reads from it on, and at most width bytes of its text.
func (f hit) block(q Query, width int) string {
	at := span{f.from, f.to}
	if f.to-f.from > width {
		text, place := f.text[f.from:f.to], span{}
		for _, w := range []words{wordsOf(q.Words), partsOf(q.Words)} {
			if places := w.places(text, never); len(places) > 0 {
				place = places[0]
				break
			}
		}
		cut := excerpt(text, place, width)
		at = span{f.from + cut.from, f.from + cut.to}
	}
	call := callOf(history.ReadTool, Range{Entry: f.ID, From: at.from})
	return fmt.Sprintf("%s, %d bytes: %s\n%s\n", f.what, len(f.text), call, plaintext.EntryTag.Around(strings.ToValidUTF8(strings.Trim(f.text[at.from:at.to], "\n"), "")))
}

// end returns the last line of an answer that leaves out some of what was found.
func (h *hits) end(left int) string {
	next := h.query
	next.Before = h.last
	switch call := callOf(history.SearchTool, next); {
	case h.part != "":
		return fmt.Sprintf("[entry %s is too long to be searched whole; to go on: %s]", h.part, call)
	case h.last != "":
		return fmt.Sprintf("[not everything is searched yet; to go on: %s]", call)
	case h.more+left > 0:
		return fmt.Sprintf("[%d other places match less: give more words]", h.more+left)
	}
	return "[nothing else matches]"
}

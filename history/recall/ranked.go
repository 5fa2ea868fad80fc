package recall

import (
	"context"
	"encoding/json"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/rank"
)

const (
	pieceSize  = 900      // bytes
	maxRanked  = 96 << 20 // bytes of texts that are ranked
	leastScore = 0.2      // of the best piece's

	ofNeighbour = 0.5 // of a piece's score counts for the pieces beside it, if they match too
)

// ranked is an entry that is ranked. It has no pieces if it is not searched.
type ranked struct {
	entry.Ref
	what   string
	pieces []piece
	cut    bool // there was no time for the rest of its text
}

// piece is a part of the text of an entry, from one offset to another, with its words.
type piece struct {
	from, to int
	rank.Document
}

// pieceOf is a piece with its entry.
type pieceOf struct {
	entry *ranked
	piece
}

// reading holds what was read of a session: entries of the path to the leaf, the newest first. Only the last may be cut,
// if the time was too short for it alone.
type reading struct {
	entries []*ranked
	whole   bool // to the root
}

// sizes returns the bytes of the texts, and about how much memory a reading takes.
func (r *reading) sizes() (text, memory int) {
	for _, e := range r.entries {
		memory += 150 + len(e.ID) + len(e.what)
		for _, p := range e.pieces {
			text, memory = text+p.to-p.from, memory+p.Bytes()
		}
	}
	return text, memory
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
	at, read := places[before]
	at++
	var err error
	if !read {
		at, err = t.readOn(ctx, r, before, places, over)
	}
	if err == nil && at >= 0 {
		r.entries, r.whole = append(r.entries, known.entries[at:]...), known.whole
		if !r.whole {
			_, err = t.readOn(ctx, r, known.entries[len(known.entries)-1].ID, nil, over)
		}
	}
	if err != nil {
		return nil, err
	}
	if n := len(r.entries); before == "" && n > 0 && !r.entries[n-1].cut {
		_, memory := r.sizes()
		keep(r, memory)
	}
	return r, nil
}

// readOn adds what is older than an entry to a reading, as far as there is time, or to a known entry, whose place it
// returns, -1 if it reached none. While entries are read, others are split into pieces.
func (t Tools) readOn(ctx context.Context, r *reading, before string, known map[string]int, over func() bool) (int, error) {
	var splitting sync.WaitGroup
	defer splitting.Wait()
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	text, _ := r.sizes()
	at, stopped := -1, false
	for s, err := range t.said(ctx, before) {
		if err != nil {
			return -1, err
		}
		if i, ok := known[s.entry.ID]; ok {
			at = i
			break
		}
		if late := over(); text > maxRanked || late && len(r.entries) > 0 {
			stopped = true
			break
		}
		e := &ranked{Ref: entry.Ref{ID: s.entry.ID, At: s.entry.At}, what: s.what}
		r.entries, text = append(r.entries, e), text+len(s.text)
		free <- struct{}{}
		splitting.Go(func() {
			e.pieces, e.cut = piecesOf(s, over)
			<-free
		})
	}
	splitting.Wait()
	if i := slices.IndexFunc(r.entries, func(e *ranked) bool { return e.cut }); i >= 0 {
		r.entries, at, stopped = r.entries[:max(1, i)], -1, true
	}
	r.whole = at < 0 && !stopped
	if ctx.Err() != nil {
		return -1, context.Cause(ctx)
	}
	return at, nil
}

// piecesOf splits what an entry says, at the ends of lines if there are any, and reports whether there was no time for
// all of it.
func piecesOf(s said, over func() bool) (pieces []piece, cut bool) {
	escaped := len(s.entry.Message().ToolCalls) > 0
	for from, n := 0, 0; from < len(s.text); n++ {
		if n%64 == 63 && over() {
			return pieces, true
		}
		to := min(len(s.text), from+pieceSize)
		if line := strings.LastIndexByte(s.text[from:to], '\n'); to < len(s.text) && line > pieceSize/2 {
			to = from + line + 1
		}
		to = max(plaintext.Align(s.text, to), from+1)
		text := s.text[from:to]
		if escaped {
			text = unescaped(text)
		}
		pieces = append(pieces, piece{from, to, rank.Of(text)})
		from = to
	}
	return pieces, false
}

var (
	escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\/`, "/")
	codes   = regexp.MustCompile(`(?:\\u[0-9a-fA-F]{4})+`)
)

// unescaped returns a part of a JSON text with the characters of its strings for their escapes.
func unescaped(text string) string {
	if strings.Contains(text, `\u`) {
		text = codes.ReplaceAllStringFunc(text, func(escape string) (decoded string) {
			_ = json.Unmarshal([]byte(`"`+escape+`"`), &decoded) // escapes of this form always decode
			return decoded
		})
	}
	return escapes.Replace(text)
}

// rank returns the best pieces for the words of a query.
func (t Tools) rank(ctx context.Context, q Query) (*hits, error) {
	var end time.Time
	r, err := t.read(ctx, q.Before, func() bool {
		if end.IsZero() { // what is newer than q.Before was passed over
			end = time.Now().Add(maxTime)
		}
		return ctx.Err() != nil || time.Now().After(end)
	})
	if err != nil {
		return nil, err
	}
	var all []pieceOf
	var documents []rank.Document
	for _, e := range r.entries {
		for _, p := range e.pieces {
			all, documents = append(all, pieceOf{e, p}), append(documents, p.Document)
		}
	}
	query := rank.NewQuery(q.Words)
	own := query.Scores(documents)
	scores := slices.Clone(own)
	for i := 1; i < len(all); i++ {
		if all[i].entry == all[i-1].entry && min(own[i], own[i-1]) > 0 {
			scores[i] += own[i-1] * ofNeighbour
			scores[i-1] += own[i] * ofNeighbour
		}
	}
	matches := rank.Best(scores)
	h := &hits{query: q, more: len(matches)}
	if n := len(r.entries); n > 0 && !r.whole {
		if h.last = r.entries[n-1].ID; r.entries[n-1].cut {
			h.part = h.last
		}
	}
	matches = slices.DeleteFunc(matches[:min(len(matches), 2*mostHits)], func(m rank.Match) bool { return m.Score < matches[0].Score*leastScore })
	best := make([]pieceOf, len(matches))
	for i, m := range matches {
		best[i] = all[m.Document]
	}
	found, err := t.hitsIn(ctx, query, best)
	h.list = found[:min(len(found), mostHits)]
	h.more -= len(h.list)
	return h, err
}

// hitsIn returns the place of each piece that fits the query best, in the order of the pieces, but those last that the
// prompt shows anyway.
func (t Tools) hitsIn(ctx context.Context, query rank.Query, best []pieceOf) (list []hit, err error) {
	var refs []entry.Ref
	for _, b := range best {
		refs = append(refs, b.entry.Ref)
	}
	entries, err := t.Session.Resolve(ctx, refs...)
	if err != nil {
		return nil, err
	}
	view, err := t.Session.View(ctx)
	if err != nil {
		return nil, err
	}
	texts, said := map[string]string{}, map[string]string{} // by entry: what is searched, and what its message says
	inPrompt := map[string]bool{}                           // by what a message says
	for _, e := range entries {
		m, _ := e.Shown()
		texts[e.ID], said[e.ID] = searchable(e).Text(), textOf(m)
		inPrompt[said[e.ID]] = false
	}
	for _, m := range view.Messages() {
		text := textOf(m)
		if _, found := inPrompt[text]; found {
			inPrompt[text] = true
		}
	}
	var later []hit
	for _, b := range best {
		e, p := b.entry, b.piece
		text := texts[e.ID]
		if len(text) < p.to { // it was erased meanwhile
			continue
		}
		at := min(p.to, p.from+query.Densest(text[p.from:p.to], usualHit)+usualHit/4)
		f := hit{e.what, e.ID, text, []place{{span{at, at}, span{p.from, p.to}}}}
		if inPrompt[said[e.ID]] {
			later = append(later, f)
		} else {
			list = append(list, f)
		}
	}
	return append(list, later...), nil
}

// textOf returns what a message says, with its calls.
func textOf(m chat.Message) string {
	said := []string{m.Text()}
	for _, c := range m.ToolCalls {
		said = append(said, c.Name+c.Arguments)
	}
	return strings.Join(said, "\n")
}

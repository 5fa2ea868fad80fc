package recall

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
)

const (
	mostHits   = 20  // in an answer
	leastHits  = 10  // the same, if their calls alone fit
	usualHit   = 400 // bytes of an answer for each, before there are fewer than mostHits
	leastShown = 40  // bytes of each
	mostShown  = 2_000
)

// hits are what was found for a query.
type hits struct {
	query  Query
	list   []hit
	newest bool   // the newest first, not the best
	more   int    // that match too, or less
	last   string // the last entry that was searched, "" if all were
	part   string // the entry of which only a part was searched, "" if there is none
}

// hit is something found in an entry: places in its text, and the part of the text that each stands in.
type hit struct {
	what, id, text string
	places         []place
}

type place struct{ at, within span }

// answer returns the answer of at most limit bytes: with less room hits are shorter, and then there are fewer.
func (h *hits) answer(limit int) string {
	write := func(n, width int) string { return h.blocks(n, width) + h.end(n) }
	n := min(len(h.list), max(leastHits, min(mostHits, limit/usualHit)))
	for n > 1 && len(write(n, leastShown)) > limit {
		n--
	}
	width := sort.Search(mostShown, func(width int) bool { return len(write(n, width+1)) > limit })
	return write(n, max(1, width))
}

// blocks returns n hits, those in one entry as one block, with about width bytes of each.
func (h *hits) blocks(n, width int) string {
	shown := map[string][]span{}
	for _, f := range h.list[:n] {
		for _, p := range f.places {
			shown[f.id] = append(shown[f.id], p.excerpt(f.text, width, len(f.places)))
		}
	}
	var b strings.Builder
	for _, f := range h.list[:n] {
		b.WriteString(f.block(shown[f.id]))
		delete(shown, f.id)
	}
	return b.String()
}

// block returns parts of the text of a hit's entry, in order, with the call that reads on from the best, which is the
// first given.
func (h hit) block(parts []span) string {
	if len(parts) == 0 {
		return ""
	}
	best := parts[0].from
	slices.SortFunc(parts, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	joined := parts[:1]
	for _, p := range parts[1:] {
		if last := &joined[len(joined)-1]; p.from <= last.to {
			last.to = max(last.to, p.to)
		} else {
			joined = append(joined, p)
		}
	}
	var lines []string
	for _, p := range joined {
		line := strings.ToValidUTF8(strings.Trim(h.text[p.from:p.to], "\n"), "")
		if len(joined) > 1 {
			line = fmt.Sprintf("%d: %s", p.from, line)
		}
		lines = append(lines, line)
	}
	call := callOf(history.ReadTool, Range{Entry: h.id, From: best})
	return fmt.Sprintf("%s, %d bytes: %s\n%s\n", h.what, len(h.text), call, plaintext.EntryTag.Around(strings.Join(lines, "\n")))
}

// end returns the last line of an answer that shows n hits.
func (h *hits) end(n int) string {
	next, more, atLeast := h.query, h.more+len(h.list)-n, ""
	if next.Before = h.last; h.last != "" {
		atLeast = "at least "
	}
	switch call := callOf(history.SearchTool, next); {
	case h.newest && more > 0 && n > 0:
		next.Before = h.list[n-1].id
		return fmt.Sprintf("[%s%d older entries match too: %s]", atLeast, more, callOf(history.SearchTool, next))
	case h.part != "":
		return fmt.Sprintf("[entry %s is too long to be searched for this: give a longer word, or a simpler pattern; to go on: %s]", h.part, call)
	case h.last != "":
		return fmt.Sprintf("[not everything is searched yet; to go on: %s]", call)
	case more > 0:
		return fmt.Sprintf("[%d other places match less: give more words]", more)
	case len(h.list) == 0:
		return "[nothing matches: try fewer words, or a part of one]"
	}
	return "[nothing else matches]"
}

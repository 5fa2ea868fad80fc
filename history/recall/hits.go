package recall

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
)

const (
	mostHits   = 20  // in an answer
	leastHits  = 10  // the same, if their calls alone fit
	usualHit   = 300 // bytes of an answer for each, before there are fewer than mostHits
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

// hit is a part of the text of an entry, and the places in it to show first.
type hit struct {
	what, id, text string
	shown          span
	places         []span
}

// answer returns the answer of at most limit bytes: with less room hits are shorter, and then there are fewer.
func (h *hits) answer(limit int) string {
	n := min(len(h.list), max(leastHits, min(mostHits, limit/usualHit)))
	for width := min(mostShown, limit/max(1, n)); ; width -= max(1, width/16) {
		if width < leastShown && n > 1 {
			n--
			width = limit / n
		}
		var b strings.Builder
		for _, f := range h.list[:n] {
			b.WriteString(f.block(max(width, 1)))
		}
		if end := h.end(n); b.Len()+len(end) <= limit || n == 0 || width < 1 {
			return b.String() + end
		}
	}
}

// block returns a hit with the call that reads on from it, and about width bytes of its text, or its places.
func (f hit) block(width int) string {
	from, text := f.shown.from, f.text[f.shown.from:f.shown.to]
	if len(text) > width {
		places := f.places
		if len(places) == 0 {
			places = []span{{f.shown.from, f.shown.from}}
		}
		lines := make([]string, len(places))
		for i, place := range places {
			cut := excerpt(f.text, place, width/len(places))
			cut = span{max(cut.from, f.shown.from), min(cut.to, f.shown.to)}
			if lines[i] = f.text[cut.from:cut.to]; i == 0 {
				from = cut.from
			}
			if len(places) > 1 {
				lines[i] = fmt.Sprintf("%d: %s", cut.from, lines[i])
			}
		}
		text = strings.Join(lines, "\n")
	}
	call := callOf(history.ReadTool, Range{Entry: f.id, From: from})
	return fmt.Sprintf("%s, %d bytes: %s\n%s\n", f.what, len(f.text), call, plaintext.EntryTag.Around(strings.ToValidUTF8(strings.Trim(text, "\n"), "")))
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

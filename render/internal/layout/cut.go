package layout

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/draft"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// checkBreak returns an error for a break at which a text cannot be cut.
func checkBreak(c *elements.TextChunk) error {
	given := 0
	for _, set := range [...]bool{c.BreakOn != "", c.BreakOnWhitespace, c.BreakOnPattern != nil} {
		if set {
			given++
		}
	}
	switch {
	case given == 0 && (c.Cut != elements.CutEnd || c.Mark != "" || c.Least != 0):
		return fmt.Errorf("%w: Cut, Mark or Least is set without a break", ErrBreak)
	case c.Cut > elements.CutMiddle:
		return fmt.Errorf("%w: Cut is %d: must be 0 to %d", ErrBreak, c.Cut, elements.CutMiddle)
	case c.Least < 0:
		return fmt.Errorf("%w: a Least of %d tokens: must be 1 or more, or 0 for %d", ErrBreak, c.Least, defaultLeast)
	case given > 1:
		return fmt.Errorf("%w: more than one of BreakOn, BreakOnWhitespace and BreakOnPattern is set", ErrBreak)
	case c.BreakOnPattern != nil && c.BreakOnPattern.MatchString(""):
		return fmt.Errorf("%w: the pattern %q matches the empty string", ErrBreak, c.BreakOnPattern)
	}
	return nil
}

// nextBreak returns the position of the first break at or after from, and where the search for the next one starts; -1
// for none.
type nextBreak func(s string, from int) (at, next int)

// breaks returns the function that finds a chunk's breaks, nil if the chunk is never cut.
func breaks(c *elements.TextChunk) nextBreak {
	on, pattern := c.BreakOn, c.BreakOnPattern
	switch {
	case c.BreakOnWhitespace:
		return nextWhiteSpace
	case pattern != nil:
		return func(s string, from int) (int, int) {
			m := pattern.FindStringIndex(s[from:])
			if m == nil || m[0] == m[1] {
				return -1, -1
			}
			return from + m[0], from + m[1]
		}
	case on != "":
		return func(s string, from int) (int, int) {
			i := strings.Index(s[from:], on)
			if i < 0 {
				return -1, -1
			}
			return from + i, from + i + len(on)
		}
	}
	return nil
}

func nextWhiteSpace(s string, from int) (at, next int) {
	i := strings.IndexFunc(s[from:], tree.White)
	if i < 0 {
		return -1, -1
	}
	at = from + i
	for next = at; next < len(s); {
		r, size := utf8.DecodeRuneInString(s[next:])
		if !tree.White(r) {
			break
		}
		next += size
	}
	return at, next
}

// cuts is a text that may be cut to some of the segments between its breaks.
type cuts struct {
	text         string
	starts, ends []int // positions of the segments
	side         elements.CutSide
	mark         string
}

func newCuts(text string, next nextBreak, side elements.CutSide, mark string) *cuts {
	c := &cuts{text: text, starts: []int{0}, side: side, mark: mark}
	for from := 0; ; {
		at, after := next(text, from)
		if at < 0 {
			break
		}
		c.ends, c.starts = append(c.ends, at), append(c.starts, after)
		from = after
	}
	c.ends = append(c.ends, len(text))
	return c
}

// keep returns the text cut to a number of segments.
func (c *cuts) keep(segments int) string {
	all := len(c.ends)
	var before, after int // segments that are kept at the beginning, and at the end
	switch c.side {
	case elements.CutStart:
		after = segments
	case elements.CutMiddle:
		before, after = (segments+1)/2, segments/2
	default:
		before = segments
	}
	if segments == all {
		return c.text
	}
	beginning, end := "", ""
	if before > 0 {
		to := c.ends[before-1]
		if c.mark != "" || after > 0 { // something comes after the break
			to = c.starts[before]
		}
		beginning = c.text[:to]
	}
	if after > 0 {
		from := c.starts[all-after]
		if c.mark != "" {
			from = c.ends[all-after-1]
		}
		end = c.text[from:]
	}
	return beginning + c.mark + end
}

// cut cuts a chunk to its budget: going from the shortest text to the longest, it takes the last one before the first
// that counts more than the budget. Counts grow with the text, except that a few tokens merge, so it bisects and then
// looks back. Pruning may trim the piece further.
func (s *site) cut(piece *draft.Node, c *cuts, least int) {
	budget := s.budget
	if s.required || s.layouter.KeepUnranked && !s.offered { // it is never trimmed, so it must fit now with the tokens around it
		budget -= s.overhead + 1
	}
	at := s.place // a copy: when the text is trimmed, the site belongs to another element
	text := func(segments int) string { return at.escaped(c.keep(segments)) }
	count := func(segments int) int { return s.layouter.Tokenizer.CountText(text(segments)) }

	points := len(c.ends) + 1
	fits, over := 0, 1
	for over < points && count(over) <= budget {
		fits, over = over, 2*over
	}
	over = min(over, points)
	for over-fits > 1 {
		if middle := fits + (over-fits)/2; count(middle) <= budget {
			fits = middle
		} else {
			over = middle
		}
	}
	for i := fits; i > 0; i-- {
		if n := count(i); n > budget {
			fits = i - 1
		} else if n <= budget-tree.Slack {
			break
		}
	}
	piece.Text = text(fits)
	piece.SetFlag(tree.Cut, fits < len(c.ends))
	if fits > 1 && !s.required && !s.layouter.Compatible {
		mark := s.layouter.Tokenizer.CountText(at.escaped(c.mark))
		piece.EnsureRare().Trim = &tree.Trim{Texts: fits, Text: text, Least: cmp.Or(least, defaultLeast) + mark}
		piece.Flags |= tree.Trimmable
	}
}

// defaultLeast is the default of TextChunk.Least.
const defaultLeast = 16

package layout

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
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
	case given > 1:
		return fmt.Errorf("%w: more than one of BreakOn, BreakOnWhitespace and BreakOnPattern is set", ErrBreak)
	case c.BreakOnPattern != nil && c.BreakOnPattern.MatchString(""):
		return fmt.Errorf("%w: the pattern %q can match nothing", ErrBreak, c.BreakOnPattern)
	}
	return nil
}

// nextBreak returns the first break at or after from, and where the search for the one after it starts; -1 for none.
type nextBreak func(s string, from int) (at, next int)

// breaks returns how to find a chunk's breaks, nil if it is never cut.
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

// slack is by how many tokens a text may get smaller as it grows: now and then tokens merge across a break.
const slack = 8

// cut returns the text up to the last break before the first one at which it would take more than the budget. Counts grow with
// the text but for the merging of a few tokens, so the place is found by bisection and a look back.
func (s *site) cut(text string, next nextBreak) string {
	points := []int{0} // where the text may end
	for from := 0; ; {
		at, after := next(text, from)
		if at < 0 {
			break
		}
		points = append(points, at)
		from = after
	}
	points = append(points, len(text))
	count := func(i int) int { return s.layouter.Tokenizer.CountText(text[:points[i]]) }

	fits, over := 0, 1
	for over < len(points) && count(over) <= s.budget {
		fits, over = over, 2*over
	}
	over = min(over, len(points))
	for over-fits > 1 {
		if middle := fits + (over-fits)/2; count(middle) <= s.budget {
			fits = middle
		} else {
			over = middle
		}
	}
	for i := fits; i > 0; i-- {
		if n := count(i); n > s.budget {
			fits = i - 1
		} else if n <= s.budget-slack {
			break
		}
	}
	return text[:points[fits]]
}

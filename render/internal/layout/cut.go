package layout

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
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
		return fmt.Errorf("%w: Cut, Mark or Least is set without a break", tree.ErrBreak)
	case c.Cut > elements.CutMiddle:
		return fmt.Errorf("%w: Cut is %d: must be 0 to %d", tree.ErrBreak, c.Cut, elements.CutMiddle)
	case c.Least < 0:
		return fmt.Errorf("%w: a Least of %d tokens: must be 1 or more, or 0 for %d", tree.ErrBreak, c.Least, defaultLeast)
	case given > 1:
		return fmt.Errorf("%w: more than one of BreakOn, BreakOnWhitespace and BreakOnPattern is set", tree.ErrBreak)
	case c.BreakOnPattern != nil && c.BreakOnPattern.MatchString(""):
		return fmt.Errorf("%w: the pattern %q matches the empty string", tree.ErrBreak, c.BreakOnPattern)
	}
	return nil
}

// hasBreak reports whether a chunk has a break.
func hasBreak(c *elements.TextChunk) bool {
	return c.BreakOn != "" || c.BreakOnWhitespace || c.BreakOnPattern != nil
}

// nextBreak returns the position of the first break in a text, -1 for none, and its length.
type nextBreak func(text string) (at, length int)

// breaksOf returns the function that finds a chunk's breaks, nil if it has none.
func breaksOf(c *elements.TextChunk) nextBreak {
	on, pattern := c.BreakOn, c.BreakOnPattern
	switch {
	case c.BreakOnWhitespace:
		return nextWhiteSpace
	case pattern != nil:
		return func(text string) (int, int) {
			m := pattern.FindStringIndex(text)
			if m == nil || m[0] == m[1] {
				return -1, 0
			}
			return m[0], m[1] - m[0]
		}
	case on != "":
		return func(text string) (int, int) { return strings.Index(text, on), len(on) }
	}
	return nil
}

func nextWhiteSpace(text string) (at, length int) {
	if at = strings.IndexFunc(text, tree.White); at >= 0 {
		length = len(text[at:]) - len(strings.TrimLeftFunc(text[at:], tree.White))
	}
	return at, length
}

// cuts is a text that may be cut to some of the segments between its breaks. They are found when they are first needed,
// because most texts are kept or dropped whole. It implements [tree.Trim].
type cuts struct {
	tokenizer chat.Tokenizer
	text      string // not escaped
	escapes   bool
	next      nextBreak
	side      elements.CutSide
	mark      string
	least     int // tokens, without the mark
	kept      int // segments that layout kept, -1 for all

	once         sync.Once
	starts, ends []int // positions of the segments
}

// newCuts returns the cuts of a chunk's text, nil if the chunk has no break.
func (s *site) newCuts(c *elements.TextChunk, text string) *cuts {
	next := breaksOf(c)
	if next == nil {
		return nil
	}
	return &cuts{
		tokenizer: s.layouter.Tokenizer, text: text, escapes: s.escape, next: next,
		side: c.Cut, mark: c.Mark, least: cmp.Or(c.Least, defaultLeast), kept: -1,
	}
}

// segments returns the positions of the segments.
func (c *cuts) segments() (starts, ends []int) {
	c.once.Do(func() {
		c.starts = []int{0}
		for from := 0; ; {
			at, length := c.next(c.text[from:])
			if at < 0 {
				break
			}
			c.ends, c.starts = append(c.ends, from+at), append(c.starts, from+at+length)
			from += at + length
		}
		c.ends = append(c.ends, len(c.text))
	})
	return c.starts, c.ends
}

func (c *cuts) escaped(text string) string { return place{escape: c.escapes}.escaped(text) }

// Texts implements [tree.Trim].
func (c *cuts) Texts() int {
	if c.kept >= 0 {
		return c.kept
	}
	_, ends := c.segments()
	return len(ends)
}

// Text implements [tree.Trim].
func (c *cuts) Text(i int) string { return c.escaped(c.keep(i, c.mark)) }

// Blank implements [tree.Trim].
func (c *cuts) Blank(i int) bool { return tree.Blank(c.keep(i, "")) }

// Least implements [tree.Trim].
func (c *cuts) Least() int { return c.least + c.tokenizer.CountText(c.escaped(c.mark)) }

// Given implements [tree.Trim].
func (c *cuts) Given() string { return c.escaped(c.text) }

// keep returns the text cut to a number of segments, with a mark in place of the others.
func (c *cuts) keep(segments int, mark string) string {
	starts, ends := c.segments()
	all := len(ends)
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
		to := ends[before-1]
		if mark != "" || after > 0 { // something comes after the break
			to = starts[before]
		}
		beginning = c.text[:to]
	}
	if after > 0 {
		from := starts[all-after]
		if mark != "" {
			from = ends[all-after-1]
		}
		end = c.text[from:]
	}
	return beginning + mark + end
}

// cut cuts a text to a number of tokens: going from the shortest text to the longest, it takes the last one before the
// first that counts more. Counts grow with the text, except that a few tokens merge, so it bisects and then looks back.
func (c *cuts) cut(tokens int) {
	count := func(segments int) int { return c.tokenizer.CountText(c.Text(segments)) }
	_, ends := c.segments()
	all := len(ends)
	fits, over := 0, 1
	for over <= all && count(over) <= tokens {
		fits, over = over, 2*over
	}
	over = min(over, all+1)
	for over-fits > 1 {
		if middle := fits + (over-fits)/2; count(middle) <= tokens {
			fits = middle
		} else {
			over = middle
		}
	}
	for i := fits; i > 0; i-- {
		if n := count(i); n > tokens {
			fits = i - 1
		} else if n <= tokens-tree.Slack {
			break
		}
	}
	if fits < all {
		c.kept = fits
	}
}

// upTo returns the tokens of the text, or a limit if there are more. It counts no more text than it takes to know that.
func (c *cuts) upTo(limit int) int {
	for bytes := 8 * max(1, limit); bytes < len(c.text); bytes *= 4 {
		if c.tokenizer.CountText(strings.ToValidUTF8(c.escaped(c.text[:bytes]), "")) > limit {
			return limit
		}
	}
	return min(limit, c.tokenizer.CountText(c.Given()))
}

// defaultLeast is the default of TextChunk.Least.
const defaultLeast = 16

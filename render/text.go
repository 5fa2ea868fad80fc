package render

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// textChunk lays out a text chunk: its literals joined to one text, cut to the budget where a break is given.
func (l *layouter) textChunk(e *node, c *elements.TextChunk, at place, r *room) error {
	e.traits.has(passesOn, c.PassPriority)
	fail := func(err error) error { return &ElementError{Path: e.path(), Err: err} }
	if !at.inMessage {
		return fail(ErrOutsideMessage)
	}
	if err := checkBreak(c); err != nil {
		return fail(err)
	}
	if s, ok := plainText(c); ok && !at.transfer { // as most are: the element is the text
		e.becomeText(s, at)
		return l.charge(e, at, r)
	}
	next := breaks(c)
	piece := node{kind: text, traits: breaksAlways}
	piece.inherit(e)
	var b strings.Builder
	literals := 0
	items, err := flatten(e, at.watch, nil, c.Children)
	if err != nil {
		return err
	}
	for _, it := range items {
		switch n := it.node.(type) {
		case elements.Text:
			s := string(n)
			if at.escape {
				s = escapeText(s)
			}
			b.WriteString(s)
			literals += l.tokenizer.CountText(s)
		case elements.LineBreak:
			b.WriteByte('\n')
		case elements.Reference:
			more := piece.set()
			more.references = append(more.references, n)
		case elements.Opaque:
			e.add(opaque(n)).prioritize(n.Priority)
		case metadata:
			e.note(at.watch.entry(e, n))
		default:
			return fail(fmt.Errorf("a %s in a text chunk: it takes text, line breaks, metadata and opaque values", typeName(it.node)))
		}
	}
	piece.parent, piece.text = e, b.String()
	if next != nil {
		piece.text = l.cut(piece.text, next, r.budget)
		if err := l.charge(&piece, at, r); err != nil {
			return err
		}
	} else {
		if err := at.watch.meets(e, 0, len(piece.text)); err != nil {
			return err
		}
		piece.cost(l.tokenizer.CountText(piece.text))
		r.used += literals
	}
	e.add(piece)
	return nil
}

// plainText gives the text of a chunk that is that text and nothing else.
func plainText(c *elements.TextChunk) (s string, ok bool) {
	if len(c.Children) != 1 || c.PassPriority || c.BreakOn != "" || c.BreakOnWhitespace || c.BreakOnPattern != nil {
		return "", false
	}
	text, ok := c.Children[0].(elements.Text)
	return string(text), ok
}

// checkBreak refuses breaks at which a text cannot be cut.
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

// nextBreak finds the first break at or after from, and where the search for the one after it starts; -1 for none.
type nextBreak func(s string, from int) (at, next int)

// breaks gives a chunk's way to find breaks, nil where it is never cut.
func breaks(c *elements.TextChunk) nextBreak {
	on, pattern := c.BreakOn, c.BreakOnPattern
	switch {
	case c.BreakOnWhitespace:
		return func(s string, from int) (int, int) {
			i := strings.IndexFunc(s[from:], tree.White)
			if i < 0 {
				return -1, -1
			}
			next := from + i
			for next < len(s) {
				r, size := utf8.DecodeRuneInString(s[next:])
				if !tree.White(r) {
					break
				}
				next += size
			}
			return from + i, next
		}
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

// slack is by how many tokens a text may get smaller as it grows: tokens merge across a break now and then.
const slack = 8

// cut gives the text up to the last break before the first one at which it would take more than budget tokens. Counts
// grow with the text but for the merging of a few tokens, so the place is found by bisection and a look back.
func (l *layouter) cut(s string, next nextBreak, budget int) string {
	points := []int{0} // where the text may end
	for from := 0; ; {
		at, after := next(s, from)
		if at < 0 {
			break
		}
		points = append(points, at)
		from = after
	}
	points = append(points, len(s))
	count := func(i int) int { return l.tokenizer.CountText(s[:points[i]]) }

	fits, over := 0, 1
	for over < len(points) && count(over) <= budget {
		fits, over = over, 2*over
	}
	over = min(over, len(points))
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
		} else if n <= budget-slack {
			break
		}
	}
	return s[:points[fits]]
}

// tagName is a simple XML name.
var tagName = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9_.:]*$`)

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
var attributeEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;", "\t", "&#9;")

func escapeText(s string) string { return escaper.Replace(s) }

// tag charges a tag's two ends, or makes it one text where it has no children.
func (l *layouter) tag(e *node, t elements.Tag, r *room) error {
	if !tagName.MatchString(t.Name) {
		return fmt.Errorf("%q is no name for a tag", t.Name)
	}
	var b strings.Builder
	b.WriteString("<" + t.Name)
	for _, a := range t.Attributes {
		if !tagName.MatchString(a.Name) {
			return fmt.Errorf("%q is no name for an attribute of the tag %s", a.Name, t.Name)
		}
		b.WriteString(" " + a.Name + `="` + attributeEscaper.Replace(a.Value) + `"`)
	}
	if len(t.Children) == 0 {
		b.WriteString("/>")
		tokens := l.tokenizer.CountText(b.String())
		piece := e.add(node{kind: text, text: b.String(), traits: breaksAlways})
		piece.inherit(e)
		piece.cost(tokens)
		r.used += tokens
		return nil
	}
	b.WriteString(">\n")
	ends := &tree.Tag{Open: b.String(), Close: "</" + t.Name + ">"}
	ends.Tokens = l.tokenizer.CountText(ends.Open) + l.tokenizer.CountText(ends.Close)
	e.set().tag = ends
	e.traits |= isTagged
	r.used += ends.Tokens
	return nil
}

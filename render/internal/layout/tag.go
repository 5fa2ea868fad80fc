package layout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// isTagName reports whether a string is a simple XML name: letters, digits and -_.:, a letter or _ first.
func isTagName(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|' ' && c|' ' <= 'z' || c == '_'
		if !letter && (i == 0 || !strings.ContainsRune("-.:0123456789", rune(c))) {
			return false
		}
	}
	return s != ""
}

// nameOfTag returns the name of a tag in paths.
func nameOfTag(t elements.Tag) string {
	if !isTagName(t.Name) {
		return "Tag"
	}
	return t.Name
}

// layTag lays out a tag: its two ends around its children, or one text if it has none.
func layTag(_ context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	t := n.(elements.Tag)
	if err := s.checkPlace(n); err != nil {
		return nil, err
	}
	if !isTagName(t.Name) {
		return nil, fmt.Errorf("%q is not a tag name: use letters, digits and -_.:, and start with a letter or _", t.Name)
	}
	opening := "<" + t.Name
	for i, a := range t.Attributes {
		if slices.ContainsFunc(t.Attributes[:i], func(b elements.Attribute) bool { return b.Name == a.Name }) {
			return nil, fmt.Errorf("the attribute %q of the tag %s is set twice", a.Name, t.Name)
		}
		if !isTagName(a.Name) {
			return nil, fmt.Errorf("%q is not an attribute name in the tag %s: use letters, digits and -_.:, and start with a letter or _", a.Name, t.Name)
		}
		opening += " " + a.Name + `="` + plaintext.Attribute(a.Value) + `"`
	}
	if len(t.Children) == 0 {
		piece := tree.Node{Flags: tree.StartsLine}
		piece.InheritPriority(s.node())
		return nil, s.countText(s.tree.AddText(s.id, piece, opening+"/>"), false)
	}
	s.setEnds(opening+">\n", "</"+t.Name+">")
	s.escape = true
	return t.Children, nil
}

// setEnds sets the two ends around the children of an element, and charges them.
func (s *site) setEnds(opening, closing string) {
	count := s.layouter.Tokenizer.CountText
	ends := &tree.Tag{Open: opening, Close: closing, OpenTokens: count(opening), CloseTokens: count(closing)}
	s.tree.EnsureExtra(s.id).Tag = ends
	s.used += ends.Tokens()
	s.lines += ends.InMessage() - ends.Tokens()
}

// layFence lays out a fence. Its ends are longer than any row of backticks in its texts.
func layFence(_ context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	f := n.(elements.Fence)
	if err := s.checkPlace(n); err != nil {
		return nil, err
	}
	if strings.ContainsAny(f.Language, "`\r\n") {
		return nil, fmt.Errorf("the language %q of a fence has a backtick or a line break", f.Language)
	}
	items, err := s.flatten(nil, f.Children)
	if err != nil {
		return nil, err
	}
	var texts strings.Builder
	marks := 0
	for _, it := range items {
		text, ok := literal(it.element)
		if chunk, isChunk := it.element.(elements.TextChunk); isChunk {
			if text, err = s.textOf(chunk.Children); err != nil {
				return nil, err
			}
			text = "\n" + text + "\n"
			marks = max(marks, longestRow(chunk.Mark))
		} else if !ok {
			return nil, fmt.Errorf("a %s in a fence: only text may be in one", typeName(it.element))
		}
		texts.WriteString(text)
	}
	fence := strings.Repeat("`", max(3, longestRow(texts.String())+marks+1))
	s.setEnds(fence+f.Language+"\n", fence)
	s.escape = false
	return f.Children, nil
}

// longestRow returns the length of the longest row of backticks in a text.
func longestRow(text string) (longest int) {
	for at := strings.IndexByte(text, '`'); at >= 0; at = strings.IndexByte(text, '`') {
		rest := strings.TrimLeft(text[at:], "`")
		longest = max(longest, len(text)-at-len(rest))
		text = rest
	}
	return longest
}

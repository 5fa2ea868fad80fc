package layout

import (
	"context"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/draft"
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

var attributeEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;", "\t", "&#9;")

// layTag lays out a tag: its two ends around its children, or one text if it has none.
func layTag(_ context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	t := n.(elements.Tag)
	if err := s.checkPlace(n); err != nil {
		return nil, err
	}
	if !isTagName(t.Name) {
		return nil, fmt.Errorf("%q is not a tag name: use letters, digits and -_.:, and start with a letter or _", t.Name)
	}
	var b strings.Builder
	b.WriteString("<" + t.Name)
	for _, a := range t.Attributes {
		if !isTagName(a.Name) {
			return nil, fmt.Errorf("%q is not an attribute name in the tag %s: use letters, digits and -_.:, and start with a letter or _", a.Name, t.Name)
		}
		b.WriteString(" " + a.Name + `="` + attributeEscaper.Replace(a.Value) + `"`)
	}
	if len(t.Children) == 0 {
		piece := draft.Node{Kind: tree.Text, Text: b.String() + "/>", Flags: tree.StartsLine}
		piece.InheritPriority(s.node)
		return nil, s.countText(s.node.Add(piece), false)
	}
	b.WriteString(">\n")
	ends := &tree.Tag{Open: b.String(), Close: "</" + t.Name + ">"}
	ends.OpenTokens, ends.CloseTokens = s.layouter.Tokenizer.CountText(ends.Open), s.layouter.Tokenizer.CountText(ends.Close)
	s.node.EnsureRare().Tag, s.escape = ends, true
	s.used += ends.Tokens()
	s.lines += ends.InMessage() - ends.Tokens()
	return t.Children, nil
}

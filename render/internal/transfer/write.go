package transfer

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Write returns a tree in transfer form. The tree must have been laid out for transfer.
func Write(t *tree.Tree) ([]byte, error) {
	w := writer{tree: t, groups: map[*elements.Group]int{}}
	n, err := w.piece(tree.Root, t.Name(tree.Root))
	if err != nil {
		return nil, err
	}
	data, err := plainjson.Marshal(struct {
		Node node `json:"node"`
	}{n})
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	return data, nil
}

// writer writes a tree, and numbers groups in the order in which they appear.
type writer struct {
	tree   *tree.Tree
	groups map[*elements.Group]int
}

func (w writer) piece(id tree.ID, name string) (node, error) {
	d, source := &w.tree.Nodes[id], sourceOf(w.tree, id)
	n := node{
		Type: typePiece, Ctor: pieceOther, CtorName: name, Children: &[]node{},
		Props: propsOut(source.Props), References: referencesOut(w.tree.Extra(id).References),
	}
	for _, f := range flags {
		if d.Is(f.tree) {
			n.Flags |= f.form
		}
	}
	if g := w.tree.GroupOf(id); g != nil {
		if _, known := w.groups[g]; !known {
			w.groups[g] = len(w.groups)
		}
		n.KeepWithID = new(w.groups[g])
	}
	switch e := source.Element.(type) {
	case elements.Image:
		n.Ctor = pieceImage
		n.Props.Source, n.Props.Detail, n.Props.MimeType = &e.Source, string(e.Detail), e.MediaType
		return n, nil
	case elements.Document:
		n.Ctor = pieceDocument
		n.Props.Data, n.Props.MediaType = &e.Data, &e.MediaType
		return n, nil
	case elements.Thinking:
		return n, &guard.ElementError{Path: w.tree.Path(id), Err: errors.New("thinking cannot be transferred")}
	case elements.ToolMessage:
		n.Ctor = pieceMessage
		n.Props.Role, n.Props.ToolCallID = new(len(roles)-1), e.ToolCallID
	default:
		if d.Kind == tree.Message {
			return n, &guard.ElementError{Path: w.tree.Path(id), Err: ErrMessage}
		}
	}
	return n, w.children(id, n.Children)
}

// children writes the children of a node. The form has no tags: their two ends are written as texts with the highest
// priority.
func (w writer) children(id tree.ID, to *[]node) error {
	tag := w.tree.Extra(id).Tag
	if tag != nil {
		*to = append(*to, tagText(tag.Open))
	}
	for c := id + 1; c < w.tree.Nodes[id].End; c = w.tree.Nodes[c].End {
		if w.tree.Nodes[c].Kind == tree.Breakpoint {
			continue
		}
		n, err := w.child(c, id)
		if err != nil {
			return err
		}
		*to = append(*to, n)
	}
	if tag != nil {
		*to = append(*to, tagText(tag.Close))
	}
	return nil
}

func tagText(s string) node {
	return node{Type: typeText, Text: &s, Priority: new(tree.Unset), LineBreak: new(true)}
}

func (w writer) child(id, parent tree.ID) (node, error) {
	c, extra, source := &w.tree.Nodes[id], w.tree.Extra(id), sourceOf(w.tree, id)
	_, inChunk := sourceOf(w.tree, parent).Element.(elements.TextChunk)
	var given *int
	if c.Is(tree.HasPriority) {
		given = new(c.Priority)
	}
	switch {
	case source.read != nil:
		read := *source.read
		if c.Kind == tree.Text {
			read.Text, read.LineBreak = new(w.tree.Text(id)), new(c.Is(tree.StartsLine))
		}
		return read, nil
	case c.Kind == tree.Text:
		n := node{Type: typeText, Text: new(w.tree.Text(id)), Priority: cmp.Or(given, new(tree.Unset)), LineBreak: new(c.Is(tree.StartsLine))}
		if inChunk {
			n.References = referencesOut(extra.References)
		}
		return n, nil
	case c.Kind == tree.Part && source.Element == nil:
		opaque, _ := extra.Part.(chat.Opaque)
		n := node{Type: typeOpaque, Value: opaque.Value, Priority: given}
		if opaque.Tokens > 0 {
			n.Tokens = &opaque.Tokens
		}
		if !inChunk {
			n.Priority = cmp.Or(given, new(tree.Unset))
		}
		return n, nil
	case w.tree.Nodes[parent].Is(tree.IfEmpty):
		return w.piece(id, wrapperName)
	}
	return w.piece(id, w.tree.Name(id))
}

package transfer

import (
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/render/internal/draft"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Write returns a draft in transfer form. The draft must have been laid out for transfer.
func Write(root *draft.Node) ([]byte, error) {
	w := writer{groups: map[*elements.Group]int{}}
	n, err := w.piece(root, root.Name)
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

// writer numbers groups in the order in which they appear.
type writer struct{ groups map[*elements.Group]int }

func (w writer) piece(d *draft.Node, name string) (node, error) {
	rare := d.RareOrZero()
	n := node{
		Type: typePiece, Ctor: pieceOther, CtorName: name, Children: &[]node{},
		Props: propsOut(rare.Props), References: referencesOut(rare.References),
	}
	for _, f := range flags {
		if d.Is(f.tree) {
			n.Flags |= f.form
		}
	}
	if d.IfEmpty {
		n.Flags |= flagIfEmpty
	}
	if g := d.Group; g != nil {
		if _, known := w.groups[g]; !known {
			w.groups[g] = len(w.groups)
		}
		n.KeepWithID = new(w.groups[g])
	}
	switch e := rare.Element.(type) {
	case elements.Image:
		n.Ctor = pieceImage
		n.Props.Source, n.Props.Detail, n.Props.MimeType = &e.Source, string(e.Detail), e.MediaType
		return n, nil
	case elements.Document:
		n.Ctor = pieceDocument
		n.Props.Data, n.Props.MediaType = &e.Data, &e.MediaType
		return n, nil
	case elements.Tool:
		n.Props.Tool = &e.Tool
		return n, nil
	case elements.Thinking:
		return n, &guard.ElementError{Path: d.Path(), Err: errors.New("thinking cannot be transferred")}
	case elements.ToolMessage:
		n.Ctor = pieceMessage
		n.Props.Role, n.Props.ToolCallID = new(len(roles)-1), e.ToolCallID
	default:
		if d.Kind == tree.Message {
			return n, &guard.ElementError{Path: d.Path(), Err: ErrMessage}
		}
	}
	return n, w.children(d, n.Children)
}

// children writes the children of a node. The form has no tags: their two ends are written as texts with the highest
// priority.
func (w writer) children(d *draft.Node, to *[]node) error {
	tag := d.RareOrZero().Tag
	if tag != nil {
		*to = append(*to, tagText(tag.Open))
	}
	for i := range d.Children {
		c := &d.Children[i]
		if c.Kind == tree.Breakpoint {
			continue
		}
		n, err := w.child(c, d)
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

func (w writer) child(c, parent *draft.Node) (node, error) {
	rare := c.RareOrZero()
	_, inChunk := parent.RareOrZero().Element.(elements.TextChunk)
	read, wasRead := rare.Read.(node)
	switch {
	case wasRead && c.Kind == tree.Text:
		read.Text, read.LineBreak = &c.Text, new(c.Is(tree.StartsLine))
		return read, nil
	case wasRead:
		return read, nil
	case c.Kind == tree.Text:
		n := node{Type: typeText, Text: &c.Text, Priority: orUnset(c.Given()), LineBreak: new(c.Is(tree.StartsLine))}
		if inChunk {
			n.References = referencesOut(rare.References)
		}
		return n, nil
	case c.Kind == tree.Part && rare.Element == nil:
		opaque, _ := rare.Part.(chat.Opaque)
		n := node{Type: typeOpaque, Value: opaque.Value, Priority: c.Given()}
		if opaque.Tokens > 0 {
			n.Tokens = &opaque.Tokens
		}
		if !inChunk {
			n.Priority = orUnset(n.Priority)
		}
		return n, nil
	case parent.IfEmpty:
		return w.piece(c, wrapperName)
	}
	return w.piece(c, c.Name)
}

func orUnset(priority *int) *int {
	if priority == nil {
		return new(tree.Unset)
	}
	return priority
}

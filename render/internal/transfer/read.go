package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// maxDepth is the maximum depth of a tree in transfer form.
const maxDepth = 200

// Reader reads content in transfer form, and writes it to a tree.
type Reader struct {
	Tokenizer  chat.Tokenizer
	Compatible bool                // accept everything that prompt-tsx accepts
	Retransfer bool                // the tree is to be transferred again
	InMessage  bool                // the tree is put into a message
	Escape     func(string) string // escapes texts

	tree   *tree.Tree
	groups map[int]*elements.Group
}

// Read adds the content to a node of a tree. Layout charges nothing for it.
func (r Reader) Read(form []byte, to *tree.Tree, parent tree.ID) error {
	var data struct {
		Node json.RawMessage `json:"node"`
	}
	if err := json.Unmarshal(form, &data); err != nil {
		return &Error{Place: "data", Err: err}
	}
	if data.Node == nil {
		return &Error{Place: "data", Err: errors.New(`there is no "node"`)}
	}
	n, err := decode(data.Node, "node")
	if err != nil {
		return err
	}
	if n.Type != typePiece {
		return &Error{Place: "node.type", Err: fmt.Errorf("it is %d: the outermost node must be a piece, %d", n.Type, typePiece)}
	}
	r.tree, r.groups = to, map[int]*elements.Group{}
	return r.piece(to.Add(parent, tree.Node{}), n, "node", 0)
}

// incoming is a node whose children are not decoded yet.
type incoming struct {
	node
	Children []json.RawMessage `json:"children"`
	Flags    *float64          `json:"flags"`
}

func decode(raw json.RawMessage, where string) (incoming, error) {
	var n incoming
	if err := json.Unmarshal(raw, &n); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			where += "." + strings.TrimPrefix(wrong.Field, "node.")
		}
		return n, &Error{Place: where, Err: err}
	}
	return n, nil
}

// piece reads an element to a node, at a depth in the form.
func (r Reader) piece(id tree.ID, n incoming, where string, depth int) error {
	if depth > maxDepth {
		return &Error{Place: where[:maxDepth] + "…", Err: fmt.Errorf("it is deeper than %d nodes", maxDepth)}
	}
	if n.Props == nil {
		n.Props = &props{}
	}
	in, err := propsIn(n.Props)
	if err != nil {
		return &Error{Place: where + ".props", Err: err}
	}
	r.tree.SetName(id, wrapperName)
	r.tree.Nodes[id].SetPriority(in.Priority)
	r.source(id, Source{Props: in})
	references, err := referencesIn(n.References)
	if err != nil {
		return &Error{Place: where + ".references", Err: err}
	}
	r.tree.Refer(id, references...)
	e := &r.tree.Nodes[id]
	switch n.Ctor {
	case pieceImage, pieceDocument:
		return r.media(id, n, in, where)
	case pieceMessage:
		if n.Props.Role == nil || *n.Props.Role < 0 || *n.Props.Role >= len(roles) {
			return &Error{Place: where + ".props.role", Err: errors.New("it is not a role")}
		}
		if r.InMessage && !r.Compatible {
			return &Error{Place: where, Err: tree.ErrNestedMessage}
		}
		e.Kind = tree.Message
		r.tree.EnsureExtra(id).Frame = &chat.Message{Role: roles[*n.Props.Role], Name: n.Props.Name}
		r.InMessage = true
	case pieceOther:
		if n.KeepWithID != nil {
			if r.groups[*n.KeepWithID] == nil {
				r.groups[*n.KeepWithID] = &elements.Group{}
			}
			r.tree.SetGroup(id, r.groups[*n.KeepWithID])
			r.tree.SetName(id, "KeepWith")
		}
	default:
		return &Error{Place: where + ".ctor", Err: fmt.Errorf("unknown kind %d", n.Ctor)}
	}
	if err := r.setFlags(e, n); err != nil {
		return &Error{Place: where + ".flags", Err: err}
	}
	if err := r.children(id, n, where, depth); err != nil {
		return err
	}
	if r.tree.Close(id); r.tree.Nodes[id].Is(tree.IfEmpty) && !r.Retransfer {
		r.tree.LeaveOut(id)
	}
	return nil
}

func (r Reader) children(id tree.ID, n incoming, where string, depth int) error {
	where += ".children"
	if n.Children == nil {
		return &Error{Place: where, Err: errors.New("it is missing: write an empty list for no children")}
	}
	if r.tree.Nodes[id].Is(tree.IfEmpty) && len(n.Children) != 2 {
		return &Error{Place: where, Err: fmt.Errorf("an IfEmpty has 2, not %d", len(n.Children))}
	}
	for i, raw := range n.Children {
		place := fmt.Sprintf("%s[%d]", where, i)
		child, err := decode(raw, place)
		if err != nil {
			return err
		}
		switch {
		case child.Type == typePiece:
			err = r.piece(r.tree.Add(id, tree.Node{}), child, place, depth+1)
		case !r.InMessage:
			err = &Error{Place: place, Err: tree.ErrOutsideMessage}
		case child.Type == typeText:
			err = r.text(id, child, i == 0, place)
		case child.Type == typeOpaque:
			err = r.opaque(id, child, place)
		default:
			err = &Error{Place: place + ".type", Err: fmt.Errorf("unknown type %d", child.Type)}
		}
		if err != nil {
			return err
		}
	}
	r.number(id, len(n.Children))
	return nil
}

// number numbers the children of a node.
func (r Reader) number(id tree.ID, n int) {
	children := make([]tree.ID, 0, n)
	for c := id + 1; int(c) < len(r.tree.Nodes); c = r.tree.Nodes[c].End {
		children = append(children, c)
	}
	tree.Numbers(len(children), func(i int) string { return r.tree.Name(children[i]) }, func(i int, nth int32) { r.tree.Details[children[i]].Nth = nth })
}

func (r Reader) setFlags(e *tree.Node, n incoming) error {
	set := 0
	if n.Flags != nil {
		if set = int(*n.Flags); float64(set) != *n.Flags || set < 0 || set > flagLegacy|flagChunk|flagPass|flagIfEmpty {
			return fmt.Errorf("unknown flags: %v", *n.Flags)
		}
	}
	for _, f := range flags {
		e.SetFlag(f.tree, set&f.form != 0)
	}
	// An element without a priority has 0 if its props have passPriority, whatever the flags say.
	if !e.Is(tree.HasPriority) && e.Is(tree.PassesPriority) != n.Props.PassPriority && e.Kind == tree.Container {
		priority := tree.Unset
		if n.Props.PassPriority {
			priority = 0
		}
		e.SetPriority(&priority)
		e.Flags &^= tree.Offered // nobody set this priority
	}
	if e.Is(tree.Chunk) && !r.Compatible && !r.Retransfer { // a chunk stays together, so it passes no priority on
		e.Flags &^= tree.PassesPriority
	}
	return nil
}

// media reads an image or a document.
func (r Reader) media(id tree.ID, n incoming, in elements.Props, where string) error {
	if !r.InMessage {
		return &Error{Place: where, Err: tree.ErrOutsideMessage}
	}
	extra := r.tree.EnsureExtra(id)
	r.tree.Nodes[id].Kind = tree.Part
	switch {
	case n.Ctor == pieceImage && n.Props.Source == nil:
		return &Error{Place: where + ".props.src", Err: errors.New("it is missing")}
	case n.Ctor == pieceImage:
		image := elements.Image{Source: *n.Props.Source, Detail: chat.ImageDetail(n.Props.Detail), MediaType: n.Props.MimeType}
		r.tree.SetName(id, "Image")
		r.source(id, Source{Element: image, Props: in})
		extra.Part = image.Part()
	case n.Props.Data == nil || n.Props.MediaType == nil:
		return &Error{Place: where + ".props", Err: errors.New("data or mediaType is missing")}
	default:
		document := elements.Document{Data: *n.Props.Data, MediaType: *n.Props.MediaType}
		r.tree.SetName(id, "Document")
		r.source(id, Source{Element: document, Props: in})
		extra.Part = document.Part()
	}
	extra.Tokens = r.Tokenizer.CountPart(extra.Part)
	return nil
}

// source keeps what another transfer needs.
func (r Reader) source(id tree.ID, s Source) {
	if r.Retransfer {
		r.tree.EnsureExtra(id).Transfer = s
	}
}

func (r Reader) text(parent tree.ID, n incoming, first bool, where string) error {
	if n.Text == nil {
		return &Error{Place: where + ".text", Err: errors.New("it is missing")}
	}
	var c tree.Node
	c.SetPriority(n.Priority)
	starts := n.LineBreak != nil && *n.LineBreak
	c.SetFlag(tree.StartsLine, starts)
	c.SetFlag(tree.StartsElement, first && !starts)
	id := r.tree.AddText(parent, c, r.Escape(*n.Text))
	r.tree.SetTokens(id, r.Tokenizer.CountText(r.tree.Text(id)))
	references, err := referencesIn(n.References)
	if err != nil {
		return &Error{Place: where + ".references", Err: err}
	}
	r.tree.Refer(id, references...)
	r.source(id, Source{read: &n.node}) // another transfer leaves out the same optional fields
	return nil
}

func (r Reader) opaque(parent tree.ID, n incoming, where string) error {
	if n.Value == nil {
		return &Error{Place: where + ".value", Err: errors.New("it is missing")}
	}
	tokens := 0
	if n.Tokens != nil {
		if tokens = *n.Tokens; tokens < 0 || tokens > math.MaxInt32 {
			return &Error{Place: where + ".tokenUsage", Err: fmt.Errorf("it is %d", tokens)}
		}
	}
	c := tree.Node{Kind: tree.Part}
	c.SetPriority(n.Priority)
	id := r.tree.Add(parent, c)
	extra := r.tree.EnsureExtra(id)
	extra.Part, extra.Tokens = chat.Opaque{Value: n.Value, Tokens: tokens}, tokens
	r.source(id, Source{read: &n.node})
	return nil
}

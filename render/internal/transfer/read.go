package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/draft"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// maxDepth is the maximum depth of a tree in transfer form.
const maxDepth = 200

// Reader reads a tree in transfer form to a draft.
type Reader struct {
	Tokenizer  chat.Tokenizer
	Compatible bool                // accept everything that prompt-tsx accepts
	Retransfer bool                // the tree is to be transferred again
	InMessage  bool                // the tree is put into a message
	Escape     func(string) string // escapes texts

	groups map[int]*elements.Group
}

// Read reads a tree into a node. Layout charges nothing for it.
func (r Reader) Read(form []byte, to *draft.Node) error {
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
	r.groups = map[int]*elements.Group{}
	return r.piece(to, n, "node", 0)
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

// piece reads an element, at a depth in the form.
func (r Reader) piece(e *draft.Node, n incoming, where string, depth int) error {
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
	e.Name = wrapperName
	e.SetPriority(in.Priority)
	if r.Retransfer {
		e.EnsureRare().Props = in
	}
	references, err := referencesIn(n.References)
	if err != nil {
		return &Error{Place: where + ".references", Err: err}
	}
	if len(references) > 0 {
		e.EnsureRare().Refer(references...)
	}
	switch n.Ctor {
	case pieceImage, pieceDocument:
		return r.media(e, n, where)
	case pieceMessage:
		if n.Props.Role == nil || *n.Props.Role < 0 || *n.Props.Role >= len(roles) {
			return &Error{Place: where + ".props.role", Err: errors.New("it is not a role")}
		}
		if r.InMessage && !r.Compatible {
			return &Error{Place: where, Err: draft.ErrNestedMessage}
		}
		e.Kind = tree.Message
		e.EnsureRare().Frame = chat.Message{Role: roles[*n.Props.Role], Name: n.Props.Name}
		r.InMessage = true
	case pieceOther:
		if n.Props.Tool != nil {
			return r.tool(e, n, where)
		}
		if n.KeepWithID != nil {
			if r.groups[*n.KeepWithID] == nil {
				r.groups[*n.KeepWithID] = &elements.Group{}
			}
			e.Group, e.Name = r.groups[*n.KeepWithID], "KeepWith"
		}
	default:
		return &Error{Place: where + ".ctor", Err: fmt.Errorf("unknown kind %d", n.Ctor)}
	}
	if err := r.setFlags(e, n); err != nil {
		return &Error{Place: where + ".flags", Err: err}
	}
	return r.children(e, n, where, depth)
}

func (r Reader) children(e *draft.Node, n incoming, where string, depth int) error {
	where += ".children"
	if n.Children == nil {
		return &Error{Place: where, Err: errors.New("it is missing: write an empty list for no children")}
	}
	if e.IfEmpty && len(n.Children) != 2 {
		return &Error{Place: where, Err: fmt.Errorf("an IfEmpty has 2, not %d", len(n.Children))}
	}
	e.Children = make([]draft.Node, 0, len(n.Children))
	for i, raw := range n.Children {
		place := fmt.Sprintf("%s[%d]", where, i)
		child, err := decode(raw, place)
		if err != nil {
			return err
		}
		c := e.Add(draft.Node{})
		switch {
		case child.Type == typePiece:
			err = r.piece(c, child, place, depth+1)
		case !r.InMessage:
			err = &Error{Place: place, Err: draft.ErrOutsideMessage}
		case child.Type == typeText:
			c.SetFlag(tree.StartsElement, i == 0)
			err = r.text(c, child, place)
		case child.Type == typeOpaque:
			err = r.opaque(c, child, place)
		default:
			err = &Error{Place: place + ".type", Err: fmt.Errorf("unknown type %d", child.Type)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r Reader) setFlags(e *draft.Node, n incoming) error {
	set := 0
	if n.Flags != nil {
		if set = int(*n.Flags); float64(set) != *n.Flags || set < 0 || set > flagLegacy|flagChunk|flagPass|flagIfEmpty {
			return fmt.Errorf("unknown flags: %v", *n.Flags)
		}
	}
	for _, f := range flags {
		e.SetFlag(f.tree, set&f.form != 0)
	}
	e.IfEmpty = set&flagIfEmpty != 0
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
func (r Reader) media(e *draft.Node, n incoming, where string) error {
	if !r.InMessage {
		return &Error{Place: where, Err: draft.ErrOutsideMessage}
	}
	rare := e.EnsureRare()
	e.Kind = tree.Part
	switch {
	case n.Ctor == pieceImage && n.Props.Source == nil:
		return &Error{Place: where + ".props.src", Err: errors.New("it is missing")}
	case n.Ctor == pieceImage:
		image := elements.Image{Source: *n.Props.Source, Detail: chat.ImageDetail(n.Props.Detail), MediaType: n.Props.MimeType}
		e.Name, rare.Element, rare.Part = "Image", image, image.Part()
	case n.Props.Data == nil || n.Props.MediaType == nil:
		return &Error{Place: where + ".props", Err: errors.New("data or mediaType is missing")}
	default:
		document := elements.Document{Data: *n.Props.Data, MediaType: *n.Props.MediaType}
		e.Name, rare.Element, rare.Part = "Document", document, document.Part()
	}
	rare.Tokens = r.Tokenizer.CountPart(rare.Part)
	return nil
}

// tool reads the definition of a tool.
func (r Reader) tool(e *draft.Node, n incoming, where string) error {
	switch tool := n.Props.Tool; {
	case r.InMessage && !r.Retransfer:
		return &Error{Place: where, Err: draft.ErrToolInMessage}
	case tool.Name == "":
		return &Error{Place: where + ".props.tool.name", Err: errors.New("it is missing")}
	default:
		rare := e.EnsureRare()
		e.Kind, e.Name, rare.Tool, rare.Tokens = tree.Tool, tool.Name, tool, count.Tool(r.Tokenizer, *tool)
		rare.Element = elements.Tool{Tool: *tool}
		return nil
	}
}

func (r Reader) text(c *draft.Node, n incoming, where string) error {
	if n.Text == nil {
		return &Error{Place: where + ".text", Err: errors.New("it is missing")}
	}
	c.SetPriority(n.Priority)
	c.Kind, c.Text = tree.Text, r.Escape(*n.Text)
	c.SetTokens(r.Tokenizer.CountText(c.Text))
	if n.LineBreak != nil && *n.LineBreak {
		c.Flags = c.Flags&^tree.StartsElement | tree.StartsLine
	}
	references, err := referencesIn(n.References)
	if err != nil {
		return &Error{Place: where + ".references", Err: err}
	}
	if len(references) > 0 {
		c.EnsureRare().Refer(references...)
	}
	r.keep(c, n)
	return nil
}

// keep keeps a text or an opaque value for another transfer, which leaves out the same optional fields.
func (r Reader) keep(c *draft.Node, n incoming) {
	if r.Retransfer {
		c.EnsureRare().Read = n.node
	}
}

func (r Reader) opaque(c *draft.Node, n incoming, where string) error {
	if n.Value == nil {
		return &Error{Place: where + ".value", Err: errors.New("it is missing")}
	}
	c.SetPriority(n.Priority)
	tokens := 0
	if n.Tokens != nil {
		if tokens = *n.Tokens; tokens < 0 || tokens > math.MaxInt32 {
			return &Error{Place: where + ".tokenUsage", Err: fmt.Errorf("it is %d", tokens)}
		}
	}
	rare := c.EnsureRare()
	c.Kind, rare.Part, rare.Tokens = tree.Part, chat.Opaque{Value: n.Value, Tokens: tokens}, tokens
	r.keep(c, n)
	return nil
}

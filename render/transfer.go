package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// TransferContentType names the form that [Transfer] writes, as prompt-tsx does.
const TransferContentType = "application/vnd.codechat.prompt+json.1"

// ErrTransferMessage tells that a message stands in a tree that is to be transferred: content only can be.
var ErrTransferMessage = errors.New("a message cannot be transferred, only what stands in one")

// TransferError tells what is wrong with a tree in transfer form, and where.
type TransferError struct {
	// Place in the data, such as "node.children[2].text".
	Place string
	Err   error
}

func (e *TransferError) Error() string {
	return fmt.Sprintf("transferred tree: %s: %v", e.Place, e.Err)
}

// Unwrap gives what is wrong.
func (e *TransferError) Unwrap() error { return e.Err }

// maxTransferDepth is how deep a transferred tree may be.
const maxTransferDepth = 200

// The numbers and flags of the form.
const (
	transferPiece  = 1
	transferText   = 2
	transferOpaque = 3

	pieceMessage  = 1
	pieceOther    = 2
	pieceImage    = 3
	pieceDocument = 4

	flagLegacy  = 1
	flagChunk   = 2
	flagPass    = 4
	flagIfEmpty = 8
)

// transferFlags are the flags and what they say.
var transferFlags = [...]struct {
	flag  int
	trait trait
}{{flagLegacy, isLegacy}, {flagChunk, isChunk}, {flagPass, passesOn}, {flagIfEmpty, isIfEmpty}}

// transferRoles are the roles by their numbers in the form.
var transferRoles = [...]chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool}

// transferNode is a node in the form, whatever its type.
type transferNode struct {
	Type       int                `json:"type"`
	Ctor       int                `json:"ctor,omitempty"`
	CtorName   string             `json:"ctorName,omitempty"`
	Children   *[]transferNode    `json:"children,omitempty"`
	Props      *transferProps     `json:"props,omitempty"`
	References *[]json.RawMessage `json:"references,omitempty"`
	KeepWithID *int               `json:"keepWithId,omitempty"`
	Flags      int                `json:"flags,omitempty"`
	Priority   *int               `json:"priority,omitempty"`
	Text       *string            `json:"text,omitempty"`
	LineBreak  *bool              `json:"lineBreakBefore,omitempty"`
	Value      json.RawMessage    `json:"value,omitempty"`
	Tokens     *int               `json:"tokenUsage,omitempty"`
}

type transferProps struct {
	FlexBasis    float64         `json:"flexBasis,omitempty"`
	FlexGrow     int             `json:"flexGrow,omitempty"`
	FlexReserve  json.RawMessage `json:"flexReserve,omitempty"`
	PassPriority bool            `json:"passPriority,omitempty"`
	Priority     *int            `json:"priority,omitempty"`
	Role         *int            `json:"role,omitempty"`
	Name         string          `json:"name,omitempty"`
	ToolCallID   string          `json:"toolCallId,omitempty"`
	Source       *string         `json:"src,omitempty"`
	Detail       string          `json:"detail,omitempty"`
	MimeType     string          `json:"mimeType,omitempty"`
	Data         *string         `json:"data,omitempty"`
	MediaType    *string         `json:"mediaType,omitempty"`
}

// Transfer renders a tree of content to the form in which it can be put into a prompt elsewhere: by
// [elements.Transferred] here, by elementJSON in prompt-tsx. Nothing is pruned; the budget tells the elements what they
// should not exceed. Of metadata only references are transferred, of limits none, and Required is not known there.
func Transfer(ctx context.Context, root elements.Node, opts Options) ([]byte, error) {
	l, err := opts.layouter()
	if err != nil {
		return nil, err
	}
	tree, err := l.tree(ctx, root, place{inMessage: true, transfer: true}, opts.Budget)
	if err != nil {
		return nil, err
	}
	w := transferWriter{groups: map[*elements.Group]int{}}
	node, err := w.node(tree, rootPath)
	if err != nil {
		return nil, err
	}
	data, err := plainjson.Marshal(struct {
		Node transferNode `json:"node"`
	}{node})
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	return data, nil
}

// sideName is what prompt-tsx calls each of the two sides of an IfEmpty, and whatever was read back.
const sideName = "LogicalWrapper"

// transferWriter numbers groups in the order in which they appear.
type transferWriter struct{ groups map[*elements.Group]int }

func (w transferWriter) node(l *node, name string) (transferNode, error) {
	more := l.more()
	n := transferNode{
		Type: transferPiece, Ctor: pieceOther, CtorName: name, Children: &[]transferNode{},
		Props: propsOut(more.props), References: referencesOut(more.references),
	}
	for _, f := range transferFlags {
		if l.is(f.trait) {
			n.Flags |= f.flag
		}
	}
	if g := l.linked(); g != nil {
		if _, known := w.groups[g]; !known {
			w.groups[g] = len(w.groups)
		}
		n.KeepWithID = new(w.groups[g])
	}
	switch e := more.node.(type) {
	case elements.Image:
		n.Ctor = pieceImage
		n.Props.Source, n.Props.Detail, n.Props.MimeType = &e.Source, string(e.Detail), e.MediaType
		return n, nil
	case elements.Document:
		n.Ctor = pieceDocument
		n.Props.Data, n.Props.MediaType = &e.Data, &e.MediaType
		return n, nil
	case elements.Thinking:
		return n, &ElementError{Path: l.path(), Err: errors.New("thinking cannot be transferred")}
	case elements.ToolMessage:
		n.Ctor = pieceMessage
		n.Props.Role, n.Props.ToolCallID = new(len(transferRoles)-1), e.ToolCallID
	default:
		if l.kind == message {
			return n, &ElementError{Path: l.path(), Err: ErrTransferMessage}
		}
	}
	if more.tag != nil { // the other side knows no tags: theirs is text that stays
		*n.Children = append(*n.Children, tagText(more.tag.Open))
	}
	_, chunk := more.node.(elements.TextChunk)
	children := l.all()
	for i := range children {
		c := &children[i]
		name := c.elementName()
		if l.is(isIfEmpty) {
			name = sideName
		}
		child, err := w.child(c, name, chunk)
		if err != nil {
			return n, err
		}
		if child.Type != 0 {
			*n.Children = append(*n.Children, child)
		}
	}
	if more.tag != nil {
		*n.Children = append(*n.Children, tagText(more.tag.Close))
	}
	return n, nil
}

func tagText(s string) transferNode {
	return transferNode{Type: transferText, Text: &s, Priority: new(unset), LineBreak: new(true)}
}

// child writes a child; the type is 0 where there is nothing to write.
func (w transferWriter) child(l *node, name string, inChunk bool) (transferNode, error) {
	switch {
	case l.kind == text:
		n := transferNode{Type: transferText, Text: &l.text, Priority: orUnset(l.given()), LineBreak: new(l.is(breaksAlways))}
		if inChunk {
			n.References = referencesOut(l.more().references)
		}
		return n, nil
	case l.kind == part && l.more().node == nil:
		opaque, _ := l.more().part.(chat.Opaque)
		n := transferNode{Type: transferOpaque, Value: opaque.Value, Tokens: &opaque.Tokens, Priority: orUnset(l.given())}
		if inChunk {
			n.Priority = l.given()
		}
		return n, nil
	case l.kind == breakpoint:
		return transferNode{}, nil
	default:
		return w.node(l, name)
	}
}

func orUnset(priority *int) *int {
	if priority == nil {
		return new(unset)
	}
	return priority
}

func propsOut(p elements.Props) *transferProps {
	out := &transferProps{FlexBasis: p.FlexBasis, FlexGrow: p.FlexGrow, PassPriority: p.PassPriority, Priority: p.Priority}
	switch r := p.FlexReserve; {
	case r.Fraction > 0:
		out.FlexReserve = fmt.Appendf(nil, `"/%d"`, r.Fraction)
	case r.Tokens > 0:
		out.FlexReserve = fmt.Append(nil, r.Tokens)
	}
	return out
}

func referencesOut(references []elements.Reference) *[]json.RawMessage {
	list := make([]json.RawMessage, 0, len(references))
	for _, r := range references {
		raw := r.Transfer
		if raw == nil {
			name, _ := json.Marshal(r.Name) // a string always encodes
			raw = fmt.Appendf(nil, `{"anchor":{"variableName":%s}}`, name)
		}
		list = append(list, raw)
	}
	return &list
}

// transferred lays out a tree that was rendered elsewhere as e. It costs nothing.
func (l *layouter) transferred(t elements.Transferred, e *node, at place) error {
	var data struct {
		Node json.RawMessage `json:"node"`
	}
	if err := json.Unmarshal(t.Data, &data); err != nil {
		return &TransferError{Place: "data", Err: err}
	}
	if data.Node == nil {
		return &TransferError{Place: "data", Err: errors.New(`it has no "node"`)}
	}
	r := transferReader{layout: l, groups: map[int]*elements.Group{}}
	n, err := r.decode(data.Node, "node")
	if err != nil {
		return err
	}
	if n.Type != transferPiece {
		return &TransferError{Place: "node.type", Err: fmt.Errorf("it is %d: the outermost node is a piece, %d", n.Type, transferPiece)}
	}
	return r.piece(e, n, "node", at, 0)
}

// transferReader makes a laid-out tree of one in transfer form.
type transferReader struct {
	layout *layouter
	groups map[int]*elements.Group
}

// incoming is a node whose children are still to be read.
type incoming struct {
	transferNode
	Children []json.RawMessage `json:"children"`
	Flags    *float64          `json:"flags"`
}

func (r transferReader) decode(raw json.RawMessage, where string) (incoming, error) {
	var n incoming
	if err := json.Unmarshal(raw, &n); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			where += "." + strings.TrimPrefix(wrong.Field, "transferNode.")
		}
		return n, &TransferError{Place: where, Err: err}
	}
	return n, nil
}

func (r transferReader) piece(e *node, n incoming, where string, at place, depth int) error {
	if depth > maxTransferDepth {
		return &TransferError{Place: where[:maxTransferDepth] + "…", Err: fmt.Errorf("it is deeper than %d nodes", maxTransferDepth)}
	}
	if n.Props == nil {
		n.Props = &transferProps{}
	}
	props, err := propsIn(n.Props)
	if err != nil {
		return &TransferError{Place: where + ".props", Err: err}
	}
	e.own = builtinSide
	e.prioritize(props.Priority)
	if at.transfer {
		e.set().props = props
	}
	references, err := referencesIn(n.References)
	if err != nil {
		return &TransferError{Place: where + ".references", Err: err}
	}
	if references != nil {
		e.set().references = references
	}
	switch n.Ctor {
	case pieceImage, pieceDocument:
		return r.mediaPiece(e, n, where, at)
	case pieceMessage:
		if n.Props.Role == nil || *n.Props.Role < 0 || *n.Props.Role >= len(transferRoles) {
			return &TransferError{Place: where + ".props.role", Err: errors.New("it is no role")}
		}
		if at.inMessage && !r.layout.lenient {
			return &TransferError{Place: where, Err: ErrNestedMessage}
		}
		e.kind = message
		e.set().frame = chat.Message{Role: transferRoles[*n.Props.Role], Name: n.Props.Name}
		at.inMessage = true
	case pieceOther:
		if n.KeepWithID != nil {
			if r.groups[*n.KeepWithID] == nil {
				r.groups[*n.KeepWithID] = &elements.Group{}
			}
			e.holding().with, e.own = r.groups[*n.KeepWithID], builtinKeepWith
			e.traits |= isGrouped
		}
	default:
		return &TransferError{Place: where + ".ctor", Err: fmt.Errorf("unknown kind %d", n.Ctor)}
	}
	if err := setFlags(e, n); err != nil {
		return &TransferError{Place: where + ".flags", Err: err}
	}
	if e.is(passesOn) {
		e.traits &^= passesOn
		r.layout.passOn(e, true, at)
	}
	if n.Children == nil {
		return &TransferError{Place: where + ".children", Err: errors.New("there are none: an empty list is meant")}
	}
	if e.is(isIfEmpty) && len(n.Children) != 2 {
		return &TransferError{Place: where + ".children", Err: fmt.Errorf("an IfEmpty has 2, not %d", len(n.Children))}
	}
	children := make([]node, len(n.Children))
	e.holding().children = children
	for i, raw := range n.Children {
		children[i].parent, children[i].index = e, int32(i)
		if err := r.child(&children[i], raw, fmt.Sprintf("%s.children[%d]", where, i), i, at, depth); err != nil {
			return err
		}
	}
	return nil
}

func setFlags(e *node, n incoming) error {
	flags := 0
	if n.Flags != nil {
		if flags = int(*n.Flags); float64(flags) != *n.Flags || flags < 0 || flags > flagLegacy|flagChunk|flagPass|flagIfEmpty {
			return fmt.Errorf("%v are no flags", *n.Flags)
		}
	}
	for _, f := range transferFlags {
		e.traits.has(f.trait, flags&f.flag != 0)
	}
	// What has no priority has 0 where its props pass it on, whatever the flags say.
	if !e.is(hasPriority) && e.is(passesOn) != n.Props.PassPriority && e.kind == container {
		priority := unset
		if n.Props.PassPriority {
			priority = 0
		}
		e.prioritize(&priority)
		e.traits &^= isOffered // nobody set it
	}
	return nil
}

func (r transferReader) mediaPiece(e *node, n incoming, where string, at place) error {
	if !at.inMessage {
		return &TransferError{Place: where, Err: ErrOutsideMessage}
	}
	e.kind = part
	if n.Ctor == pieceImage {
		if n.Props.Source == nil {
			return &TransferError{Place: where + ".props.src", Err: errors.New("it is missing")}
		}
		image := elements.Image{Source: *n.Props.Source, Detail: chat.ImageDetail(n.Props.Detail), MediaType: n.Props.MimeType}
		e.own, e.set().part = builtinImage, image.Part()
		e.set().node = image
	} else {
		if n.Props.Data == nil || n.Props.MediaType == nil {
			return &TransferError{Place: where + ".props", Err: errors.New("data or mediaType is missing")}
		}
		document := elements.Document{Data: *n.Props.Data, MediaType: *n.Props.MediaType}
		e.own, e.set().part = builtinDocument, document.Part()
		e.set().node = document
	}
	e.rare.tokens = r.layout.tokenizer.CountPart(e.rare.part)
	return nil
}

func (r transferReader) child(c *node, raw json.RawMessage, where string, index int, at place, depth int) error {
	n, err := r.decode(raw, where)
	if err != nil {
		return err
	}
	if n.Type == transferPiece {
		return r.piece(c, n, where, at, depth+1)
	}
	if !at.inMessage {
		return &TransferError{Place: where, Err: ErrOutsideMessage}
	}
	c.prioritize(n.Priority)
	switch n.Type {
	case transferText:
		if n.Text == nil {
			return &TransferError{Place: where + ".text", Err: errors.New("it is missing")}
		}
		c.kind, c.text = text, *n.Text
		if at.escape {
			c.text = escapeText(c.text)
		}
		c.cost(r.layout.tokenizer.CountText(c.text))
		switch {
		case n.LineBreak != nil && *n.LineBreak:
			c.traits |= breaksAlways
		case index == 0:
			c.traits |= breaksFirst
		}
		references, err := referencesIn(n.References)
		if err != nil {
			return &TransferError{Place: where + ".references", Err: err}
		}
		if references != nil {
			c.set().references = references
		}
	case transferOpaque:
		if n.Value == nil {
			return &TransferError{Place: where + ".value", Err: errors.New("it is missing")}
		}
		tokens := 0
		if n.Tokens != nil {
			if tokens = *n.Tokens; tokens < 0 || tokens > math.MaxInt32 {
				return &TransferError{Place: where + ".tokenUsage", Err: fmt.Errorf("it is %d", tokens)}
			}
		}
		more := c.set()
		c.kind, more.part, more.tokens = part, chat.Opaque{Value: n.Value, Tokens: tokens}, tokens
	default:
		return &TransferError{Place: where + ".type", Err: fmt.Errorf("unknown type %d", n.Type)}
	}
	return nil
}

// propsIn reads properties. Flex has had its say where the tree was rendered and is only carried on.
func propsIn(p *transferProps) (elements.Props, error) {
	props := elements.Props{Priority: p.Priority, PassPriority: p.PassPriority, FlexGrow: p.FlexGrow, FlexBasis: p.FlexBasis}
	if p.Priority != nil && (*p.Priority > unset || *p.Priority < -unset) {
		return props, fmt.Errorf("a priority of %d", *p.Priority)
	}
	var fraction string
	switch {
	case p.FlexReserve == nil:
	case json.Unmarshal(p.FlexReserve, &fraction) == nil:
		n, err := strconv.Atoi(strings.TrimPrefix(fraction, "/"))
		if err != nil || n < 1 || !strings.HasPrefix(fraction, "/") {
			return props, fmt.Errorf("a flexReserve of %q", fraction)
		}
		props.FlexReserve.Fraction = n
	default:
		if err := json.Unmarshal(p.FlexReserve, &props.FlexReserve.Tokens); err != nil {
			return props, fmt.Errorf("flexReserve: %w", err)
		}
	}
	return props, checkProps(&props)
}

func referencesIn(list *[]json.RawMessage) ([]elements.Reference, error) {
	if list == nil {
		return nil, nil
	}
	var references []elements.Reference
	for i, raw := range *list {
		var reference struct {
			Anchor *struct {
				Name string `json:"variableName"`
			} `json:"anchor"`
		}
		if err := json.Unmarshal(raw, &reference); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if reference.Anchor == nil {
			return nil, fmt.Errorf("[%d]: it has no anchor", i)
		}
		references = append(references, elements.Reference{Name: reference.Anchor.Name, Transfer: raw})
	}
	return references, nil
}

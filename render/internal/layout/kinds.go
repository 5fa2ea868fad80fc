package layout

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/metadata"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/transfer"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// kind says how a node is laid out: as an element or as a literal.
//
// To add an element to package elements, write its struct there, a case in builtinOf, and a test of what it renders to
// in package render. TestEveryElementHasAKind names an element without a case.
type kind struct {
	name string // of the element in paths: that of its constructor in package el
	ctor string // its name for prompt-tsx, if that is another

	// layOut writes an element to its node, and returns its contents. The site is the element's own.
	layOut func(ctx context.Context, n elements.Node, s *site) (elements.Nodes, error)
	// children are the contents of an element that always renders to them, whatever its budget.
	children elements.Nodes
	// flags are those of an element that only wraps its children.
	flags tree.Flags
	// asks is set if the rendering of the element depends on the share of the budget that it is offered.
	asks bool
	// breaks is set for a text with a break.
	breaks bool
	// max is the largest share that the element may be offered, 0 for no limit.
	max int
	// caller is set if the type is the caller's own: its methods may do anything.
	caller bool

	// literal writes a node that is not an element: it has no properties and no name in paths. The site is that of the
	// element around it.
	literal func(n elements.Node, s *site, priority *int, lazy bool) error
	// note is set if the literal is not sent: metadata and references.
	note bool
}

// builtinOf returns the kind of a node of package elements, and whether it is one.
func builtinOf(n elements.Node) (k kind, ok bool) {
	switch n := n.(type) {
	case elements.Text:
		return kind{literal: layText}, true
	case elements.LineBreak:
		return kind{literal: layLineBreak}, true
	case elements.Opaque:
		return kind{literal: layOpaque}, true
	case elements.CacheBreakpoint:
		return kind{literal: layBreakpoint}, true
	case elements.Reference:
		return kind{literal: layReference, note: true}, true
	case metadataElement:
		return kind{literal: layMetadata, note: true}, !guard.IsNil(n)
	case elements.Transferred:
		return kind{literal: layTransferred}, true
	case elements.TextChunk:
		breaks := hasBreak(&n)
		return kind{name: "Text", ctor: "TextChunk", layOut: layTextChunk, breaks: breaks, asks: breaks && asksItself(&n.Props)}, true
	case elements.Image:
		return kind{name: "Image", layOut: layPart, children: n.Children}, true
	case elements.Document:
		return kind{name: "Document", layOut: layPart, children: n.Children}, true
	case elements.Thinking:
		return kind{name: "Thinking", layOut: layPart}, true
	case elements.SystemMessage:
		return kind{name: "System", layOut: layMessage, children: n.Children}, true
	case elements.UserMessage:
		return kind{name: "User", layOut: layMessage, children: n.Children}, true
	case elements.AssistantMessage:
		return kind{name: "Assistant", layOut: layMessage, children: n.Children}, true
	case elements.ToolMessage:
		return kind{name: "Tool", layOut: layMessage, children: n.Children}, true
	case *elements.Finished:
		return kind{name: "Finished", layOut: layFinished}, n != nil
	case elements.Tag:
		return kind{name: nameOfTag(n), layOut: layTag, children: n.Children}, true
	case elements.Fence:
		return kind{name: "Fence", layOut: layFence, children: n.Children}, true
	case elements.Wrap:
		return kind{name: "Wrap", layOut: layWrap, children: n.Children}, true
	case elements.Chunk:
		return kind{name: "Together", ctor: "Chunk", layOut: layWrap, flags: tree.Chunk, children: n.Children}, true
	case elements.KeepWith:
		return kind{name: "KeepWith", layOut: layKeepWith, children: n.Children}, true
	case elements.LegacyPrioritization:
		return kind{name: "LegacyPrioritization", layOut: layWrap, flags: tree.Legacy, children: n.Children}, true
	case elements.TokenLimit:
		return kind{name: "Limit", ctor: "TokenLimit", layOut: layLimit, children: n.Children, max: n.Max}, true
	case elements.PrioritizedList:
		return kind{name: "Ranked", ctor: "PrioritizedList", layOut: layList, children: n.Children}, true
	case elements.IfEmpty:
		return kind{name: "IfEmpty", layOut: layIfEmpty, children: elements.Nodes{n.Alt, n.Children}}, true
	case elements.Tool:
		return kind{name: cmp.Or(n.Name, "Tool"), layOut: layTool}, true
	case elements.First:
		return kind{name: "First", layOut: layExpandable, asks: true}, true
	case elements.Expandable:
		return kind{name: "Expand", ctor: "Expandable", layOut: layExpandable, asks: true}, true
	}
	return kind{}, false
}

// callerKind returns the kind of an element of the caller's own type.
func callerKind(n elements.Node) kind {
	return kind{name: typeName(n), layOut: layCaller, asks: true, caller: true}
}

// typeName returns the name in paths of an element of the caller's own type.
func typeName(n elements.Node) string {
	t := reflect.TypeOf(n)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return "(anonymous)"
	}
	base, _, _ := strings.Cut(t.Name(), "[") // of a generic type
	return base
}

// metadataElement is an [elements.Meta], or embeds one.
type metadataElement interface {
	elements.Node
	Entry() metadata.Entry
}

func layCaller(ctx context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	return s.render(ctx, n)
}

func layWrap(_ context.Context, _ elements.Node, s *site) (elements.Nodes, error) {
	s.node().Flags |= s.item.kind.flags
	return s.item.kind.children, nil
}

func layKeepWith(_ context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	s.tree.SetGroup(s.id, n.(elements.KeepWith).Group)
	return s.item.kind.children, nil
}

func layLimit(_ context.Context, _ elements.Node, s *site) (elements.Nodes, error) {
	k := &s.item.kind
	if k.max < 1 {
		return nil, fmt.Errorf("a limit of %d tokens: must be 1 or more", k.max)
	}
	s.tree.EnsureExtra(s.id).Limit = k.max
	return k.children, nil
}

// layList lays out a prioritized list. A priority that is set from outside is the one from which its members'
// priorities follow.
func layList(ctx context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	list := n.(elements.PrioritizedList)
	list.Priority = s.item.props.Priority
	return s.render(ctx, list)
}

// layIfEmpty lays out both sides. Content that may not be outside a message is a mistake only on the side that is
// taken.
func layIfEmpty(ctx context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	s.node().Flags |= tree.IfEmpty
	s.eitherSide = true
	return s.render(ctx, n)
}

// layExpandable lays out an element that is laid out again if there are tokens to spare.
func layExpandable(ctx context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	if e, ok := n.(elements.Expandable); ok && e.Value == nil && !s.layouter.Compatible {
		return nil, tree.ErrNoValue
	}
	s.lazy = false // the tokens must be known now: it is offered them again when it grows
	s.growing = &tree.Expandable{Element: n, Place: s.place}
	return s.value(ctx, n)
}

// value returns what an expandable renders to in the budget of the site: of a First, the first version that fits, or
// the last.
func (s *site) value(ctx context.Context, n elements.Node) (elements.Nodes, error) {
	first, ok := n.(elements.First)
	if !ok {
		return s.render(ctx, n)
	}
	for i, version := range first.Versions {
		if i == len(first.Versions)-1 {
			return listOf(version), nil
		}
		like := tree.Node{}
		like.InheritPriority(s.node())
		try := s.layouter.outermost(s.watch, like, s.path, s.place, s.budget)
		try.askingLists, try.up, try.item = s.askingLists, s.up, s.item
		if err := try.contents(ctx, listOf(version)); err != nil {
			return nil, err
		}
		if try.cost()+try.over <= s.budget {
			s.account = try.account
			s.tree.Take(s.id, try.tree)
			s.growing.Largest = i == 0
			return nil, nil
		}
	}
	return nil, nil
}

// layPart lays out an element that is a part of a message. It has no children to which it could pass its priority.
func layPart(_ context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	if err := s.checkPlace(nil); err != nil {
		return nil, err
	}
	extra := s.tree.EnsureExtra(s.id)
	s.node().Kind, extra.Part = tree.Part, n.(interface{ Part() chat.Part }).Part()
	extra.Tokens = s.layouter.Tokenizer.CountPart(extra.Part)
	s.uncharged += extra.Tokens
	s.item.props.PassPriority = false
	items, err := s.flatten(nil, s.item.kind.children)
	for _, it := range items {
		switch {
		case it.kind.note:
			err = it.kind.literal(it.element, s, nil, false)
		case !s.layouter.Compatible: // prompt-tsx leaves it out
			err = fmt.Errorf("a %s in its children: only metadata and references may be there", typeName(it.element))
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, err
}

// checkPlace returns an error if a node that belongs in a message is not in one.
func (s *site) checkPlace(n elements.Node) error {
	if s.inMessage || s.eitherSide {
		return nil
	}
	texts := listOf(n)
	if c, ok := n.(elements.TextChunk); ok {
		texts = c.Children
	}
	if text, _ := s.textOf(texts); text != "" {
		return fmt.Errorf("%w: %q", tree.ErrOutsideMessage, plaintext.Cut(text, 40))
	}
	return tree.ErrOutsideMessage
}

func layText(n elements.Node, s *site, _ *int, lazy bool) error {
	if err := s.checkPlace(n); err != nil {
		return err
	}
	text := s.escaped(string(n.(elements.Text)))
	return s.countText(s.tree.AddText(s.id, s.piece(), text), lazy)
}

func layLineBreak(n elements.Node, s *site, priority *int, _ bool) error {
	if err := s.checkPlace(n); err != nil {
		return err
	}
	piece := s.piece()
	piece.SetPriority(priority)
	tokens := s.layouter.Tokenizer.CountText("\n")
	s.tree.SetTokens(s.tree.AddText(s.id, piece, "\n"), tokens)
	s.uncharged += tokens
	return nil
}

// layOpaque lays out an opaque value. Its tokens are limited to the range from 0 to 2^31-1, so that they can be added
// up.
func layOpaque(n elements.Node, s *site, priority *int, _ bool) error {
	if err := s.checkPlace(n); err != nil {
		return err
	}
	o := n.(elements.Opaque)
	if priority != nil {
		o.Priority = priority
	}
	piece := s.piece()
	piece.Flags &^= tree.StartsElement
	s.uncharged += s.addOpaque(piece, o, o.Priority)
	return nil
}

// addOpaque adds an opaque value, and returns its tokens.
func (s *site) addOpaque(piece tree.Node, o elements.Opaque, priority *int) (tokens int) {
	o.Tokens = min(max(0, o.Tokens), math.MaxInt32)
	piece.Kind = tree.Part
	piece.SetPriority(priority)
	extra := s.tree.EnsureExtra(s.tree.Add(s.id, piece))
	extra.Part, extra.Tokens = o.Part(), o.Tokens
	return o.Tokens
}

func layBreakpoint(n elements.Node, s *site, _ *int, _ bool) error {
	if s.node().Kind != tree.Message {
		return tree.ErrBreakpointPlace
	}
	breakpoint := tree.Node{Kind: tree.Breakpoint}
	breakpoint.SetFlag(tree.WhiteSpace, !s.layouter.Compatible)
	s.tree.EnsureExtra(s.tree.Add(s.id, breakpoint)).Part = n.(elements.CacheBreakpoint).Part()
	return nil
}

func layReference(n elements.Node, s *site, _ *int, _ bool) error {
	s.tree.Refer(s.id, n.(elements.Reference))
	return nil
}

func layMetadata(n elements.Node, s *site, _ *int, _ bool) error {
	return s.note(n.(metadataElement))
}

// note records metadata. A local value of the root is global.
func (s *site) note(m metadataElement) error {
	return s.watch.Call(s, func() {
		entry := m.Entry()
		if entry.Local && s.depth > 0 {
			extra := s.tree.EnsureExtra(s.id)
			extra.Locals = append(extra.Locals, entry)
		} else {
			s.tree.Globals = append(s.tree.Globals, entry)
		}
	})
}

func layTransferred(n elements.Node, s *site, _ *int, _ bool) error {
	r := transfer.Reader{
		Tokenizer: s.layouter.Tokenizer, Compatible: s.layouter.Compatible, Retransfer: s.layouter.Transfer, InMessage: s.inMessage, Escape: s.escaped,
	}
	return r.Read(n.(elements.Transferred).Data, s.tree, s.id)
}

// piece returns a text that is not an element itself, with the priority of the element around it.
func (s *site) piece() (piece tree.Node) {
	piece.InheritPriority(s.node())
	piece.SetFlag(tree.StartsElement, len(s.order) == 0)
	return piece
}

// countText counts and charges a text, unless layout is lazy.
func (s *site) countText(n tree.ID, lazy bool) error {
	text := s.tree.Text(n)
	if err := s.watch.Count(s, 0, len(text)); err != nil || lazy {
		return err
	}
	tokens := s.layouter.Tokenizer.CountText(text)
	s.tree.SetTokens(n, tokens)
	s.used += tokens
	s.lines++ // for a line break before it
	return nil
}

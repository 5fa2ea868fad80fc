package render

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
)

// item is a node in a flattened list, with a priority from outside where it was given one.
type item struct {
	node     elements.Node
	priority *int
	slot     int32 // its place among the parent's children, once it is known to be an element
	builtin  builtin
}

// siblings are the items of a list or, where that is nothing but elements of ours, the plain list.
type siblings struct {
	items []item
	plain elements.Nodes
	first int // the slot of the first of the plain list
}

func (s siblings) len() int { return len(s.items) + len(s.plain) }

func (s siblings) at(i int) item {
	if s.plain == nil {
		return s.items[i]
	}
	return item{node: s.plain[i], slot: int32(s.first + i), builtin: builtinOf(s.plain[i])}
}

// even tells that a plain list has nothing but elements of ours that share the budget in equal parts.
func (s siblings) even() bool {
	for i := range s.plain {
		if it := s.at(i); !it.ownValue() || !it.sharesEvenly() {
			return false
		}
	}
	return true
}

// listOf is a node as a list.
func listOf(n elements.Node) elements.Nodes {
	switch n := n.(type) {
	case nil:
		return nil
	case elements.Nodes:
		return n
	}
	return elements.Nodes{n}
}

// flatten appends the members of the lists within a list in an element, in order, without the nil ones.
func flatten(e *node, w *watch, into []item, list elements.Nodes) ([]item, error) {
	f := flattener{e: e, watch: w, items: into}
	for _, member := range list {
		if err := f.add(member, 1); err != nil {
			return nil, err
		}
	}
	return f.items, nil
}

type flattener struct {
	e     *node
	watch *watch
	items []item
}

// add appends a node, or its members, so deep in lists.
func (f *flattener) add(n elements.Node, depth int) error {
	if depth > maxDepth {
		return f.watch.endless(f.e, fmt.Errorf("%w: more than %d lists stand in each other", ErrEndless, maxDepth))
	}
	switch list := n.(type) {
	case nil:
	case elements.Text:
		f.items = append(f.items, item{node: n})
	case elements.TextChunk:
		f.items = append(f.items, item{node: n, builtin: builtinTextChunk})
	case *elements.Nodes:
		if list != nil {
			return f.add(*list, depth+1)
		}
	case *elements.WithPriority:
		if list != nil {
			return f.add(*list, depth+1)
		}
	case elements.Nodes:
		if err := f.watch.meets(f.e, len(list), 0); err != nil {
			return err
		}
		f.items = slices.Grow(f.items, len(list))
		for _, member := range list {
			if err := f.add(member, depth+1); err != nil {
				return err
			}
		}
	case elements.WithPriority:
		from := len(f.items)
		if err := f.add(list.Node, depth+1); err != nil {
			return err
		}
		if _, many := list.Node.(elements.Nodes); !many {
			for i := range f.items[from:] {
				f.items[from+i].priority = &list.Priority
			}
		}
	default:
		f.items = append(f.items, plain(n))
	}
	return nil
}

// plain makes an item of a node. A pointer to one of package elements' types is a node too, and a tree with &Tag{…} in it
// means the same as one with Tag{…}.
func plain(n elements.Node) item {
	if own := builtinOf(n); own != 0 {
		return item{node: n, builtin: own}
	}
	v := reflect.ValueOf(n)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Type().PkgPath() != elementsPath {
		return item{node: n}
	}
	if value, ok := v.Elem().Interface().(elements.Node); ok {
		return item{node: value, builtin: builtinOf(value)}
	}
	return item{node: n}
}

// metadata is an [elements.Meta], or what embeds one.
type metadata interface{ Entry() elements.MetaEntry }

// elementsPath is where the built-in elements are.
var elementsPath = reflect.TypeFor[elements.Props]().PkgPath()

// props gives the properties of an item.
func (it *item) props() (props elements.Props, err error) {
	if it.ownValue() {
		props = it.node.(elements.Element).ElementProps()
	} else if props, err = callersProps(it.node); err != nil {
		return props, err
	}
	if it.priority != nil {
		props.Priority = it.priority
	}
	return props, nil
}

// propsOf is props of an element whose type may be the caller's.
func (it *item) propsOf(e *node, w *watch) (elements.Props, error) {
	if it.builtin == 0 {
		w.begins(e)
		defer w.ended(e, false)
	}
	return it.props()
}

// ownValue tells an element of ours that is not given by a pointer, which may be nil.
func (it *item) ownValue() bool { return it.builtin != 0 && it.builtin != builtinFinished }

func callersProps(n elements.Node) (props elements.Props, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its properties panic: %v", p)
		}
	}()
	if e, ok := n.(elements.Element); ok {
		props = e.ElementProps()
	}
	return props, nil
}

// builtin is the type of an element. One of ours costs no goroutine.
type builtin uint8

const (
	builtinTextChunk builtin = iota + 1
	builtinChunk
	builtinSystemMessage
	builtinUserMessage
	builtinAssistantMessage
	builtinToolMessage
	builtinTag
	builtinWrap
	builtinTokenLimit
	builtinPrioritizedList
	builtinKeepWith
	builtinIfEmpty
	builtinLegacyPrioritization
	builtinImage
	builtinDocument
	builtinThinking
	builtinFinished

	// Elements that are not in the tree that was given: what is around it, and what was rendered elsewhere.
	builtinRoot
	builtinSide

	callers // a type of the caller's; its name is apart
)

var builtinNames = [...]string{
	builtinTextChunk:            "TextChunk",
	builtinChunk:                "Chunk",
	builtinSystemMessage:        "SystemMessage",
	builtinUserMessage:          "UserMessage",
	builtinAssistantMessage:     "AssistantMessage",
	builtinToolMessage:          "ToolMessage",
	builtinTag:                  "Tag",
	builtinWrap:                 "Wrap",
	builtinTokenLimit:           "TokenLimit",
	builtinPrioritizedList:      "PrioritizedList",
	builtinKeepWith:             "KeepWith",
	builtinIfEmpty:              "IfEmpty",
	builtinLegacyPrioritization: "LegacyPrioritization",
	builtinImage:                "Image",
	builtinDocument:             "Document",
	builtinThinking:             "Thinking",
	builtinFinished:             "Finished",
	builtinRoot:                 rootPath,
	builtinSide:                 sideName,
}

// rootPath is the first element of every path.
const rootPath = "Root"

func builtinOf(n elements.Node) builtin {
	switch n.(type) {
	case elements.TextChunk:
		return builtinTextChunk
	case elements.Chunk:
		return builtinChunk
	case elements.SystemMessage:
		return builtinSystemMessage
	case elements.UserMessage:
		return builtinUserMessage
	case elements.AssistantMessage:
		return builtinAssistantMessage
	case elements.ToolMessage:
		return builtinToolMessage
	case elements.Tag:
		return builtinTag
	case elements.Wrap:
		return builtinWrap
	case elements.TokenLimit:
		return builtinTokenLimit
	case elements.PrioritizedList:
		return builtinPrioritizedList
	case elements.KeepWith:
		return builtinKeepWith
	case elements.IfEmpty:
		return builtinIfEmpty
	case elements.LegacyPrioritization:
		return builtinLegacyPrioritization
	case elements.Image:
		return builtinImage
	case elements.Document:
		return builtinDocument
	case elements.Thinking:
		return builtinThinking
	case *elements.Finished:
		return builtinFinished
	}
	return 0
}

// begin makes a piece what is known of the item before its layout.
func (it *item) begin(e *node) {
	if e.own = it.builtin; e.own == 0 {
		name := typeName(it.node)
		e.own, e.holding().name = callers, &name
		_, shows := it.node.(elements.ShowsHistory)
		e.traits.has(showsHistory, shows)
	}
}

// typeName is the element's name in paths.
func typeName(n elements.Node) string {
	t := reflect.TypeOf(n)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return "(anonymous)"
	}
	if base, _, generic := strings.Cut(t.Name(), "["); generic {
		return base
	}
	return t.Name()
}

// sharesEvenly tells an element of ours that takes the same part of the budget as every other such.
func (it *item) sharesEvenly() bool {
	if it.builtin == 0 || it.builtin == builtinTokenLimit {
		return false
	}
	if chunk, ok := it.node.(elements.TextChunk); ok {
		return chunk.FlexGrow == 0 && chunk.FlexBasis == 0
	}
	props, err := it.props()
	return err == nil && props.FlexGrow == 0 && props.FlexBasis == 0
}

// looks tells that the item, or something in it, may look at what it is offered.
func (it item) looks() bool {
	switch n := it.node.(type) {
	case elements.TextChunk:
		return breaks(&n) != nil
	case elements.Text, elements.LineBreak, elements.Opaque, elements.CacheBreakpoint, elements.Reference, elements.Image,
		elements.Document, elements.Thinking:
		return false
	}
	return true
}

// task is an element still to be laid out.
type task struct {
	node    elements.Node
	props   elements.Props
	piece   *node
	builtin bool
}

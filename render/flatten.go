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
	slot     int // its place among the parent's children, once it is known to be an element with its own
}

// flatten appends the members of lists within lists, in order, without the nil ones.
func flatten(into []item, n elements.Node) []item {
	switch n := n.(type) {
	case nil:
	case elements.Text, elements.TextChunk:
		into = append(into, item{node: n})
	case *elements.Nodes:
		if n != nil {
			into = flatten(into, *n)
		}
	case *elements.WithPriority:
		if n != nil {
			into = flatten(into, *n)
		}
	case elements.Nodes:
		into = slices.Grow(into, len(n))
		for _, member := range n {
			into = flatten(into, member)
		}
	case elements.WithPriority:
		from := len(into)
		into = flatten(into, n.Node)
		if _, list := n.Node.(elements.Nodes); !list {
			for i := range into[from:] {
				into[from+i].priority = &n.Priority
			}
		}
	default:
		into = append(into, item{node: plainBuiltin(n)})
	}
	return into
}

// plainBuiltin gives the value of a pointer to one of package elements' types: they are nodes too, and a tree with &Tag{…}
// in it means the same as one with Tag{…}.
func plainBuiltin(n elements.Node) elements.Node {
	if builtinName(n) != "" {
		return n
	}
	v := reflect.ValueOf(n)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Type().PkgPath() != elementsPath {
		return n
	}
	if plain, ok := v.Elem().Interface().(elements.Node); ok {
		return plain
	}
	return n
}

// elementsPath is where the built-in elements are.
var elementsPath = reflect.TypeFor[elements.Props]().PkgPath()

// props gives the properties of an item.
func (it item) props() (props elements.Props, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its properties panic: %v", p)
		}
	}()
	if e, ok := it.node.(elements.Element); ok {
		props = e.ElementProps()
	}
	if it.priority != nil {
		props.Priority = it.priority
	}
	return props, nil
}

// builtinName is the name of an element whose Render is ours, and so costs no goroutine; "" for any other.
func builtinName(n elements.Node) string {
	switch n.(type) {
	case elements.TextChunk:
		return "TextChunk"
	case elements.Chunk:
		return "Chunk"
	case elements.SystemMessage:
		return "SystemMessage"
	case elements.UserMessage:
		return "UserMessage"
	case elements.AssistantMessage:
		return "AssistantMessage"
	case elements.ToolMessage:
		return "ToolMessage"
	case elements.Tag:
		return "Tag"
	case elements.Wrap:
		return "Wrap"
	case elements.TokenLimit:
		return "TokenLimit"
	case elements.PrioritizedList:
		return "PrioritizedList"
	case elements.KeepWith:
		return "KeepWith"
	case elements.IfEmpty:
		return "IfEmpty"
	case elements.LegacyPrioritization:
		return "LegacyPrioritization"
	case elements.Image:
		return "Image"
	case elements.Document:
		return "Document"
	case elements.Thinking:
		return "Thinking"
	case *elements.Finished:
		return "Finished"
	}
	return ""
}

// name is the element's name in paths: that of its type.
func name(n elements.Node) string {
	if own := builtinName(n); own != "" {
		return own
	}
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
func (it item) sharesEvenly() bool {
	if _, limited := it.node.(elements.TokenLimit); limited || builtinName(it.node) == "" {
		return false
	}
	props, err := it.props()
	return err == nil && props.FlexGrow == 0 && props.FlexBasis == 0
}

// looks tells that the item, or something in it, may look at what it is offered.
func (it item) looks() bool {
	switch n := it.node.(type) {
	case elements.TextChunk:
		return breaks(n) != nil
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
	laid    *laid
	builtin bool
}

// number gives siblings of one name their numbers.
func number(siblings []laid) {
	type tally struct {
		name  string
		first int // the first of that name
		n     int32
	}
	var few [8]tally
	seen, many := few[:0], map[string]int(nil) // many finds a name where there are too many to look through
	for i := range siblings {
		name, at := siblings[i].name, -1
		if many != nil {
			if k, ok := many[name]; ok {
				at = k
			}
		} else {
			for k := range seen {
				if seen[k].name == name {
					at = k
				}
			}
		}
		if at >= 0 {
			t := &seen[at]
			t.n++
			siblings[t.first].nth, siblings[i].nth = 1, t.n
			continue
		}
		if len(seen) == len(few) && many == nil {
			many = map[string]int{}
			for k := range seen {
				many[seen[k].name] = k
			}
		}
		if many != nil {
			many[name] = len(seen)
		}
		seen = append(seen, tally{name: name, first: i, n: 1})
	}
}

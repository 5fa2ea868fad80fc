package el

import (
	"context"
	"reflect"

	"github.com/promptree-go/promptree/elements"
)

// Wrap returns its children with shared properties:
//
//	elements.Wrap{Children: elements.Nodes{…}}
func Wrap(args ...Node) elements.Wrap {
	var w elements.Wrap
	w.Children = fill(&w, &w.Props, args)
	return w
}

// Ranked returns its children with priorities that fall from the list's own, 0 by default: put the best first; the last
// is pruned first. Use it for search results. If a child is a list, as [Each] returns, its members count as children. A
// child with a Priority of its own fails the render:
//
//	elements.PrioritizedList{Descending: true, Children: elements.Nodes{…}}
func Ranked(args ...Node) elements.PrioritizedList {
	l := Chronological(args...)
	l.Descending = true
	return l
}

// Chronological returns its children with priorities that rise to one below the list's own, 0 by default: put the
// newest last; the first is pruned first. If a child is a list, its members count as children:
//
//	elements.PrioritizedList{Children: elements.Nodes{…}}
func Chronological(args ...Node) elements.PrioritizedList {
	var l elements.PrioritizedList
	for _, child := range fill(&l, &l.Props, args) {
		if list, ok := child.(Nodes); ok {
			l.Children = append(l.Children, list...)
		} else {
			l.Children = append(l.Children, child)
		}
	}
	for _, child := range l.Children { // a pointer may be nil
		if e, ok := child.(elements.Element); ok && reflect.ValueOf(e).Kind() != reflect.Pointer && e.ElementProps().Priority != nil {
			l.Children = append(l.Children, wrong("a child of a list that ranks its children has a Priority of %d, which would be replaced: remove it, or use el.Wrap", *e.ElementProps().Priority))
		}
	}
	return l
}

// Together returns its children, kept or dropped as a whole; [Lines] and [Words] in it, the longest, are trimmed first:
//
//	elements.Chunk{Children: elements.Nodes{…}}
func Together(args ...Node) elements.Chunk {
	var c elements.Chunk
	c.Children = fill(&c, &c.Props, args)
	return c
}

// Limit returns its children, pruned to at most that many tokens, 1 or more, before the rest of the prompt is pruned:
//
//	elements.TokenLimit{Max: tokens, Children: elements.Nodes{…}}
func Limit(tokens int, args ...Node) elements.TokenLimit {
	l := elements.TokenLimit{Max: tokens}
	l.Children = fill(&l, &l.Props, args)
	return l
}

// KeepWith returns its children, which are kept or dropped with the other members of a group, and with the [CallsWith]
// linked to it:
//
//	elements.KeepWith{Group: group, Children: elements.Nodes{…}}
func KeepWith(group *elements.Group, args ...Node) elements.KeepWith {
	k := elements.KeepWith{Group: group}
	k.Children = fill(&k, &k.Props, args)
	return k
}

// IfEmpty returns its children, or the alternative if they render to nothing but white space:
//
//	elements.IfEmpty{Alt: alternative, Children: elements.Nodes{…}}
func IfEmpty(alternative Node, args ...Node) elements.IfEmpty {
	e := elements.IfEmpty{Alt: alternative}
	e.Children = fill(&e, &e.Props, args)
	return e
}

// First returns the first of its arguments that fits, or the last if none does: put the largest version first. It is
// chosen at layout, and again if tokens are left over; pruning does not choose a smaller one.
//
//	elements.First{Versions: elements.Nodes{…}}
func First(args ...Node) elements.First {
	var f elements.First
	f.Versions = fill(&f, &f.Props, args)
	return f
}

// Expand returns an element that grows into tokens that are left over: value is called again with all the tokens that
// it may take.
//
//	elements.Expandable{Value: value}
func Expand(value func(context.Context, elements.Sizing) (Node, error), options ...Property) elements.Expandable {
	return elements.Expandable{Props: Props(options...), Value: value}
}

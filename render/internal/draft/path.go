package draft

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// Path returns the path of an element, such as "User#2 > Wrap". For a text or part that is not an element it is that of
// the element around it.
func (n *Node) Path() string {
	if n == nil {
		return ""
	}
	nth := int32(0)
	if n.Name != "" && n.Parent != nil {
		nth = numbers(n.Parent.Children)[n.index]
	}
	return tree.JoinPath(n.Parent.Path(), n.Name, nth)
}

// PathWithoutNumbers returns the path without the numbers of siblings.
func (n *Node) PathWithoutNumbers() string {
	var names []string
	for ; n != nil && (n.Parent != nil || names == nil); n = n.Parent {
		if n.Name != "" {
			names = append(names, n.Name)
		}
	}
	slices.Reverse(names)
	return strings.Join(names, " > ")
}

// numbers returns the number of each node among siblings of the same name, from 1; 0 for the only one.
func numbers(siblings []Node) []int32 {
	list := make([]int32, len(siblings))
	if len(siblings) < 2 {
		return list
	}
	type tally struct {
		first int
		n     int32
	}
	byName := map[string]*tally{}
	var last *tally // of the previous sibling: most siblings have the same name
	for i := range siblings {
		if i == 0 || siblings[i].Name != siblings[i-1].Name {
			if last = byName[siblings[i].Name]; last == nil {
				last = &tally{first: i}
				byName[siblings[i].Name] = last
			}
		}
		if last.n++; last.n > 1 {
			list[last.first], list[i] = 1, last.n
		}
	}
	return list
}

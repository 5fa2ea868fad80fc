package tree

import "strconv"

// RootPath is the name and the path of the root. The paths of other elements leave it out.
const RootPath = "Root"

// Path returns the path of an element, such as "User#2 > Wrap". For a text or part that is not an element it is that of
// the element around it.
func (t *Tree) Path(n ID) string {
	if n == None {
		return ""
	}
	return t.PathIn(t.Path(t.Nodes[n].Parent), n)
}

// PathIn returns the path of a node whose parent has the given path.
func (t *Tree) PathIn(path string, n ID) string {
	return JoinPath(path, t.Name(n), t.Details[n].Nth)
}

// JoinPath returns the path of the nth child of that name in an element with the given path; the path itself if name is
// empty.
func JoinPath(path, name string, nth int32) string {
	if name == "" {
		return path
	}
	between, number := " > ", ""
	if path == "" || path == RootPath {
		path, between = "", ""
	}
	if nth > 0 {
		number = "#" + strconv.Itoa(int(nth))
	}
	return path + between + name + number
}

// Numbers calls set with the number of each of n siblings among those of the same name, from 1. It does not for the only
// one of a name, or for one without a name.
func Numbers(n int, name func(i int) string, set func(i int, nth int32)) {
	type tally struct {
		first int
		n     int32
	}
	byName := map[string]tally{}
	for i := range n {
		name := name(i)
		if name == "" {
			continue
		}
		t := byName[name]
		if t.n++; t.n == 1 {
			t.first = i
		} else {
			set(t.first, 1)
			set(i, t.n)
		}
		byName[name] = t
	}
}

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
	return JoinPath(path, t.Names[t.Nodes[n].Name], t.Nodes[n].Nth)
}

// JoinPath returns the path of the nth child of that name in an element with the given path; the path itself if name is
// empty.
func JoinPath(path, name string, nth int32) string {
	if name == "" {
		return path
	}
	if nth > 0 {
		name += "#" + strconv.Itoa(int(nth))
	}
	if path == "" || path == RootPath {
		return name
	}
	return path + " > " + name
}

package tree

import "strconv"

// RootPath is the name of the root, and its path. The paths of others begin below it.
const RootPath = "Root"

// Path returns the path of an element, such as "User#2 > Wrap"; of the element around it, for a text or part that is none.
func (t *Tree) Path(n ID) string {
	if n == None {
		return ""
	}
	return t.PathIn(t.Path(t.Nodes[n].Parent), n)
}

// PathIn returns the path of a node in an element of the given path.
func (t *Tree) PathIn(path string, n ID) string {
	return JoinPath(path, t.Names[t.Nodes[n].Name], t.Nodes[n].Nth)
}

// JoinPath returns the path of an element, the nth of its name, in one of the given path; the path itself for no name.
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

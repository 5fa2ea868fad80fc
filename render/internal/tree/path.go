package tree

import "strconv"

// Path returns the path of an element, such as "Root > UserMessage#2"; of the element around it, for a text or part that is
// none.
func (t *Tree) Path(n ID) string {
	if n == None {
		return ""
	}
	return t.PathIn(t.Path(t.Nodes[n].Parent), n)
}

// PathIn returns the path of a node in an element of the given path.
func (t *Tree) PathIn(path string, n ID) string {
	name := t.Name(n)
	if name == "" {
		return path
	}
	if path != "" {
		path += " > "
	}
	path += name
	if nth := t.Nodes[n].Nth; nth > 0 {
		path += "#" + strconv.Itoa(int(nth))
	}
	return path
}

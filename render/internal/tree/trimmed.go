package tree

// Trimmed is a text that was made shorter.
type Trimmed struct {
	Text   string
	Index  int // among the texts of its Trim
	Tokens int // by itself, -1 until it is counted
}

// Text returns the current text of a node.
func (s *State) Text(n ID) string {
	if t := s.Trimmed(n); t != nil {
		return t.Text
	}
	return s.Tree.Text(n)
}

// Trimmed returns the shorter text of a node, nil for a node that is not trimmed.
func (s *State) Trimmed(n ID) *Trimmed {
	if !s.Tree.Nodes[n].Is(Trimmable) {
		return nil
	}
	return s.trimmed[n]
}

// Trim replaces a text by the shorter text with an index in its Trim, or, with an index out of range, by the whole
// text.
func (s *State) Trim(n ID, index int) {
	trim := s.Tree.Extra(n).Trim
	if index < 0 || index >= trim.Texts() {
		delete(s.trimmed, n)
		return
	}
	s.trimmed[n] = &Trimmed{Text: trim.Text(index), Index: index, Tokens: -1}
}

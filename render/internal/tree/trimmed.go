package tree

import "maps"

// Trimmed is what is left of a text that became shorter.
type Trimmed struct {
	Text   string
	Index  int // among the texts of its Trim
	Tokens int // by itself, -1 before anybody asked
}

// Text returns a text as it is now.
func (s *State) Text(n ID) string {
	if t := s.Trimmed(n); t != nil {
		return t.Text
	}
	return s.Tree.Nodes[n].Text
}

// Trimmed returns what is left of a text that became shorter, nil for any other node.
func (s *State) Trimmed(n ID) *Trimmed {
	if !s.Tree.Nodes[n].Is(Trims) {
		return nil
	}
	return s.trimmed[n]
}

// AllTrimmed returns the texts that are shorter now.
func (s *State) AllTrimmed() map[ID]*Trimmed { return maps.Clone(s.trimmed) }

// Trim replaces a text by one that it may become, or, with an index that is not one of these, by itself.
func (s *State) Trim(n ID, index int) {
	trim := s.Tree.Extra(n).Trim
	if index < 0 || index >= trim.Texts {
		delete(s.trimmed, n)
		return
	}
	if s.trimmed == nil {
		s.trimmed = map[ID]*Trimmed{}
	}
	s.trimmed[n] = &Trimmed{Text: trim.Text(index), Index: index, Tokens: -1}
}

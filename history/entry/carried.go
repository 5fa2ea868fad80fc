package entry

import "github.com/promptree-go/promptree/history/storage"

// Carried holds what a compaction carries forward from the path before it, so that no reader has to go back further.
// history.Session.Add fills it in. All of it is bounded.
type Carried struct {
	// Lines is the number of lines in the store before the compaction's own; 0 if the store does not count them.
	Lines int `json:"lines,omitempty"`
	// Head holds the first 64 entries of the path that are shown.
	Head []Ref `json:"head,omitempty"`
	// Clearings holds the newest 64 clearings that concern entries in Head.
	Clearings []Ref `json:"clearings,omitempty"`
	// Start is the entry that starts the turn in which the compaction cuts, the zero value if the cut is between turns.
	Start Ref `json:"start,omitzero"`
	// Said holds the user's messages: the first, and the newest 999. SaidLeft is the number left out in between.
	Said     []Ref `json:"said,omitempty"`
	SaidLeft int   `json:"saidLeft,omitempty"`
	// Calls holds the ids of calls that have no result yet, the newest 1,000.
	Calls []string `json:"calls,omitempty"`
	// Latest holds the newest entry of each type.
	Latest map[Type]Ref `json:"latest,omitempty"`
	// Preambles holds the newest 16 by their digests.
	Preambles map[string]Ref `json:"preambles,omitempty"`
	// Models holds what was learnt of the newest 64 models ([Memory]).
	Models []Learnt `json:"models,omitempty"`
}

// Ref refers to an entry.
type Ref struct {
	ID string `json:"id"`
	// At is the entry's position in its store, 0 if that is not known. It is a hint: in a copied session the entry is
	// elsewhere.
	At storage.Position `json:"at,omitempty"`
}

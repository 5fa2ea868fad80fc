package elements

import "context"

// ShowsHistory marks an element that shows messages of a conversation. Everything that it renders to is history: the
// compactor of package summarize counts it as tokens that a compaction can save, and package render can require it, or
// let it be pruned, apart from the rest of the prompt (render.HistoryMode).
//
// The elements of package history have the marker. Give it to an element of your own that shows messages of a
// conversation, but not to one that holds both history and anything else. The method does nothing and is never called.
type ShowsHistory interface{ ShowsHistory() }

// IgnoresBudget marks an element that renders to the same content for any share of the budget ([Sizing.TokenBudget]).
// Its siblings then share the tokens that it leaves; an element without the marker takes part in the sharing. The
// elements of package history have it. The method does nothing and is never called.
type IgnoresBudget interface{ IgnoresBudget() }

// Misplaced marks a node that renders to nothing by itself, such as an option of package el. If a renderer meets one,
// the render fails with the node's error and the path of the element around it.
type Misplaced interface{ Misplaced() error }

// MakesRoom is implemented by an element that can become smaller at a price, such as one that has a conversation
// summarised.
type MakesRoom interface {
	// MakeRoom is called by render.Render if the tree does not fit its budget, by over tokens. It reports whether the
	// element takes less room now; the tree is then rendered once more.
	MakeRoom(ctx context.Context, over int) (bool, error)
}

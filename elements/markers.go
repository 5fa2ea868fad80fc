package elements

// ShowsHistory marks an element that shows what was said in a conversation. What such an element renders to is
// history: the compactor of package summarize counts it as what a compaction relieves, and package render can require
// it, or let it be pruned, apart from the rest of the prompt (render.HistoryMode).
//
// The elements of package history have the marker. An element of your own that shows messages of a conversation should
// have it too; one around both history and anything else should not. The method does nothing and is never called.
type ShowsHistory interface{ ShowsHistory() }

// IgnoresBudget marks an element that renders to the same whatever share of the budget it is told ([Sizing.TokenBudget]). What
// stands beside it then shares what it leaves; an element without the marker takes part in the sharing. The elements of package
// history have it. The method does nothing and is never called.
type IgnoresBudget interface{ IgnoresBudget() }

// Misplaced marks a node that stands for nothing by itself, such as an option of package el. If a renderer meets one, the render ends
// with its error and the path of the element in which it stands.
type Misplaced interface{ Misplaced() error }

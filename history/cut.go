package history

import (
	"errors"
	"fmt"
	"iter"

	"github.com/promptree-go/promptree/sizing"
)

// Cut is a rule that says where a path is cut in two: what is older is covered by a summary, what is newer is kept word
// for word. The zero value keeps the newest message or round and nothing else. Each field moves the cut further back, or
// bounds it; they may be combined. [CopilotChatCut], [CopilotCLICut], [OhMyPiCut], [A3SCut] and [StagewiseCut] are the rules of
// those products.
//
// Whatever the rule:
//
//  1. Only what the latest compaction on the path left is looked at: what it covers is not covered again.
//  2. The cut lies at an entry that the model sees: a user's message, a shell command, an assistant's message, a custom
//     message, a branch summary. It never lies at a tool result, nor at anything that says nothing to the model.
//  3. It never lies between a call and its result, however late that came and whatever was said between, and so never
//     within parallel calls.
//  4. What is kept is never empty. Where the newest message or round alone is over a limit it is kept all the same, and
//     [CutPoint.Over] tells.
//  5. What is covered is never empty: where a rule keeps everything the error is [ErrNoCut].
//  6. Entries that only the session knows (labels, model changes and the like) right before the cut go with what is
//     kept, back to something that was said or to a compaction.
//  7. A turn is not cut between its first message and the round after it: a view shows the first message of a turn that
//     is cut anyhow.
//
// The path is read once, and tokens are counted of what is kept alone.
type Cut struct {
	// Tokens is the most that may be kept, as it is shown, with the first message of a turn that is cut. Older entries are
	// kept as long as they fit. Defaults to no limit.
	Tokens int
	// Share of the window ([sizing.Sizing.Window]) that may be kept, above 0 and up to 1. With Tokens the smaller of both
	// counts. Defaults to no limit.
	Share float64
	// Messages is how many of the newest messages are enough: older ones are kept until there are so many. Each message
	// counts, tool results too; a round is kept whole, and so there may be more. Tokens and Share go before it: with them
	// there may be fewer. Defaults to no such number.
	Messages int
	// First is how many messages at the very start of the path are kept besides. A round that is not whole among them is
	// not kept. Defaults to none.
	First int
	// ToolBoundary keeps the newest round, whatever was said after it, as long as a call of it has no result: the tool may
	// be running. It is for a summary that is made while the agent works. Without it a call without a result counts as
	// interrupted.
	ToolBoundary bool
	// SinceCompaction lets the cut lie only after the entry of the latest compaction: what that had kept is covered now.
	SinceCompaction bool
	// Limits by which rounds are cut where they are shown. Tokens are counted of what is left. Where the window is not known
	// (0) nothing is cut.
	Limits Limits
}

// CopilotChatCut is the rule of Copilot Chat: all but the round that overflowed, the newest one, back to the summary before. A
// turn of one round is kept whole.
func CopilotChatCut() Cut { return Cut{} }

// CopilotCLICut is the rule of Copilot CLI: everything said so far, but only up to a tool boundary. As nothing may be left
// without a tail, the newest message or round is kept.
func CopilotCLICut() Cut { return Cut{ToolBoundary: true} }

// OhMyPiCut is the rule of oh-my-pi: the newest 20,000 tokens since the latest compaction.
func OhMyPiCut() Cut { return Cut{Tokens: 20_000, SinceCompaction: true} }

// A3SCut is the rule of A3S: the first 2 messages and the newest 20.
func A3SCut() Cut { return Cut{First: 2, Messages: 20} }

// StagewiseCut is the rule of stagewise: walking back, messages are kept until there are 10, the larger of its two floors, 5
// and 10, but never more than the smaller of a fifth of the window and 40,000 tokens take. A last message that alone takes
// more is kept. Where the walk ends at the first message there is nothing to cut.
func StagewiseCut() Cut { return Cut{Share: 0.2, Tokens: 40_000, Messages: max(5, 10)} }

// CutPoint is where a path is cut.
type CutPoint struct {
	// FirstKept is the id of the first entry of Kept: what a [Compaction] is told.
	FirstKept string
	// At is the id of the entry at which the cut lies: FirstKept, or what follows the entries without words that are kept
	// with it.
	At string
	// Head are the entries at the start of the path that are kept besides (see [Cut.First]). Where the turn that is cut
	// starts among them, a view shows its first message too.
	Head []Entry
	// Covered are the entries that are covered from now on, and were not before.
	Covered []Entry
	// Kept are the entries that are kept.
	Kept []Entry
	// SplitTurn is the id of the first entry of the turn that the cut lies within; "" where it lies between two turns.
	SplitTurn string
	// TurnPrefix is the end of Covered that belongs to that turn. Its first entry is missing where it was covered before.
	TurnPrefix []Entry
	// Tokens and Messages are what is kept as it is shown, with the first message of the turn that is cut.
	Tokens, Messages int
	// Over tells that what is kept takes more than the rule allows: less cannot be kept.
	Over bool
}

// ErrNoCut tells that a rule keeps everything, or that there is no place to cut.
var ErrNoCut = errors.New("history: there is no place to cut at that leaves something to cover")

// Find applies the rule to a path, its entries from the root on, such as [Session.PathTo] gives. The error is [ErrNoCut], or
// that of the path, or says which field is out of its range.
func (c Cut) Find(entries iter.Seq2[Entry, error], s sizing.Sizing) (CutPoint, error) {
	limit, err := c.limit(s)
	if err != nil {
		return CutPoint{}, err
	}
	path, head, err := readPath(entries, c.First)
	if err != nil {
		return CutPoint{}, err
	}
	if s.Window <= 0 {
		s.Window = unbounded
	}
	units := unitsOf(path, c.ToolBoundary)
	first, after := uncovered(path) // what the latest compaction kept, and what follows its entry
	lower := first
	if c.SinceCompaction {
		lower = after
	}
	if head < 0 {
		head = headEnd(units, c.First, len(path))
	}
	lower = max(lower, head)

	base, places := placesIn(units, first, lower)
	if len(places) == 0 {
		return CutPoint{}, ErrNoCut
	}
	measure := measure{path: path, units: units, limits: c.Limits, sizing: s}
	at := len(places) - 1
	tail := measure.between(places[at], len(units))
	over := limit > 0 && tail.plus(measure.starter(places[at])).tokens > limit
	for !over && c.wantsMore(tail, limit) {
		older := base
		if at > 0 {
			older = places[at-1]
		}
		more := tail.plus(measure.between(older, places[at]))
		if limit > 0 && more.plus(measure.starter(older)).tokens > limit {
			break
		}
		if at == 0 {
			return CutPoint{}, ErrNoCut // everything is kept
		}
		tail = more
		at--
	}

	shown := tail.plus(measure.starter(places[at]))
	u := units[places[at]]
	cut := u.at
	for cut > lower && unsaid(path[cut-1]) {
		cut--
	}
	point := CutPoint{
		FirstKept: path[cut].ID, At: path[u.at].ID,
		Head: path[:head], Covered: path[max(first, head):cut], Kept: path[cut:],
		Tokens: shown.tokens, Messages: shown.messages, Over: over,
	}
	if u.turn < u.at {
		point.SplitTurn = path[u.turn].ID
		point.TurnPrefix = path[max(first, head, u.turn):cut]
	}
	return point, nil
}

// wantsMore tells that the rule would keep more than a tail that is within its limit.
func (c Cut) wantsMore(tail size, limit int) bool {
	if c.Messages > 0 {
		return tail.messages < c.Messages
	}
	return limit > 0
}

// placesIn lists the units at which a path may be cut, and the first of those that a cut chooses among. What the latest
// compaction left begins at first, and what is chosen among at lower.
func placesIn(units []unit, first, lower int) (base int, places []int) {
	base = len(units)
	reach := -1 // of the calls before the unit
	for i, u := range units {
		if u.at < first {
			continue
		}
		if u.at >= lower {
			base = min(base, i)
			behindStart := i > 0 && units[i-1].at == u.turn && units[i-1].starts
			if behindStart { // rule 7, unless the turn's start is no place itself
				behindStart = i-1 == base || len(places) > 0 && places[len(places)-1] == i-1
			}
			if i > base && reach < u.at && !behindStart {
				places = append(places, i)
			}
		}
		reach = max(reach, u.reach)
	}
	return base, places
}

// unbounded is a window in which nothing is cut.
const unbounded = 1 << 40

// limit is the most tokens that may be kept, 0 where there is none.
func (c Cut) limit(s sizing.Sizing) (int, error) {
	switch {
	case c.Tokens < 0 || c.Messages < 0 || c.First < 0:
		return 0, fmt.Errorf("history: Cut.Tokens is %d, Messages %d, First %d: none may be below 0", c.Tokens, c.Messages, c.First)
	case !(c.Share >= 0 && c.Share <= 1):
		return 0, fmt.Errorf("history: Cut.Share is %v: it is a share between 0 and 1", c.Share)
	case c.Share > 0 && s.Window <= 0:
		return 0, fmt.Errorf("history: Cut.Share is %v, and the window is not known: set Sizing.Window", c.Share)
	}
	limit := c.Tokens
	if c.Share > 0 {
		share := max(1, int(c.Share*float64(s.Window)))
		if limit == 0 || share < limit {
			limit = share
		}
	}
	return limit, c.Limits.check()
}

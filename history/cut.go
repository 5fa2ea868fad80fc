package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
)

// Cut is a rule that says where a view is cut in two: what is older is covered by a summary, what is newer is kept word
// for word. The zero value keeps the newest message or round and nothing else. Each field moves the cut further back, or
// bounds it; they may be combined.
//
// Whatever the rule:
//
//  1. Only what the view shows is looked at: what the latest compaction on the path covers is not covered again, and what
//     was cleared takes what stands in its place.
//  2. The cut lies at an entry that the model sees: a user's message, a shell command, an assistant's message, a custom
//     message, a branch summary. It never lies at a tool result, nor at anything that says nothing to the model.
//  3. It never lies between a call and its result, however late that came and whatever was said between, and so never
//     within parallel calls.
//  4. What is kept is never empty. If the newest message or round alone is over a limit it is kept all the same, and
//     [CutPoint].Over is set.
//  5. What is covered is never empty: if a rule keeps everything the error is [ErrNoCut].
//  6. Entries that only the session knows (labels, model changes and the like) right before the cut go with what is
//     kept, back to something that was said or to a compaction.
//  7. A turn is not cut between its first message and the round after it: a view shows the first message of a turn that
//     is cut anyhow.
//
// The path itself is not read but for its start, and that only if First is set.
type Cut struct {
	// Tokens is the most that may be kept, as it is shown, with the first message of a turn that is cut. Older entries are
	// kept as long as they fit. Defaults to no limit.
	Tokens int
	// Share of the window ([elements.Sizing].PromptBudget) that may be kept, above 0 and up to 1. With Tokens the smaller of both
	// counts. Defaults to no limit.
	Share float64
	// Messages is how many of the newest messages are enough: older ones are kept until that number is reached. Each message
	// that is sent counts, tool results too; a round is kept whole, and so there may be more. Tokens and Share go before it:
	// with them there may be fewer. Off by default.
	Messages int
	// Rounds is how many of the newest rounds are enough, as Messages is of messages. With both, older ones are kept until
	// both numbers are reached. Off by default.
	Rounds int
	// First is how many messages at the very start of the path are kept besides, at most those of the first 64 entries. A round that is not whole among them is
	// not kept. Defaults to none.
	First int
	// ToolBoundary keeps the newest round, whatever was said after it, as long as a call of it has no result: the tool may
	// be running. It is for a summary that is made while the agent works. Without it a call without a result counts as
	// interrupted.
	ToolBoundary bool
	// SinceCompaction lets the cut lie only after the entry of the latest compaction: what that had kept is covered now.
	SinceCompaction bool
	// Limits by which rounds are cut when they are shown. Tokens are counted of what is left. If the window is not known (0),
	// nothing is cut.
	Limits Limits
}

// CutPoint is where a view is cut.
type CutPoint struct {
	// FirstKept is the id of the first entry that is kept: what a [Compaction] is told.
	FirstKept string
	// Units of the view, in order. The start of a turn that an earlier compaction cut is among them if the view shows it.
	Units []Unit
	// At is the index in Units at which the cut lies: those before it are covered.
	At int
	// Head is the first messages of the path, which are kept besides (see [Cut.First]).
	Head []chat.Message
	// Tokens and Messages are what is kept as it is shown, with the first message of the turn that is cut.
	Tokens, Messages int
	// Over reports whether what is kept takes more tokens than the rule allows.
	Over bool

	snapshot *snapshot
	limit    int      // tokens
	lower    Position // of the first entry that may be covered
	head     int      // how many of Units are in Head
	places   []int    // indexes in Units at which the rule may cut
}

// Covered returns the units that are covered from now on, and were not before. The start of the turn that is cut is among
// them although a view goes on to show it; units in Head are not.
func (p CutPoint) Covered() []Unit { return p.Units[min(p.head, p.At):p.At] }

// Kept returns the units that are kept.
func (p CutPoint) Kept() []Unit { return p.Units[p.At:] }

// TurnPrefix returns the end of Covered that belongs to the turn that the cut lies within. It is empty if the cut lies
// between two turns.
func (p CutPoint) TurnPrefix() []Unit {
	covered := p.Covered()
	if p.At >= len(p.Units) {
		return nil
	}
	from := len(covered)
	for from > 0 && covered[from-1].turn == p.Units[p.At].turn {
		from--
	}
	return covered[from:]
}

// Later returns the cut at the next place, which keeps less, and false if the newest round or message alone is kept.
func (p CutPoint) Later() (CutPoint, bool) {
	i := slices.Index(p.places, p.At) + 1
	if i == 0 || i >= len(p.places) {
		return CutPoint{}, false
	}
	return p.at(i), true
}

// at returns the cut at one of its places.
func (p CutPoint) at(place int) CutPoint {
	p.At = p.places[place]
	tail := tailOf(p.Units[p.At:]).plus(p.starter(p.At))
	p.Tokens, p.Messages = tail.tokens, tail.messages
	p.Over = p.limit > 0 && p.Tokens > p.limit
	nodes := p.snapshot.path.nodes
	cut := p.snapshot.path.indexAt(p.Units[p.At].at)
	for cut > 0 && nodes[cut-1].at >= p.lower && nodes[cut-1].kind.unsaid() {
		cut--
	}
	p.FirstKept = nodes[cut].id
	return p
}

// starter is what the first message of the turn takes that a cut at a unit splits, as a view shows it besides; nothing if
// the cut splits none.
func (p CutPoint) starter(i int) tail {
	if start := p.Units[i].start; start >= 0 && start < i {
		return tailOf(p.Units[start : start+1])
	}
	return tail{}
}

// tail is what units take as they are shown.
type tail struct{ tokens, messages, rounds int }

func (t tail) plus(o tail) tail {
	return tail{t.tokens + o.tokens, t.messages + o.messages, t.rounds + o.rounds}
}

func tailOf(units []Unit) (t tail) {
	for _, u := range units {
		t.tokens += u.Tokens
		t.messages += len(u.Messages)
		if !u.Start {
			t.rounds++
		}
	}
	return t
}

// ErrNoCut is the error of a rule that keeps everything, or finds no place to cut at.
var ErrNoCut = errors.New("history: there is no place to cut at that leaves something to cover")

// Find applies the rule to a view that a session made. The error is [ErrNoCut] if the rule keeps everything or there is no
// place to cut at, says which field is out of its range, or is that of reading the start of the path.
func (c Cut) Find(ctx context.Context, v View, s elements.Sizing) (CutPoint, error) {
	p, base, err := c.places(ctx, v, s)
	if err != nil {
		return CutPoint{}, err
	}
	at := len(p.places) - 1
	kept := tailOf(p.Units[p.places[at]:])
	over := p.limit > 0 && kept.plus(p.starter(p.places[at])).tokens > p.limit
	for !over && c.wantsMore(kept, p.limit) {
		older := base
		if at > 0 {
			older = p.places[at-1]
		}
		more := kept.plus(tailOf(p.Units[older:p.places[at]]))
		if p.limit > 0 && more.plus(p.starter(older)).tokens > p.limit {
			break
		}
		if at == 0 {
			return CutPoint{}, ErrNoCut // everything is kept
		}
		kept = more
		at--
	}
	return p.at(at), nil
}

// Earliest returns the cut at the first place that leaves something covered, which keeps most, whatever the limits of the
// rule. It is for a prompt that does not fit although the rule keeps everything. The errors are those of Find.
func (c Cut) Earliest(ctx context.Context, v View, s elements.Sizing) (CutPoint, error) {
	p, _, err := c.places(ctx, v, s)
	if err != nil {
		return CutPoint{}, err
	}
	return p.at(0), nil
}

// At returns the cut of a view at an entry that is to be the first that is kept, such as that of a [Plan]. Of the rule only
// First counts. The error is a [*BoundaryError] if the view does not reach back to that entry.
func (c Cut) At(ctx context.Context, v View, firstKept string, s elements.Sizing) (CutPoint, error) {
	p, _, err := c.places(ctx, v, s)
	if err != nil && !errors.Is(err, ErrNoCut) {
		return CutPoint{}, err
	}
	sn := p.snapshot
	missing := &BoundaryError{ID: firstKept, Reason: BoundaryMissing}
	at := sn.path.index(firstKept)
	if at < 0 {
		return CutPoint{}, missing
	}
	i := slices.IndexFunc(p.Units, func(u Unit) bool { return u.at >= max(sn.path.nodes[at].at, sn.boundary) })
	if i < 0 {
		return CutPoint{}, missing
	}
	p.places = []int{i}
	p = p.at(0)
	p.FirstKept = firstKept
	return p, nil
}

// wantsMore reports whether the rule would keep more than a tail that is within its limit.
func (c Cut) wantsMore(kept tail, limit int) bool {
	if c.Messages > 0 || c.Rounds > 0 {
		return kept.messages < c.Messages || kept.rounds < c.Rounds
	}
	return limit > 0
}

// places returns a cut point that lies nowhere yet, with the places at which a view may be cut, at least one, and the index
// of the first unit that may be covered.
func (c Cut) places(ctx context.Context, v View, s elements.Sizing) (p CutPoint, base int, err error) {
	limit, err := c.limit(s)
	if err != nil {
		return CutPoint{}, 0, err
	}
	sn := v.shown()
	if sn.reader == nil {
		return CutPoint{}, 0, errNoSessionsView
	}
	p = CutPoint{Units: sn.units(c.Limits, s), snapshot: sn, limit: limit, lower: sn.boundary}
	if c.SinceCompaction {
		p.lower = sn.after
	}
	head, end, err := sn.head(ctx, c.First, c.Limits, s)
	if err != nil {
		return CutPoint{}, 0, err
	}
	for _, u := range head {
		p.Head = append(p.Head, u.Messages...)
	}
	p.lower = max(p.lower, end)
	for p.head < len(p.Units) && p.Units[p.head].at < end {
		p.head++
	}

	base = len(p.Units)
	last := Position(-1) // of the last result of the units before
	running := c.running(p.Units)
	for i, u := range p.Units {
		if u.at < sn.boundary {
			continue
		}
		if u.at >= p.lower {
			base = min(base, i)
			behindStart := i > 0 && u.start == i-1
			if behindStart { // rule 7, unless the turn's start is no place itself
				behindStart = i-1 == base || len(p.places) > 0 && p.places[len(p.places)-1] == i-1
			}
			if i > base && last < u.at && !behindStart {
				p.places = append(p.places, i)
			}
		}
		if last = max(last, u.last); i == running {
			last = sn.path.last().at
		}
	}
	if len(p.places) == 0 {
		return p, 0, ErrNoCut
	}
	return p, base, nil
}

// running returns the index of the newest round if the rule keeps it because a call of it has no result, else -1.
func (c Cut) running(units []Unit) int {
	for i, u := range slices.Backward(units) {
		switch {
		case u.Start:
		case c.ToolBoundary && u.aborted:
			return i
		default:
			return -1
		}
	}
	return -1
}

// errNoSessionsView is the error of a cut of a view that no session made.
var errNoSessionsView = errors.New("history: the view to cut is of no session: take it from Session.View, ViewAt, ViewWith or ViewIn")

// limit is the most tokens that may be kept, 0 where there is none.
func (c Cut) limit(s elements.Sizing) (int, error) {
	switch {
	case c.Tokens < 0 || c.Messages < 0 || c.Rounds < 0 || c.First < 0:
		return 0, fmt.Errorf("history: Cut.Tokens is %d, Messages %d, Rounds %d, First %d: none may be below 0", c.Tokens, c.Messages, c.Rounds, c.First)
	case !(c.Share >= 0 && c.Share <= 1):
		return 0, fmt.Errorf("history: Cut.Share is %v: it is a share between 0 and 1", c.Share)
	case c.Share > 0 && s.PromptBudget <= 0:
		return 0, fmt.Errorf("history: Cut.Share is %v, and the window is not known: set Sizing.Window", c.Share)
	}
	limit := c.Tokens
	if c.Share > 0 {
		share := max(1, clamp.Share(c.Share, s.PromptBudget))
		if limit == 0 || share < limit {
			limit = share
		}
	}
	return limit, c.Limits.check()
}

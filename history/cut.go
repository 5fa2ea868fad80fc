package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/clamp"
)

// Cut is a rule that says where a view is cut in two: what is older is covered by a summary, what is newer is kept word
// for word. The zero value keeps the newest message or round and nothing else. Each field moves the cut further back,
// or limits it; they may be combined.
//
//	field            what it does
//	Tokens           keeps older entries as long as what is kept has at most so many tokens
//	Share            the same, for a part of the prompt's budget; the smaller of the two applies
//	Messages         keeps older entries until so many messages are kept; Tokens and Share come first
//	Rounds           the same, for rounds; if both are set, both numbers must be reached
//	First            keeps so many messages at the start of the path in addition
//	ToolBoundary     keeps the newest round while one of its calls has no result
//	SinceCompaction  keeps nothing from before the latest compaction
//	Limits           says how rounds are shown, and so how they are counted
//
// These hold for every rule:
//
//  1. Only what the view shows counts: what the latest compaction on the path covers is not covered again, and what was
//     cleared counts as its placeholder.
//  2. The cut is at an entry that the model sees: a user's message, a shell command, an assistant's message, a custom
//     message, a branch summary. It is never at a tool result or at an entry that says nothing to the model.
//  3. The cut is never between a call and its result, however late that came and whatever was said in between, and so
//     never within parallel calls.
//  4. What is kept is never empty. If the newest message or round alone exceeds a limit it is kept all the same, and
//     [CutPoint].Over is set.
//  5. What is covered is never empty: if a rule keeps everything the error is [ErrNoCut].
//  6. Entries that only the session knows (labels, model changes and the like) right before the cut go with what is
//     kept, back to something that was said or to a compaction.
//  7. A turn is not cut between its first message and the round after it, because a view shows the first message of a
//     turn that is cut in any case.
//
// The path itself is not read, except for its start if First is set.
type Cut struct {
	// Tokens is the maximum that is kept, counted as shown, with the first message of a turn that is cut. Older entries
	// are kept as long as they fit. 0 means no limit.
	Tokens int
	// Share is the fraction of the prompt's budget ([elements.Sizing].PromptBudget) that is kept at most, above 0 and
	// up to 1. If Tokens is set too, the smaller limit applies. 0 means no limit.
	Share float64
	// Messages is the number of newest messages that are enough: older ones are kept until that number is reached. Each
	// message that is sent counts, tool results too. A round is kept whole, so there may be more. Tokens and Share take
	// precedence, so there may be fewer. Off by default.
	Messages int
	// Rounds is the number of newest rounds that are enough, as Messages is for messages. If both are set, older
	// entries are kept until both numbers are reached. Off by default.
	Rounds int
	// First is the number of messages at the start of the path that are kept in addition, among the first 64 entries. A
	// round that is not complete among them is not kept. None by default.
	First int
	// ToolBoundary keeps the newest round, whatever was said after it, as long as one of its calls has no result,
	// because the tool may be running. It is meant for a summary that is made while the agent works. Without it, a call
	// without a result counts as interrupted. Off by default.
	ToolBoundary bool
	// SinceCompaction restricts the cut to entries after the latest compaction, so that what that one kept is covered
	// now. Off by default.
	SinceCompaction bool
	// Limits are those by which rounds are shown; tokens are counted of what they leave. If the budget is not known
	// (0), nothing is cut.
	Limits RoundLimits
}

// CutPoint is the result of a [Cut].
type CutPoint struct {
	// FirstKept is the id of the first entry that is kept, for [entry.Compaction].FirstKept.
	FirstKept string
	// Units of the view, in order. They include the start of a turn that an earlier compaction cut, if the view shows
	// it.
	Units []Unit
	// At is the index in Units of the cut: the units before it are covered.
	At int
	// Head holds the first messages of the path, which are kept in addition (see [Cut.First]).
	Head []chat.Message
	// Tokens and Messages are the size of what is kept, as shown, with the first message of the turn that is cut.
	Tokens, Messages int
	// Over reports whether what is kept takes more tokens than the rule allows.
	Over bool

	snapshot *snapshot
	limit    int              // in tokens
	lower    storage.Position // position of the first entry that may be covered
	head     int              // the number of Units in Head
	places   []int            // the indexes in Units at which the rule may cut; the first covers nothing
}

// Covered returns the units that this cut newly covers. They include the start of the turn that is cut, although a view
// still shows it, but not the units in Head.
func (p CutPoint) Covered() []Unit { return p.Units[min(p.head, p.At):p.At] }

// Kept returns the units that are kept.
func (p CutPoint) Kept() []Unit { return p.Units[p.At:] }

// TurnPrefix returns the last units of Covered that belong to the turn that is cut. It is empty if the cut is between
// two turns.
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

// Later returns the cut at the next place, which keeps less, and false if only the newest round or message is left.
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
	tail := tail{}.with(p.Units[p.At:]).with(p.starter(p.At))
	p.Tokens, p.Messages = tail.tokens, tail.messages
	p.Over = p.limit > 0 && p.Tokens > p.limit
	nodes := p.snapshot.path.Nodes
	cut := p.snapshot.path.IndexAt(p.Units[p.At].at)
	for cut > 0 && nodes[cut-1].At >= p.lower && nodes[cut-1].Kind.Unsaid() {
		cut--
	}
	p.FirstKept = nodes[cut].ID
	return p
}

// starter returns the first message of the turn that a cut at a unit splits, which a view shows in addition; nothing if
// the cut splits no turn.
func (p CutPoint) starter(i int) []Unit {
	if start := p.Units[i].start; start >= 0 && start < i {
		return p.Units[start : start+1]
	}
	return nil
}

// tail is the size of units as shown.
type tail struct{ tokens, messages, rounds int }

// with returns the size with more units.
func (t tail) with(units []Unit) tail {
	for _, u := range units {
		t.tokens += u.Tokens
		t.messages += len(u.Messages)
		if !u.Start {
			t.rounds++
		}
	}
	return t
}

// ErrNoCut is returned by a rule that keeps everything or finds no place to cut at.
var ErrNoCut = errors.New("history: there is no cut that covers anything")

// Find applies the rule to a view returned by a session. The error is [ErrNoCut] if the rule keeps everything or there
// is no place to cut at. It is another error if a field is out of its range or the start of the path cannot be read.
func (c Cut) Find(ctx context.Context, v View, s elements.Sizing) (CutPoint, error) {
	p, err := c.places(ctx, v, s)
	if err != nil {
		return CutPoint{}, err
	}
	at := len(p.places) - 1
	kept := tail{}.with(p.Units[p.places[at]:])
	over := p.limit > 0 && kept.with(p.starter(p.places[at])).tokens > p.limit
	for ; !over && c.wantsMore(kept, p.limit); at-- {
		older := p.places[at-1]
		more := kept.with(p.Units[older:p.places[at]])
		if p.limit > 0 && more.with(p.starter(older)).tokens > p.limit {
			break
		}
		if at == 1 {
			return CutPoint{}, ErrNoCut // everything is kept
		}
		kept = more
	}
	return p.at(at), nil
}

// Earliest returns the cut at the first place that leaves something covered, ignoring the limits of the rule. It keeps
// the most, and is meant for a prompt that does not fit although the rule keeps everything. The errors are those of
// Find.
func (c Cut) Earliest(ctx context.Context, v View, s elements.Sizing) (CutPoint, error) {
	p, err := c.places(ctx, v, s)
	if err != nil {
		return CutPoint{}, err
	}
	return p.at(1), nil
}

// At returns the cut of a view whose first kept entry is given, such as that of an [entry.Plan]. Of the rule's fields
// only First applies. The error is a [*entry.BoundaryError] if the view does not reach back to that entry.
func (c Cut) At(ctx context.Context, v View, firstKept string, s elements.Sizing) (CutPoint, error) {
	p, err := c.places(ctx, v, s)
	if err != nil && !errors.Is(err, ErrNoCut) {
		return CutPoint{}, err
	}
	sn := p.snapshot
	at := sn.path.Index(firstKept)
	i := slices.IndexFunc(p.Units, func(u Unit) bool { return at >= 0 && u.at >= max(sn.path.Nodes[at].At, sn.boundary) })
	if i < 0 {
		return CutPoint{}, &entry.BoundaryError{ID: firstKept, Reason: log.BoundaryMissing}
	}
	p.places = []int{i}
	p = p.at(0)
	p.FirstKept = firstKept
	return p, nil
}

// wantsMore reports whether the rule keeps more than a tail that is within its limit.
func (c Cut) wantsMore(kept tail, limit int) bool {
	if c.Messages > 0 || c.Rounds > 0 {
		return kept.messages < c.Messages || kept.rounds < c.Rounds
	}
	return limit > 0
}

// places returns a cut point without a cut, with the first unit that may be covered and the places at which the view may be
// cut, at least one.
func (c Cut) places(ctx context.Context, v View, s elements.Sizing) (p CutPoint, err error) {
	limit, err := c.limit(s)
	if err != nil {
		return CutPoint{}, err
	}
	sn := v.shown()
	if sn.reader == nil {
		return CutPoint{}, errors.New("history: the view was not made by a session: take it from Session.View, ViewAt, ViewWith or ViewIn")
	}
	p = CutPoint{Units: sn.units(c.Limits, s), snapshot: sn, limit: limit, lower: sn.boundary}
	if c.SinceCompaction {
		p.lower = sn.after
	}
	head, end, err := sn.head(ctx, c.First, c.Limits, s)
	if err != nil {
		return CutPoint{}, err
	}
	p.Head = UnitMessages(head)
	p.lower = max(p.lower, end)
	for p.head < len(p.Units) && p.Units[p.head].at < end {
		p.head++
	}

	last := storage.Position(-1) // the position of the last result in the units before
	running := c.running(p.Units)
	for i, u := range p.Units {
		if u.at < sn.boundary {
			continue
		}
		if u.at >= p.lower {
			first := len(p.places) == 0
			behindStart := !first && u.start == i-1 && p.places[len(p.places)-1] == i-1 // rule 7, if the start is a place
			if first || last < u.at && !behindStart && !u.lost {
				p.places = append(p.places, i)
			}
		}
		if last = max(last, u.last); i == running {
			last = sn.path.Last().At
		}
	}
	if len(p.places) < 2 {
		return p, ErrNoCut
	}
	return p, nil
}

// running returns the index of the newest round if the rule keeps it because one of its calls has no result, else -1.
func (c Cut) running(units []Unit) int {
	for i, u := range slices.Backward(units) {
		switch {
		case u.Start, u.lost:
		case c.ToolBoundary && u.aborted:
			return i
		default:
			return -1
		}
	}
	return -1
}

// limit returns the maximum number of tokens that may be kept, 0 if there is none.
func (c Cut) limit(s elements.Sizing) (int, error) {
	switch {
	case c.Tokens < 0 || c.Messages < 0 || c.Rounds < 0 || c.First < 0:
		return 0, fmt.Errorf("history: Cut.Tokens is %d, Messages %d, Rounds %d, First %d: none may be below 0", c.Tokens, c.Messages, c.Rounds, c.First)
	case !(c.Share >= 0 && c.Share <= 1):
		return 0, fmt.Errorf("history: Cut.Share is %v: it must be between 0 and 1", c.Share)
	case c.Share > 0 && s.PromptBudget <= 0:
		return 0, fmt.Errorf("history: Cut.Share is %v, and the budget is not known: set Sizing.PromptBudget", c.Share)
	}
	limit := c.Tokens
	if c.Share > 0 {
		share := max(1, clamp.Share(c.Share, s.PromptBudget))
		limit = min(cmp.Or(limit, share), share)
	}
	return limit, c.Limits.check()
}

package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/summarize/internal/failure"
)

// Journal reads and writes what a session says about compaction. No other code of the engine writes to a session. It is
// safe for concurrent use.
type Journal struct {
	Session *history.Session

	mu   sync.Mutex
	last *Ledger // the last that was read
}

// Read returns the ledger of the session as it is now.
func (j *Journal) Read(ctx context.Context) (*Ledger, error) {
	j.mu.Lock()
	known := j.last
	j.mu.Unlock()
	l, err := known.Read(ctx, j.Session)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = l
	return l, nil
}

// IsPending reports whether a plan has not ended, or the session cannot be read.
func (j *Journal) IsPending(ctx context.Context, plan string) bool {
	l, err := j.Read(ctx)
	return err != nil || l.Pending != nil && l.Pending.ID == plan
}

// Write appends entries, and returns the last of them as written: the session may have redacted it. The error is a
// [*entry.BoundaryError] if the entries that a compaction replaces are gone.
func (j *Journal) Write(ctx context.Context, bodies ...entry.Body) (entry.Entry, error) {
	if len(bodies) == 0 {
		return entry.Entry{}, nil
	}
	entries := make([]entry.Entry, len(bodies))
	for i, b := range bodies {
		entries[i].Body = b
	}
	added, err := j.Session.Add(ctx, entries...)
	if err == nil {
		return added[len(added)-1], nil
	}
	if !failure.BoundaryGone(err) {
		err = fmt.Errorf("%w: %w", failure.ErrUnwritten, err)
	}
	return entry.Entry{}, err
}

var errErased = errors.New("summarize: something was erased while the branch was summarised: navigate again")

// errRunnerGone ends a plan that nobody runs any more.
var errRunnerGone = errors.New("summarize: nobody runs the plan any more")

// Plan writes a plan, after the preamble that it names unless that is nil. It ends the plan gone, which may be nil. It
// returns the id of the plan's entry.
func (j *Journal) Plan(ctx context.Context, gone *Plan, preamble *entry.Preamble, plan entry.Plan) (id string, err error) {
	var bodies []entry.Body
	if gone != nil {
		bodies = append(bodies, entry.PlanEnd{Plan: gone.ID, Outcome: entry.PlanDropped, Error: errRunnerGone.Error(), ErrorType: "runner_gone"})
	}
	if preamble != nil {
		bodies = append(bodies, *preamble)
	}
	e, err := j.Write(ctx, append(bodies, plan)...)
	return e.ID, err
}

// End writes how a plan ended and what the models' refusals teach, even if the context has ended. A plan whose branch the
// session has left gets its end on the other branch. One that has ended already gets no second end.
func (j *Journal) End(ctx context.Context, end entry.PlanEnd, taught ...entry.Body) error {
	write, done := callback.Outlive(ctx)
	defer done()
	if end.Outcome != entry.PlanRetried && (j.IsPending(write, end.Plan) || j.onOtherBranch(write, end.Plan)) {
		taught = append(taught, end)
	}
	_, err := j.Write(write, taught...)
	return err
}

// Keep writes an answer for a part of a plan's summary, unless the session has left the plan's branch. The error is
// [failure.ErrPlanEnded] if the plan has ended.
func (j *Journal) Keep(ctx context.Context, plan string, a entry.SummaryAnswer) error {
	ctx, done := callback.Outlive(ctx)
	defer done()
	if !j.IsPending(ctx, plan) {
		if j.onOtherBranch(ctx, plan) {
			return nil
		}
		return failure.ErrPlanEnded
	}
	_, err := j.Write(ctx, entry.PlanEnd{Plan: plan, Outcome: entry.PlanRetried, Finished: []entry.SummaryAnswer{a}})
	return err
}

// onOtherBranch reports whether the session has left the branch of a plan.
func (j *Journal) onOtherBranch(ctx context.Context, id string) bool {
	common, err := j.Session.Ancestor(ctx, id, j.Session.Leaf())
	return err == nil && common != id
}

// Label writes the title of a compaction, unless something was erased since it was placed.
func (j *Journal) Label(ctx context.Context, title entry.Label) (bool, error) {
	if erased, err := j.erasedSince(ctx, title.Target); erased || err != nil {
		return false, err
	}
	_, err := j.Write(ctx, title)
	return err == nil, err
}

// erasedSince reports whether something was erased after an entry on the path.
func (j *Journal) erasedSince(ctx context.Context, id string) (bool, error) {
	for e, err := range j.Session.Back(ctx, "") {
		if err != nil || e.ID == id {
			return false, err
		}
		if e.Type() == entry.TypeErasure {
			return true, nil
		}
	}
	return false, nil
}

// Navigate makes the session go on from another entry, which the summary of the branch that is left follows, unless that
// is nil. The error is [errErased] if something was erased since the summary was begun.
func (j *Journal) Navigate(ctx context.Context, to string, summary *entry.BranchSummary) error {
	if summary != nil {
		if erased, err := j.erasedSince(ctx, summary.From); erased || err != nil {
			return cmp.Or(err, errErased)
		}
	}
	if err := j.Session.Branch(ctx, to); err != nil || summary == nil {
		return err
	}
	_, err := j.Write(ctx, *summary)
	return err
}

// Withdraw takes a failed answer out of the view: the session continues from the entry before it. Only entries that no
// model sees may follow the answer.
func (j *Journal) Withdraw(ctx context.Context, id string) error {
	for e, err := range j.Session.Back(ctx, "") {
		if err != nil {
			return err
		}
		if e.ID == id && e.Message().Role == chat.RoleAssistant {
			return j.Session.Branch(ctx, e.Parent)
		}
		if _, shown := e.Shown(); shown || e.ID == id || e.Type() == entry.TypeCompaction {
			break
		}
	}
	return fmt.Errorf("summarize: entry %q is not the last message, or not the assistant's: name the one that was appended for the failure", id)
}

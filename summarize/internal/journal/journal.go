package journal

import (
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

// add appends entries and returns the last of them as written: the session may have redacted it.
func (j *Journal) add(ctx context.Context, bodies ...entry.Body) (entry.Entry, error) {
	if len(bodies) == 0 {
		return entry.Entry{}, nil
	}
	entries := make([]entry.Entry, len(bodies))
	for i, b := range bodies {
		entries[i].Body = b
	}
	added, err := j.Session.Add(ctx, entries...)
	if err != nil {
		return entry.Entry{}, err
	}
	return added[len(added)-1], nil
}

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
	e, err := j.add(ctx, append(bodies, plan)...)
	if err != nil {
		return "", fmt.Errorf("%w: %w", failure.ErrUnwritten, err)
	}
	return e.ID, nil
}

// Unplanned writes that no plan could be made for a prompt of a model, of which a policy measured so many tokens. It starts
// a pause.
func (j *Journal) Unplanned(ctx context.Context, model string, used int, why error) error {
	_, err := j.add(ctx, entry.PlanEnd{Outcome: entry.PlanFailed, Error: why.Error(), ErrorType: failure.Type(why), Model: model, Used: used})
	return err
}

// End writes how a plan ended and what the models' refusals teach, even if the context has ended. A plan whose branch the
// session has left gets its end on the other branch. One that has ended already gets no second end.
func (j *Journal) End(ctx context.Context, end entry.PlanEnd, refusals []entry.Refusal) error {
	write, done := callback.Outlive(ctx)
	defer done()
	bodies := bodiesOf(refusals)
	says := end.Outcome != entry.PlanRetried || len(end.Finished) > 0
	if says && (j.IsPending(write, end.Plan) || j.onOtherBranch(write, end.Plan)) {
		bodies = append(bodies, end)
	}
	if _, err := j.add(write, bodies...); err != nil {
		return fmt.Errorf("%w: %w", failure.ErrUnwritten, err)
	}
	return nil
}

// Answered writes the answer to a request for a part of a plan's summary.
func (j *Journal) Answered(ctx context.Context, plan string, a entry.SummaryAnswer) error {
	return j.End(ctx, entry.PlanEnd{Plan: plan, Outcome: entry.PlanRetried, Finished: []entry.SummaryAnswer{a}}, nil)
}

// onOtherBranch reports whether the session has left the branch of a plan.
func (j *Journal) onOtherBranch(ctx context.Context, id string) bool {
	common, err := j.Session.Ancestor(ctx, id, j.Session.Leaf())
	return err == nil && common != id
}

// Compact writes a compaction, which ends its plan, what is cleared with it, and what the models' refusals teach. The
// error is a [*entry.BoundaryError] if the entries to replace are gone.
func (j *Journal) Compact(ctx context.Context, cleared entry.Clearing, c entry.Compaction, refusals []entry.Refusal) (entry.Entry, error) {
	bodies := bodiesOf(refusals)
	if len(cleared.Results)+len(cleared.Arguments) > 0 {
		bodies = append(bodies, cleared)
	}
	e, err := j.add(ctx, append(bodies, c)...)
	if err != nil && !failure.BoundaryGone(err) {
		err = fmt.Errorf("%w: %w", failure.ErrUnwritten, err)
	}
	return e, err
}

// Title labels a compaction with its title.
func (j *Journal) Title(ctx context.Context, compaction, title string) error {
	_, err := j.add(ctx, entry.Label{Target: compaction, Text: title})
	return err
}

// Clear writes a clearing of old tool output. It returns the id of its entry.
func (j *Journal) Clear(ctx context.Context, c entry.Clearing) (id string, err error) {
	e, err := j.add(ctx, c)
	if err != nil {
		return "", fmt.Errorf("%w: clearing old output: %w", failure.ErrUnwritten, err)
	}
	return e.ID, nil
}

// Refused writes a refusal of the agent's request.
func (j *Journal) Refused(ctx context.Context, r entry.Refusal) error {
	if _, err := j.add(ctx, r); err != nil {
		return fmt.Errorf("%w: %w", failure.ErrUnwritten, err)
	}
	return nil
}

// SwitchModel writes that another model answers from now on.
func (j *Journal) SwitchModel(ctx context.Context, name string) error {
	_, err := j.add(ctx, entry.ModelChange{Model: name})
	return err
}

// Continue writes a text in the user's place, with which the agent goes on.
func (j *Journal) Continue(ctx context.Context, text string) error {
	_, err := j.add(ctx, entry.CustomMessage{Name: "continue", Content: chat.Parts{chat.Text(text)}})
	return err
}

// Navigate makes the session go on from another entry, which the summary of the branch that is left follows, unless that
// is nil.
func (j *Journal) Navigate(ctx context.Context, to string, summary *entry.BranchSummary) error {
	if err := j.Session.Branch(ctx, to); err != nil || summary == nil {
		return err
	}
	_, err := j.add(ctx, *summary)
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

// bodiesOf returns refusals as bodies of entries.
func bodiesOf(refusals []entry.Refusal) []entry.Body {
	list := make([]entry.Body, len(refusals))
	for i, r := range refusals {
		list[i] = r
	}
	return list
}

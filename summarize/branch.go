package summarize

import (
	"context"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/trim"
)

// BranchPolicy says how a branch is summarised when the session leaves it ([Compactor.Navigate]).
type BranchPolicy struct {
	// On makes a summary of each branch that is left. Off by default.
	On bool
	// Reserve is how many tokens of the context window the messages of the branch must leave free, at most half of the
	// window. Defaults to 16,384.
	Reserve int
	// Prompt to ask a model with. Defaults to [BranchPrompt].
	Prompt Prompt
}

// Navigation says whether the branch that is left is summarised. The zero value leaves it to the policy.
type Navigation struct {
	// Summarise summarises the branch, whatever the policy says.
	Summarise bool
	// Instructions replace those of the prompt.
	Instructions string
}

// Navigate makes the session go on from another entry, as [history.Session.Branch] does. If the policy or the argument
// how says so, a hook or a model first summarises the branch that is left, and the summary follows that entry. A model
// sees the newest messages of the branch that fit; the files are those of the whole branch. Navigate returns the
// summary, nil if there is none.
//
// If the model fails, the context ends or [Compactor.Abort] is called, the session stays where it is.
func (c *Compactor) Navigate(ctx context.Context, to string, how Navigation) (*entry.BranchSummary, error) {
	w, err := c.begin(ctx, nil)
	if err != nil {
		return nil, err
	}
	ctx, done := c.inner.work.abortable(w.ctx)
	defer done()
	w.ctx = ctx
	if err := w.acquire(); err != nil {
		return nil, err
	}
	defer w.release()
	from := c.Session.Leaf()
	var intervention Intervention
	if c.Hooks.BeforeBranch != nil {
		intervention = hook(ctx, c.Hooks, c.emit, "BeforeBranch", func(ctx context.Context) (Intervention, error) { return c.Hooks.BeforeBranch(ctx, from, to) })
	}
	if intervention.Cancel {
		return nil, ErrVetoed
	}
	var summary *entry.BranchSummary
	switch {
	case !w.policy.Branch.On && !how.Summarise:
	case intervention.Summary != nil:
		summary = &entry.BranchSummary{From: from, Summary: *intervention.Summary}
		summary.Extension = true
		if summary.Text, err = suppliedText(intervention); err != nil {
			return nil, within("the summary of a hook", err)
		}
	default:
		if summary, err = w.summariseBranch(from, to, how.Instructions, intervention); err != nil && ctx.Err() == nil {
			return nil, within("the branch that is left", err)
		}
	}
	if ctx.Err() != nil {
		return nil, endCause(ctx, err)
	}
	if err := c.Session.Branch(ctx, to); err != nil {
		return nil, err
	}
	if summary != nil {
		if _, err := c.Session.Add(ctx, entry.Entry{Body: *summary}); err != nil {
			return nil, err
		}
	}
	if c.Checkpoints != nil && w.policy.Place.Checkpoints {
		_, err := call(context.WithoutCancel(ctx), "Checkpoints", c.Hooks.timeout(), func(ctx context.Context) (struct{}, error) {
			return struct{}{}, c.Checkpoints.Index(ctx, c.Session)
		})
		if err != nil { // the session is on the other branch in any case
			c.emit(ctx, Event{Kind: EventHookFailed, Hook: "Checkpoints", Err: within("writing the index of the checkpoints", err)})
		}
	}
	if c.Hooks.AfterBranch != nil {
		hook(ctx, c.Hooks, c.emit, "AfterBranch", noResult(func(ctx context.Context) error { return c.Hooks.AfterBranch(ctx, from, to, summary) }))
	}
	return summary, nil
}

// summariseBranch asks for a summary of the branch that is left, nil if the branch is empty.
func (w *walker) summariseBranch(from, to, instructions string, intervention Intervention) (*entry.BranchSummary, error) {
	c := w.c
	window, err := value(w.ctx, nameTokenizer, w.target.window)
	if err != nil {
		return nil, err
	}
	reserve := w.policy.Branch.Reserve
	if reserve == 0 {
		reserve = 16_384
	}
	reserve = min(reserve, window/2)
	messages, err := call(w.ctx, nameTokenizer, 0, func(ctx context.Context) ([]chat.Message, error) {
		return BranchMessages(c.Session.Abandoned(ctx, from, to), window-reserve, w.target.Tokenizer)
	})
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	l, err := c.read(w.ctx)
	if err != nil {
		return nil, err
	}
	room := max(minWords, min(reserve/2, w.policy.withDefaults().Place.Max))
	j := &job{
		id: "branch", policy: w.policy, target: w.target, meter: &meter{}, begun: time.Now(),
		plan: entry.Plan{Room: room, Words: room, Model: w.target.Name, Occasion: "branch"},
		material: Material{
			Covered: messages, Instructions: instructions, Context: intervention.Context, Tokenizer: w.target.Tokenizer, Room: room, Words: room,
			Tools: w.target.declared(c.toolsSent()), ResultTokens: w.policy.Ask.SimpleResult,
		},
	}
	if j.material.Files, err = w.policy.filesOf(w.ctx, c.Session.Abandoned(w.ctx, from, to)); err != nil {
		return nil, err
	}
	p := w.policy.Branch.Prompt
	if p.Request == nil {
		p = BranchPrompt()
	}
	candidates, err := c.carrier().candidates(w.ctx, w.target, w.policy, l)
	if err != nil {
		return nil, err
	}
	wr := &writer{job: j, session: c.Session, candidates: candidates, emit: func(kind EventKind, change func(*Event)) {
		e := Event{Kind: kind, Reason: "branch"}
		change(&e)
		c.emit(w.ctx, e)
	}}
	var reasons []error
	for _, candidate := range wr.candidates {
		answer, err := wr.ask(w.ctx, candidate, p, j.material)
		text := ""
		if err == nil {
			text, err = value(w.ctx, nameTokenizer, func() string {
				return trim.ToSection(plaintext.Untagged(answer), func(text string) bool { return counted(w.target.Tokenizer.CountText(text)) <= room })
			})
		}
		if err != nil {
			reasons = append(reasons, &CandidateError{Model: candidate.Name, Mode: p.Mode, Err: err})
			continue
		}
		text = WithFiles(text, j.material.Files)
		return &entry.BranchSummary{From: from, Summary: entry.Summary{Text: text, Files: j.material.Files, Data: intervention.Data}}, nil
	}
	return nil, &FailedError{Reasons: reasons}
}

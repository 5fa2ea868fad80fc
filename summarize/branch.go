package summarize

import (
	"context"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/trim"
)

// BranchPolicy says how what was done on a branch is summarised when the session leaves it ([Compactor.Navigate]).
type BranchPolicy struct {
	// On makes such summaries. Off by default.
	On bool
	// Reserve is how many tokens of the context window are not used for the branch. Defaults to 16,384. It is at most half
	// of the window.
	Reserve int
	// Prompt by which a model is asked. Defaults to [BranchPrompt].
	Prompt Prompt
}

// Navigation says what becomes of what is left behind. The zero value leaves it to the policy.
type Navigation struct {
	// Summarise has it summarised, whatever the policy says.
	Summarise bool
	// Instructions take the place of the prompt's own.
	Instructions string
}

// Navigate lets the session go on from another entry, as [history.Session.Branch] does. If the policy or the caller says so,
// what is left behind is summarised first, by a hook or a model, and the summary is what follows that entry. A model is shown
// the newest of what is left, as far as it fits; files are listed of all of it. It returns the summary, nil if there is none.
//
// If the model fails, the context ends or [Compactor.Abort] is called, the session stays where it is.
func (c *Compactor) Navigate(ctx context.Context, to string, how Navigation) (*history.BranchSummary, error) {
	w, err := c.begin(ctx, nil)
	if err != nil {
		return nil, err
	}
	ctx, done := c.inner.work.abortable(w.ctx)
	defer done()
	w.ctx = ctx
	if err := w.take(); err != nil {
		return nil, err
	}
	defer w.release()
	from := c.Session.Leaf()
	var hooked Intervention
	if c.Hooks.BeforeBranch != nil {
		hooked = hook(ctx, c.Hooks, c.tell, "BeforeBranch", func(ctx context.Context) (Intervention, error) { return c.Hooks.BeforeBranch(ctx, from, to) })
	}
	if hooked.Cancel {
		return nil, ErrVetoed
	}
	var summary *history.BranchSummary
	switch {
	case !w.policy.Branch.On && !how.Summarise:
	case hooked.Summary != nil:
		summary = &history.BranchSummary{From: from, Summary: *hooked.Summary}
		summary.Extension = true
		if summary.Text, err = supplied(hooked); err != nil {
			return nil, fmt.Errorf("summarize: the summary of a hook: %w", err)
		}
	default:
		if summary, err = w.summariseBranch(from, to, how.Instructions, hooked); err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("summarize: the branch that is left: %w", err)
		}
	}
	if ctx.Err() != nil {
		return nil, ended(ctx, err)
	}
	if err := c.Session.Branch(ctx, to); err != nil {
		return nil, err
	}
	if summary != nil {
		if _, err := c.Session.Add(ctx, history.Entry{Body: *summary}); err != nil {
			return nil, err
		}
	}
	if c.Checkpoints != nil && w.policy.Place.Checkpoints {
		_, err := call(context.WithoutCancel(ctx), "Checkpoints", c.Hooks.timeout(), func(ctx context.Context) (struct{}, error) {
			return struct{}{}, c.Checkpoints.Index(ctx, c.Session)
		})
		if err != nil { // the session is there all the same
			c.tell(ctx, Event{Kind: EventHookFailed, Hook: "Checkpoints", Err: fmt.Errorf("summarize: writing the index of the checkpoints: %w", err)})
		}
	}
	if c.Hooks.AfterBranch != nil {
		hook(ctx, c.Hooks, c.tell, "AfterBranch", none(func(ctx context.Context) error { return c.Hooks.AfterBranch(ctx, from, to, summary) }))
	}
	return summary, nil
}

// summariseBranch asks for a summary of what is left behind, nil if that is nothing.
func (w *walker) summariseBranch(from, to, instructions string, hooked Intervention) (*history.BranchSummary, error) {
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
		plan: history.Plan{Room: room, Words: room, Model: w.target.Name, Occasion: "branch"},
		material: Material{
			Covered: messages, Instructions: instructions, Context: hooked.Context, Tokenizer: w.target.Tokenizer, Room: room, Words: room,
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
	wr := &writer{job: j, candidates: candidates, tell: func(kind EventKind, change func(*Event)) {
		e := Event{Kind: kind, Reason: "branch"}
		change(&e)
		c.tell(w.ctx, e)
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
		return &history.BranchSummary{From: from, Summary: history.Summary{Text: text, Files: j.material.Files, Data: hooked.Data}}, nil
	}
	return nil, &FailedError{Reasons: reasons}
}

package write

import (
	"cmp"
	"context"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Branch is a branch that a session leaves, to be summarised.
type Branch struct {
	Session  *history.Session
	Ledger   *journal.Ledger
	Models   map[string]policy.Target
	Target   policy.Target
	Policy   policy.Policy   // with defaults
	From, To string          // the entries between which the session goes
	Material policy.Material // without the messages and files of the branch
	Emit     func(context.Context, event.Event)
}

// Summarise asks for a summary of the branch; nil means that the branch is empty. If there is no summary, the
// errors say why.
func (b Branch) Summarise(ctx context.Context) (*entry.Summary, []error) {
	failed := func(err error) (*entry.Summary, []error) { return nil, []error{err} }
	window, err := guard.Value(ctx, guard.NameTokenizer, func() int { return plan.ContextWindow(b.Target) })
	if err != nil {
		return failed(err)
	}
	left := b.Session.Abandoned(ctx, b.From, b.To)
	if b.To == "" { // a new conversation starts
		left = b.Session.PathTo(ctx, b.From)
	}
	reserve := min(cmp.Or(b.Policy.Branch.Reserve, 16_384), window/2)
	said := func(held []entry.Held) ([]chat.Message, error) {
		return guard.Call(ctx, guard.NameTokenizer, 0, func(context.Context) ([]chat.Message, error) {
			return prompts.BranchMessages(plan.LeaveOutOf(b.Session, left, held), window-reserve, b.Target.Tokenizer)
		})
	}
	messages, err := said(nil)
	if err != nil {
		return failed(err)
	}
	if len(messages) == 0 {
		return nil, nil
	}
	room := max(policy.MinWords, min(reserve/2, b.Policy.Replace.Max))
	j := &Attempt{
		ID: "branch", Policy: b.Policy, Target: b.Target, meter: &meter{}, begun: time.Now(), Material: b.Material,
		Plan: entry.Plan{Room: room, Words: room, Model: b.Target.Name, Occasion: "branch"},
	}
	m := &j.Material
	m.Covered, m.Tokenizer, m.Room, m.Words, m.ResultTokens = messages, b.Target.Tokenizer, room, room, b.Policy.Ask.SimpleResult
	if m.Files, err = filesOf(ctx, b.Policy, left); err != nil {
		return failed(err)
	}
	p := b.Policy.Branch.Prompt
	if p.Request == nil {
		p = prompts.BranchPrompt()
	}
	if b.Material.Instructions != "" { // they replace the prompt's own wording
		p.Asked = policy.AnswerForm{}
	}
	candidates, err := Candidates(ctx, b.Models, b.Target, b.Policy, b.Ledger, b.Emit)
	if err != nil {
		return failed(err)
	}
	w := &Writer{Attempt: j, Session: b.Session, Candidates: candidates, turn: newTurn(), Emit: func(kind event.Kind, change func(*event.Event)) {
		e := event.Event{Kind: kind, Reason: "branch"}
		change(&e)
		b.Emit(ctx, e)
	}}
	var reasons []error
	for _, candidate := range candidates {
		if m.Covered = messages; len(candidate.held) > 0 {
			if m.Covered, err = said(candidate.held); err != nil {
				return failed(err)
			}
		}
		answer, err := w.ask(ctx, candidate, Named(p), *m)
		text := ""
		if err == nil {
			text, err = guard.Value(ctx, guard.NameTokenizer, func() string { return cutTo(room, b.Target.Tokenizer, answer) })
		}
		if err != nil {
			reasons = append(reasons, &policy.CandidateError{Model: candidate.Name, Mode: p.Mode, Err: err})
			continue
		}
		return &entry.Summary{Text: text, Files: m.Files}, nil
	}
	return nil, reasons
}

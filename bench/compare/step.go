package main

import (
	"context"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// stepPlan renders a long conversation, adds the step of an agent, and renders it again.
func stepPlan() plan {
	return plan{
		name: "step", about: "an agent's step: a long conversation rendered, two rounds added, rendered again, in o200k_base",
		prepare: func(ctx context.Context, b *bench) (comparison, error) {
			const first, step, same = "first render", "two rounds later", "nothing new"
			a := agentStep{rounds: b.sizes.rounds, tokens: b.sizes.roundTokens}
			begun, err := a.begin(ctx)
			if err != nil {
				return comparison{}, err
			}
			view, err := begun.session.View(ctx)
			if err != nil {
				return comparison{}, err
			}
			c := comparison{
				notes: []string{fmt.Sprintf("%d rounds in %d turns, %d tokens; the memo is empty at the first render only",
					a.rounds, len(view.Turns), begun.tokens)},
				contestants: []contestant{
					{name: first, lap: afresh(a.unrendered, rendered)},
					{name: step, lap: afresh(a.stepped, rendered)},
					{name: same, lap: repeated(func() error { return rendered(ctx, begun) })},
				},
			}
			c.targets = []target{within(step, 0.1, first)}
			return c, nil
		},
	}
}

// agentStep makes conversations with a number of rounds, each of about a number of tokens.
type agentStep struct{ rounds, tokens int }

// roundsInTurn is the number of rounds that answer a user's message.
const roundsInTurn = 20

// running is an agent between two steps.
type running struct {
	session   *history.Session
	tokenizer *tiktoken.Counter
	tokens    int // of the last render
}

// unrendered returns a new conversation.
func (a agentStep) unrendered(context.Context) (*running, error) {
	r := &running{session: numbered.Session(), tokenizer: tiktoken.O200k()}
	return r, a.add(context.Background(), r.session, 0, a.rounds)
}

// begin returns a conversation that was rendered once.
func (a agentStep) begin(ctx context.Context) (*running, error) {
	r, err := a.unrendered(ctx)
	if err != nil {
		return nil, err
	}
	return r, rendered(ctx, r)
}

// stepped returns a conversation that was rendered once before its last two rounds.
func (a agentStep) stepped(ctx context.Context) (*running, error) {
	r, err := a.begin(ctx)
	if err != nil {
		return nil, err
	}
	return r, a.add(ctx, r.session, a.rounds, a.rounds+2)
}

// add appends rounds to a session, with a user's message before the first of each turn.
func (a agentStep) add(ctx context.Context, s *history.Session, from, to int) error {
	var messages []chat.Message
	for i := from; i < to; i++ {
		// The last turn continues.
		if i%roundsInTurn == 0 && (i < a.rounds || i == 0) {
			messages = append(messages, chat.UserMessage(words(i, 20)))
		}
		id := fmt.Sprintf("call_%d", i)
		messages = append(messages,
			chat.Message{
				Role: chat.RoleAssistant, Content: chat.Parts{chat.Text(words(i, 15))},
				ToolCalls: []chat.ToolCall{{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":"src/file%d.go"}`, i)}},
			},
			chat.ToolResult(id, words(i, max(1, a.tokens-55))))
	}
	return s.Append(ctx, messages...)
}

// rendered renders the whole conversation.
func rendered(ctx context.Context, r *running) error {
	prompt := elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.All{Session: r.session},
	}
	result, err := render.Render(ctx, prompt, render.Options{Budget: unlimited, Tokenizer: r.tokenizer})
	if err == nil {
		r.tokens = result.Tokens
	}
	return err
}

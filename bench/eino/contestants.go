package main

import (
	"context"
	"maps"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/adk/middlewares/summarization"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/einoagent"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

const (
	instruction = "You are a coding agent."
	// share is the fraction of the window at which eino's middlewares act, as in its defaults for 200,000 tokens.
	share = 0.8
	// answer is the fraction of the window kept free for an answer.
	answer = 0.1
	// userMessages is the section in which summarization puts the user's messages.
	userMessages = "\n<all_user_messages>\n</all_user_messages>\n"
)

// contestant is a way to keep a conversation within a window.
type contestant struct {
	name string
	// handlers returns the middlewares of the agent in their order, and a function that releases them.
	handlers func(ctx context.Context, t *tally, window int) ([]adk.ChatModelAgentMiddleware, func(), error)
	// remembers is set if the application passes only new messages.
	remembers bool
}

func contestants(window int) []contestant {
	list := []contestant{
		{name: "eino, nothing", handlers: einos()},
		{name: "eino, reduction", handlers: einos(reductionOf)},
		{name: "eino, summarization", handlers: einos(summarizationOf)},
		{name: "eino, both", handlers: einos(reductionOf, summarizationOf)},
	}
	all := policies.All()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, contestant{name: "promptree, " + name, handlers: ours(all[name]), remembers: true})
	}
	return list
}

type maker func(ctx context.Context, t *tally, window int) (adk.ChatModelAgentMiddleware, error)

// einos returns the handlers of a contestant with eino's own middlewares.
func einos(makers ...maker) func(context.Context, *tally, int) ([]adk.ChatModelAgentMiddleware, func(), error) {
	return func(ctx context.Context, t *tally, window int) (list []adk.ChatModelAgentMiddleware, done func(), err error) {
		for _, make := range makers {
			m, err := make(ctx, t, window)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, m)
		}
		return list, func() {}, nil
	}
}

func reductionOf(ctx context.Context, t *tally, window int) (adk.ChatModelAgentMiddleware, error) {
	return reduction.New(ctx, &reduction.Config{
		SkipTruncation: true, MaxTokensForClear: int64(share * float64(window)),
		TokenCounter: func(_ context.Context, messages []*schema.Message, _ []*schema.ToolInfo) (int64, error) {
			n, err := t.size(messages)
			return int64(n), err
		},
	})
}

func summarizationOf(ctx context.Context, t *tally, window int) (adk.ChatModelAgentMiddleware, error) {
	return summarization.New(ctx, &summarization.Config{
		Model: summariser{t, userMessages}, ModelOptions: []model.Option{model.WithMaxTokens(10_000)},
		Trigger: &summarization.TriggerCondition{ContextTokens: int(share * float64(window))},
		TokenCounter: func(_ context.Context, in *summarization.TokenCounterInput) (int, error) {
			return t.size(in.Messages)
		},
	})
}

// size returns the tokens of messages.
func (t *tally) size(messages []*schema.Message) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, _, _, err := t.count(messages)
	return n, err
}

// waiting waits for summaries in the background before each request, as if their model took no time.
type waiting struct {
	*adk.BaseChatModelAgentMiddleware
	compactor *summarize.Compactor
}

func (w waiting) BeforeModelRewriteState(ctx context.Context, s *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	return ctx, s, w.compactor.Wait(ctx)
}

// ours returns the handlers of a contestant with a policy of promptree.
func ours(p policy.Policy) func(context.Context, *tally, int) ([]adk.ChatModelAgentMiddleware, func(), error) {
	return func(_ context.Context, t *tally, window int) ([]adk.ChatModelAgentMiddleware, func(), error) {
		c := &summarize.Compactor{
			Session: &history.Session{}, Policy: p,
			Target: policy.Target{
				Model: einoagent.Model(summariser{tally: t}), Name: "recorded", Tokenizer: t.tokenizer,
				Budget: int((1 - answer) * float64(window)), ContextWindow: window,
			},
		}
		m, err := einoagent.New(einoagent.Options{Compactor: c})
		return []adk.ChatModelAgentMiddleware{waiting{&adk.BaseChatModelAgentMiddleware{}, c}, m}, func() { _ = c.Close() }, err
	}
}

// run lets the contestant's agent answer all turns.
func (c contestant) run(ctx context.Context, turns []turn, window int) (*tally, error) {
	t, err := newTally(window)
	if err != nil {
		return nil, err
	}
	handlers, done, err := c.handlers(ctx, t, window)
	if err != nil {
		return nil, err
	}
	defer done()
	kept := &keeper{BaseChatModelAgentMiddleware: &adk.BaseChatModelAgentMiddleware{}}
	p := &player{tally: t}
	config := &adk.ChatModelAgentConfig{
		Name: "recorded", Instruction: instruction, Model: p, MaxIterations: 10_000, Handlers: append(handlers, kept),
	}
	config.ToolsConfig.Tools = tools(turns, p)
	agent, err := adk.NewChatModelAgent(ctx, config)
	if err != nil {
		return nil, err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for _, turn := range turns {
		p.turn, p.next = turn, 0
		t.says(turn.user)
		input := []*schema.Message{schema.UserMessage(turn.user)}
		if !c.remembers {
			input = append(slices.Clone(kept.messages), input...)
		}
		for events := runner.Run(ctx, input); ; {
			event, ok := events.Next()
			if !ok {
				break
			}
			if event.Err != nil {
				return nil, event.Err
			}
		}
	}
	return t, nil
}

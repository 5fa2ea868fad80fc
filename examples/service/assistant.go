package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// assistant is shared by all conversations: the model, the budget of its prompts, and the policy of compaction.
type assistant struct {
	target summarize.Target
	models map[string]summarize.Target // for summaries
	policy policy.Policy
	answer int // maximum tokens of an answer
	log    *slog.Logger
}

const instructions = `You are the assistant of a chat. Answer in a few sentences. Where you need something word for word that is not shown
any more, look it up.`

// tools are the agent's only tools. The step of the agent answers their calls.
var tools = recall.Tools{}.Declared()

// digests is the name of the model that writes summaries.
const digests = "digests"

// newAssistant returns the assistant. Change it to use another model or policy.
func newAssistant(o options, log *slog.Logger) (*assistant, error) {
	tokenizer := sizing.Estimator{}
	a := &assistant{policy: copilotchat.Policy(), answer: min(1024, o.window/8), log: log}
	a.policy.Ask.Timeout = o.compaction / 2 // a plan is given up after twice the time of a request
	a.policy.Ask.Names = []string{digests}
	a.models = map[string]summarize.Target{digests: {Model: waiting{models.Offline{Tokenizer: tokenizer}, o.think}}}
	a.target = summarize.Target{Model: waiting{offline{}, o.think}, Name: "offline", Tokenizer: tokenizer, Tools: tools}
	var err error
	if a.target.Budget, err = (sizing.Window{Tokens: o.window, Answer: a.answer}).Budget(tokenizer.CountTools(tools)); err != nil {
		return nil, fmt.Errorf("-window: %w", err)
	}
	return a, nil
}

// conversation is an open session with its compactor.
type conversation struct {
	session   *history.Session
	compactor *summarize.Compactor
	prompt    elements.Node
	out       *stream // of the request in progress, nil if none streams
}

func (a *assistant) conversation(s *history.Session) *conversation {
	c := &conversation{session: s, prompt: el.Prompt(el.System(el.Text(instructions)), history.All{Session: s})}
	c.compactor = &summarize.Compactor{Session: s, Target: a.target, Policy: a.policy, Models: a.models, Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
		switch e.Kind {
		case event.Started, event.Done, event.Failed:
			a.log.Info("compaction", "kind", e.Kind, "reason", e.Reason, "before", e.TokensBefore, "after", e.TokensAfter, "err", e.Err)
			if c.out != nil {
				c.out.send("compaction", map[string]any{"kind": e.Kind, "reason": e.Reason, "tokensBefore": e.TokensBefore, "tokensAfter": e.TokensAfter})
			}
		}
	})}}
	return c
}

func (c *conversation) close() error { return errors.Join(c.compactor.Close(), c.session.Close()) }

// Limits of the answer to one message, and of what clients see of a tool's result.
const (
	maxRounds = 20
	maxShown  = 500 // bytes
)

// answer has the agent go on until it has answered.
func (c *conversation) answer(ctx context.Context, maxTokens int) error {
	last := ""
	worker := &agent.Agent{
		Compactor: c.compactor, Prompt: c.prompt, MaxTokens: maxTokens, Limits: agent.Limits{Steps: maxRounds},
		Tools: []chat.Toolbox{recall.Tools{}}, // add functions of your own here, made by agent.Tool
		Stream: func(d chat.Delta) {
			if text, ok := d.(chat.Text); ok && text != "" {
				c.out.send("text", map[string]string{"text": string(text)})
			}
		},
		OnStep: func(_ context.Context, answer agent.Answer) error {
			last = answer.Entry
			calls := answer.Message().ToolCalls
			c.out.send("answer", map[string]any{
				"entry": answer.Entry, "text": answer.Message().Text(), "calls": calls, "done": len(calls) == 0 && !answer.GoOn,
				"tokens": answer.Result.Tokens, "budget": answer.Result.Budget,
			})
			for _, e := range answer.Results {
				c.out.send("result", map[string]string{"entry": e.ID, "text": clip(e.Message().Text(), maxShown)})
			}
			return nil
		},
	}
	answer, err := worker.Run(ctx, "")
	if _, long := errors.AsType[*agent.LimitError](err); long {
		return errLong
	}
	if answer.Entry != "" && answer.Entry != last && len(answer.Message().ToolCalls) == 0 {
		return worker.OnStep(ctx, answer) // the answer is stored, even if the policy's work after the turn failed
	}
	return err
}

// clip returns the beginning of a text.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// offline is a model that needs no network. If the user mentions the transcript, it looks up the numbers in it first.
type offline struct{}

// Generate answers.
func (m offline) Generate(_ context.Context, req chat.Request) (chat.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	answer := chat.AssistantMessage("You said, and that is all that I know, offline: " + clip(last.Text(), 200))
	if last.Role != chat.RoleTool && strings.Contains(last.Text(), "transcript") {
		answer = chat.AssistantMessage("Let me look it up.")
		answer.ToolCalls = []chat.ToolCall{{Name: history.SearchTool, Arguments: `{"pattern": "[0-9]+"}`}}
	}
	for piece := range strings.SplitAfterSeq(answer.Text(), ", ") {
		req.Stream(chat.Text(piece))
	}
	return chat.Response{Message: chat.WithCallIDs(answer)}, nil
}

// waiting is a model that takes its time.
type waiting struct {
	chat.Model
	think time.Duration
}

// Generate waits, and then answers as the model does.
func (m waiting) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	select {
	case <-ctx.Done():
		return chat.Response{}, context.Cause(ctx)
	case <-time.After(m.think):
		return m.Model.Generate(ctx, req)
	}
}

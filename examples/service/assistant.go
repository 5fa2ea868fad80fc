package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// assistant is shared by all conversations: the model, the budget of its prompts, and the policy of compaction. To use
// another model, change newAssistant.
type assistant struct {
	target       policy.Target
	policy       policy.Policy
	answer       int // maximum tokens of an answer
	onCompaction func(compaction)
}

// minWindow is the smallest context window, in tokens, with enough for the instructions, a message, an answer and a
// summary.
const minWindow = 1000

const instructions = `You are the assistant of a chat. Answer in a few sentences. Where you need something word for word that is not shown
any more, read it in the transcript of this conversation with the tool ` + transcriptTool + `.`

func newAssistant(o options) (*assistant, error) {
	tokenizer := sizing.Estimator{}
	a := &assistant{policy: o.policy, answer: min(1024, o.window/8)}
	a.policy.Ask.TimeLimit = o.compaction
	a.policy.Ask.Timeout = min(a.policy.Ask.Timeout, o.compaction)
	a.target = policy.Target{ // the default ContextWindow is the budget with the tools, so policies plan with no more than a prompt has
		Model: &offline{tokenizer: tokenizer, think: o.think}, Name: "offline", Tokenizer: tokenizer, Tools: []chat.Tool{transcriptDefinition},
	}
	var err error
	window := sizing.Window{Tokens: o.window, Answer: a.answer}
	if a.target.Budget, err = window.Budget(tokenizer.CountTools(a.target.Tools)); err != nil {
		return nil, &usageError{fmt.Errorf("-window: %w", err)}
	}
	return a, nil
}

// fits reports whether a user's message leaves enough of the budget for the rest of a prompt: it may take half.
func (a *assistant) fits(m chat.Message) bool {
	return a.target.Tokenizer.CountMessage(m) <= a.target.Budget/2
}

// prompt returns the model's prompt for a session.
func (a *assistant) prompt(s *history.Session) elements.Node {
	return el.Prompt(
		el.System(el.Text(instructions)),
		history.Conversation{Session: s, Props: el.Props(el.Priority(700), el.Grow(1))},
		history.TurnStart{Session: s, Props: el.Props(el.Priority(900), el.Grow(2))},
		history.TurnRounds{Session: s, Props: el.Props(el.Priority(899), el.Grow(2))},
	)
}

// compactor returns the compactor of a session. It reports compactions to a.onCompaction and to listen.
func (a *assistant) compactor(s *history.Session, listen func(compaction)) *summarize.Compactor {
	return &summarize.Compactor{Session: s, Target: a.target, Policy: a.policy, Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
		if told, ok := compactionOf(e); ok {
			a.onCompaction(told)
			listen(told)
		}
	})}}
}

// conversation is an open session with its compactor.
type conversation struct {
	session   *history.Session
	compactor *summarize.Compactor
	prompt    elements.Node
	read      func(ctx context.Context, from int) lines // the lines of the transcript

	mu     sync.Mutex
	listen func(compaction) // of the request in progress, nil if there is none
}

func (a *assistant) conversation(s *history.Session, read func(context.Context, int) lines) *conversation {
	c := &conversation{session: s, prompt: a.prompt(s), read: read}
	c.compactor = a.compactor(s, c.report)
	return c
}

// report reports a compaction to the request in progress.
func (c *conversation) report(told compaction) {
	c.mu.Lock()
	listen := c.listen
	c.mu.Unlock()
	if listen != nil {
		listen(told)
	}
}

// listening reports compactions to a function until stop is called.
func (c *conversation) listening(f func(compaction)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listen = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listen = nil
	}
}

func (c *conversation) close() error {
	return errors.Join(c.compactor.Close(), c.session.Close())
}

// compaction is the part of an event that clients, logs and metrics see. It holds no content of the conversation.
type compaction struct {
	Kind         event.Kind      `json:"kind"`
	Reason       policy.Occasion `json:"reason"`
	TokensBefore int             `json:"tokensBefore"`
	TokensAfter  int             `json:"tokensAfter"`
	Mode         policy.Mode     `json:"mode"`
	Policy       string          `json:"policy"`
	entry        string
	plan         string
	err          error
}

// compactionOf returns the public part of an event, and false for events that concern a single request or prompt.
func compactionOf(e event.Event) (compaction, bool) {
	switch e.Kind {
	case event.Answered, event.Refused, event.Retrying, event.Titled, event.Usage:
		return compaction{}, false
	}
	return compaction{e.Kind, e.Reason, e.TokensBefore, e.TokensAfter, e.Mode, e.Policy, e.Entry, e.Plan, e.Err}, true
}

func (c compaction) log(log *slog.Logger) {
	attrs := []any{"kind", c.Kind, "reason", c.Reason, "before", c.TokensBefore, "plan", c.plan}
	if c.TokensAfter > 0 { // a worker has no prompt to measure
		attrs = append(attrs, "after", c.TokensAfter)
	}
	if c.err != nil {
		log.Warn("compaction", append(attrs, "err", c.err.Error())...)
		return
	}
	log.Info("compaction", attrs...)
}

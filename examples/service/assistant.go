package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
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
	policy policy.Policy
	answer int // maximum tokens of an answer
	log    *slog.Logger
}

const instructions = `You are the assistant of a chat. Answer in a few sentences. Where you need something word for word that is not shown
any more, read it in the transcript of this conversation with the tool ` + transcriptTool + `.`

// transcriptTool is the agent's only tool. The breadcrumb beside a summary names it.
const transcriptTool = "read_transcript"

var tools = []chat.Tool{{
	Name: transcriptTool, Description: "Read lines of the transcript of this conversation: everything that was said, word for word.",
	Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string","description":"the transcript's name, which may be left out"},` +
		`"from":{"type":"integer","description":"first line, from 1"},"to":{"type":"integer","description":"last line"}},"required":["from","to"]}`),
}}

// newAssistant returns the assistant. Change it to use another model or policy.
func newAssistant(o options, log *slog.Logger) (*assistant, error) {
	tokenizer := sizing.Estimator{}
	a := &assistant{policy: copilotchat.Policy(), answer: min(1024, o.window/8), log: log}
	a.policy.Ask.TimeLimit = o.compaction
	a.policy.Ask.Timeout = min(a.policy.Ask.Timeout, o.compaction)
	a.target = summarize.Target{Model: offline{tokenizer, o.think}, Name: "offline", Tokenizer: tokenizer, Tools: tools}
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
	c := &conversation{session: s}
	c.prompt = el.Prompt(
		el.System(el.Text(instructions)),
		history.Conversation{Session: s, Props: el.Props(el.Priority(700), el.Grow(1))},
		history.TurnStart{Session: s, Props: el.Props(el.Priority(900), el.Grow(2))},
		history.TurnRounds{Session: s, Props: el.Props(el.Priority(899), el.Grow(2))},
	)
	c.compactor = &summarize.Compactor{Session: s, Target: a.target, Policy: a.policy, Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
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

// Limits of the answer to one message, and of a tool's result.
const (
	maxRounds = 20
	maxLines  = 50
	maxResult = 4000 // bytes
)

// newest returns the newest message on the path to the leaf, the zero value if there is none.
func (c *conversation) newest(ctx context.Context) (entry.Entry, error) {
	for e, err := range c.session.Back(ctx, "") {
		if err != nil || e.Type() == entry.TypeMessage {
			return e, err
		}
	}
	return entry.Entry{}, nil
}

// answer asks the model until it calls no more tools.
func (c *conversation) answer(ctx context.Context, maxTokens int) error {
	if err := c.finishRound(ctx); err != nil {
		return err
	}
	steps := &agent.Agent{
		Compactor: c.compactor, Prompt: c.prompt, MaxTokens: maxTokens,
		Stream: func(d chat.Delta) {
			if text, ok := d.(chat.Text); ok && text != "" {
				c.out.send("text", map[string]string{"text": string(text)})
			}
		},
		OnRetry: func(error, time.Duration) { c.out.send("retry", struct{}{}) },
	}
	for range maxRounds {
		answer, err := steps.Step(ctx)
		if answer.Entry == "" {
			return err
		}
		calls := answer.Message().ToolCalls
		done := len(calls) == 0 && !answer.GoOn
		c.out.send("answer", map[string]any{
			"entry": answer.Entry, "text": answer.Message().Text(), "calls": calls, "done": done,
			"tokens": answer.Result.Tokens, "budget": answer.Result.Budget,
		})
		if done {
			return nil // the answer is stored, even if the policy's work after the turn failed
		}
		if err == nil {
			err = c.run(ctx, calls)
		}
		if err != nil {
			return err
		}
	}
	return errLong
}

// finishRound runs the calls of the newest message that have no result, for example after a crash between an answer and
// its results.
func (c *conversation) finishRound(ctx context.Context) error {
	answered := map[string]bool{}
	for e, err := range c.session.Back(ctx, "") {
		if err != nil {
			return err
		}
		switch m := e.Message(); {
		case e.Type() != entry.TypeMessage:
		case m.Role == chat.RoleTool:
			answered[m.ToolCallID] = true
		default:
			open := slices.DeleteFunc(slices.Clone(m.ToolCalls), func(call chat.ToolCall) bool { return answered[call.ID] })
			return c.run(ctx, open)
		}
	}
	return nil
}

// run runs calls and stores their results. A mistake of the model becomes the result, so that the model sees it.
func (c *conversation) run(ctx context.Context, calls []chat.ToolCall) error {
	for _, call := range calls {
		result, err := c.lookUp(ctx, call)
		if err != nil {
			return err
		}
		added, err := c.session.Add(ctx, entry.Entry{Body: entry.Message{Message: result}})
		if err != nil {
			return err
		}
		c.out.send("result", map[string]string{"entry": added[0].ID, "text": clip(result.Text(), maxResult/8)})
	}
	return nil
}

// lookUp returns lines of the transcript. Line 1 is the session's header.
func (c *conversation) lookUp(ctx context.Context, call chat.ToolCall) (chat.Message, error) {
	var args struct{ From, To int }
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil || call.Name != transcriptTool {
		result := chat.ToolResult(call.ID, "call "+transcriptTool+` with {"from": 1, "to": 10}, for example`)
		result.IsError = true
		return result, nil
	}
	var b strings.Builder
	n := 1
	for e, err := range c.session.Entries(ctx) {
		if err != nil {
			return chat.Message{}, err
		}
		if n++; n < args.From {
			continue
		}
		if n > args.To || n-max(args.From, 1) >= maxLines || b.Len() > maxResult {
			break
		}
		if m, ok := e.Body.(entry.Message); ok {
			fmt.Fprintf(&b, "%d %s: %s %v\n", n, m.Role, clip(m.Text(), maxResult/2), m.ToolCalls)
		}
	}
	return chat.ToolResult(call.ID, cmp.Or(b.String(), "nothing was said in these lines")), nil
}

// clip returns the beginning of a text.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// offline is a model that needs no network. If the user mentions the transcript, it reads the transcript first.
type offline struct {
	tokenizer chat.Tokenizer
	think     time.Duration // for an answer or a summary
}

// Generate answers. A request without Stream is one for a summary.
func (m offline) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	select {
	case <-ctx.Done():
		return chat.Response{}, context.Cause(ctx)
	case <-time.After(m.think):
	}
	if req.Stream == nil {
		return models.Offline{Tokenizer: m.tokenizer}.Generate(ctx, req)
	}
	last := req.Messages[len(req.Messages)-1]
	answer := chat.AssistantMessage("You said, and that is all that I know, offline: " + clip(last.Text(), 200))
	if last.Role != chat.RoleTool && strings.Contains(last.Text(), "transcript") {
		answer = chat.AssistantMessage("Let me look it up.")
		answer.ToolCalls = []chat.ToolCall{{Name: transcriptTool, Arguments: `{"from": 1, "to": 10}`}}
	}
	for piece := range strings.SplitAfterSeq(answer.Text(), ", ") {
		req.Stream(chat.Text(piece))
	}
	return chat.Response{Message: chat.WithCallIDs(answer)}, nil
}

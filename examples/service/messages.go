package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize/agent"
)

// Limits of the answer to one message.
const (
	maxRounds     = 20
	maxAnswerTime = 10 * time.Minute
)

var (
	errLong   = errors.New("the answer took too long")
	errRounds = errors.New("the model did not finish its answer in the allowed number of requests")
)

// say appends a message to a session and streams the answer.
func (s *service) say(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string) error {
	var in struct {
		Text  string  `json:"text"`
		After *string `json:"after"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	said := chat.UserMessage(in.Text)
	if strings.TrimSpace(in.Text) == "" {
		return bad("text is empty")
	}
	if !s.assistant.fits(said) {
		return &problem{status: http.StatusRequestEntityTooLarge, Type: "message_too_large", Message: "the text takes more than half of the model's prompt"}
	}
	return s.converse(ctx, w, r, tenant, func(ctx context.Context, id sessionID, c *conversation) (func(*stream), error) {
		size, err := s.store.bytes(ctx, id)
		if err != nil {
			return nil, err
		}
		if size >= s.maxSession {
			return nil, &problem{status: http.StatusRequestEntityTooLarge, Type: "session_too_large", Message: "the session is full: create another one"}
		}
		if in.After != nil {
			newest, err := c.newest(ctx)
			if err != nil {
				return nil, err
			}
			if newest.ID != *in.After {
				return nil, &problem{status: http.StatusConflict, Type: "conflict", Message: "after is not the newest message: read the session"}
			}
		}
		added, err := c.session.Add(ctx, entry.Entry{Body: entry.Message{Message: said}})
		if err != nil {
			return nil, err
		}
		return func(out *stream) { out.send("said", map[string]string{"entry": added[0].ID}) }, nil
	})
}

// answer answers the last message, for example after a crash between a message and its answer.
func (s *service) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string) error {
	if err := read(r, &struct{}{}); err != nil {
		return err
	}
	return s.converse(ctx, w, r, tenant, func(ctx context.Context, _ sessionID, c *conversation) (func(*stream), error) {
		newest, err := c.newest(ctx)
		if err != nil {
			return nil, err
		}
		if m := newest.Message(); newest.ID == "" || m.Role == chat.RoleAssistant && len(m.ToolCalls) == 0 {
			return nil, &problem{status: http.StatusConflict, Type: "nothing_to_answer", Message: "the last message already has an answer"}
		}
		return func(*stream) {}, nil
	})
}

// converse waits for the session, calls begin, and streams the answer. An error before the first event becomes the
// status of the response.
func (s *service) converse(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string,
	begin func(context.Context, sessionID, *conversation) (func(*stream), error),
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	id, c, release, err := s.takeStep(ctx, r, tenant)
	if err != nil {
		return err
	}
	defer release()
	first, err := begin(ctx, id, c)
	if err != nil {
		return err
	}
	out := newStream(cancel)
	first(out)
	defer c.listening(func(e compaction) { out.send("compaction", e) })()
	request, done := w.Header().Get("X-Request-Id"), make(chan struct{})
	go func() {
		defer close(done)
		begun := time.Now()
		err := s.caught(func() error { return c.answer(ctx, s.assistant, out, s.metrics) })
		s.metrics.step(outcomeOf(err), time.Since(begun))
		if err != nil {
			p := problemOf(err)
			s.logProblem(request, p)
			out.last("error", p)
		}
	}()
	out.serve(w, done)
	return nil
}

// takeTurn waits until no other request uses the session, and opens it.
func (s *service) takeTurn(ctx context.Context, r *http.Request, tenant string) (sessionID, *conversation, func(), error) {
	id, err := sessionOf(r, tenant)
	if err != nil {
		return id, nil, nil, err
	}
	endTurn, err := s.turns.take(ctx, id)
	if err != nil {
		return id, nil, nil, err
	}
	c, release, err := s.store.use(ctx, id)
	if err != nil {
		endTurn()
		return id, nil, nil, err
	}
	return id, c, func() {
		release()
		endTurn()
	}, nil
}

// takeStep is takeTurn for requests that ask a model; it also takes one of the slots for steps.
func (s *service) takeStep(ctx context.Context, r *http.Request, tenant string) (sessionID, *conversation, func(), error) {
	id, c, release, err := s.takeTurn(ctx, r, tenant)
	if err != nil {
		return id, nil, nil, err
	}
	select {
	case s.slots <- struct{}{}:
		return id, c, func() {
			<-s.slots
			release()
		}, nil
	default:
		release()
		return id, nil, nil, errSteps
	}
}

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
func (c *conversation) answer(ctx context.Context, a *assistant, out *stream, m *metrics) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxAnswerTime, errLong)
	defer cancel()
	if err := c.finishRound(ctx, out); err != nil {
		return err
	}
	steps := &agent.Agent{
		Compactor: c.compactor, Prompt: c.prompt, MaxTokens: a.answer,
		Stream: func(d chat.Delta) {
			if text, ok := d.(chat.Text); ok && text != "" {
				out.send("text", map[string]string{"text": string(text)})
			}
		},
		OnRetry: func(error, time.Duration) { out.send("retry", struct{}{}) },
	}
	for range maxRounds {
		answer, err := steps.Step(ctx)
		if answer.Entry == "" {
			return err
		}
		message := answer.Message()
		m.tokens(answer.Response.Usage)
		for _, call := range message.ToolCalls {
			out.send("call", map[string]string{"name": call.Name, "arguments": call.Arguments})
		}
		event := answerEvent{answer.Entry, message.Text(), answer.Result.Tokens, answer.Result.Budget, len(message.ToolCalls) == 0 && !answer.GoOn}
		if event.Done {
			out.last("answer", event)
			return nil // the answer is stored, even if the policy's work after the turn failed
		}
		out.send("answer", event)
		if err != nil {
			return err
		}
		if err := c.run(ctx, message.ToolCalls, out); err != nil {
			return err
		}
	}
	return errRounds
}

type answerEvent struct {
	Entry  string `json:"entry"`
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
	Budget int    `json:"budget"`
	Done   bool   `json:"done,omitempty"`
}

// run runs calls and stores their results.
func (c *conversation) run(ctx context.Context, calls []chat.ToolCall, out *stream) error {
	for _, call := range calls {
		result, err := c.call(ctx, call)
		if err != nil {
			return err
		}
		added, err := c.session.Add(ctx, entry.Entry{Body: entry.Message{Message: result}})
		if err != nil {
			return err
		}
		out.send("result", map[string]string{"entry": added[0].ID, "text": clip(added[0].Message().Text(), maxResult)})
	}
	return nil
}

// maxResult is the number of bytes of a tool's result that a client receives.
const maxResult = 500

// finishRound runs the calls of the newest message that have no result, for example after a crash between an answer and
// its results.
func (c *conversation) finishRound(ctx context.Context, out *stream) error {
	answered := map[string]bool{}
	for e, err := range c.session.Back(ctx, "") {
		if err != nil {
			return err
		}
		if e.Type() != entry.TypeMessage {
			continue
		}
		m := e.Message()
		if m.Role == chat.RoleTool {
			answered[m.ToolCallID] = true
			continue
		}
		var open []chat.ToolCall
		for _, call := range m.ToolCalls {
			if !answered[call.ID] {
				open = append(open, call)
			}
		}
		return c.run(ctx, open, out)
	}
	return nil
}

// outcomeOf returns the outcome of a step for the metrics.
func outcomeOf(err error) string {
	if err == nil {
		return "answered"
	}
	return problemOf(err).Type
}

package einoagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/internal/toolbox"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// Options configures the middleware.
type Options struct {
	// Compactor of an agent with a single conversation, see [mirror.Mirrored]. Set either this or Choose.
	Compactor *summarize.Compactor
	// Prompt and Tools of that conversation, see [mirror.Mirrored].
	Prompt elements.Node
	Tools  []chat.Toolbox
	// CallLimit is how long a call of one of Tools may take. Defaults to 10 minutes.
	CallLimit time.Duration
	// Choose returns the conversation of a run, for a middleware with several, usually by a value in the context. It is
	// called before each request, at each tool call and after the run, and must return the same compactor for the same
	// conversation.
	Choose func(ctx context.Context) (mirror.Mirrored, error)
}

// New returns the middleware, for [adk.ChatModelAgentConfig].Handlers. Agents that run in parallel may share it, each with
// its own session.
func New(o Options) (adk.ChatModelAgentMiddleware, error) { return newMiddleware(o, messageForm) }

func newMiddleware[M adk.MessageType](o Options, f form[M]) (adk.TypedChatModelAgentMiddleware[M], error) {
	if (o.Compactor == nil) == (o.Choose == nil) {
		return nil, errors.New("einoagent: set either Options.Compactor, for one conversation, or Options.Choose, for several")
	}
	return &middleware[M]{TypedBaseChatModelAgentMiddleware: &adk.TypedBaseChatModelAgentMiddleware[M]{}, options: o, form: f}, nil
}

// form is how messages of a type are read and written.
type form[M any] struct {
	from   func(M) ([]chat.Message, error)
	to     func([]chat.Message) ([]M, error)
	list   func([]M) []M // in the order and without the data in which lists of the same messages may differ
	usage  func(M) chat.Usage
	calls  func(*callIDs, M) M // an answer or a chunk of one, with an id in each call
	reason func(M) string      // why an answer ended
	meta   func(of, to M)      // gives a message the data of another's response
	// An answer of a model, and one that is streamed. Nil if answers are not read in pieces.
	answer func(M) (chat.Response, error)
	stream func(context.Context, *schema.StreamReader[M], func(chat.Delta)) (chat.Response, error)
}

type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	options Options
	form    form[M]
	own     run[M] // of Options.Compactor
}

// run is the mirror of a run's conversation.
type run[M any] struct{ mirror *mirror.Mirror[M] }

// Context keys of a middleware: its current run, and the step of it.
type (
	runKey  struct{ m any }
	stepKey struct{ m any }
)

// conversation returns the conversation of the run that a context belongs to.
func (o Options) conversation(ctx context.Context) (mirror.Mirrored, error) {
	c := mirror.Mirrored{Compactor: o.Compactor, Prompt: o.Prompt, Tools: o.Tools}
	if o.Choose != nil {
		var err error
		if c, err = o.Choose(ctx); err != nil {
			return c, fmt.Errorf("einoagent: Options.Choose: %w", err)
		}
	}
	c.Tools = toolbox.Or(c.Tools, o.Tools)
	switch {
	case c.Compactor == nil:
		return c, errors.New("einoagent: Options.Choose returned no compactor: set Mirrored.Compactor")
	case c.Compactor.Session == nil:
		return c, errors.New("einoagent: the compactor has no session: set Compactor.Session")
	}
	return c, nil
}

// mirror returns the mirror of the conversation that a context belongs to.
func (m *middleware[M]) mirror(ctx context.Context) (*mirror.Mirror[M], error) {
	c, err := m.options.conversation(ctx)
	if err != nil {
		return nil, err
	}
	n, _ := ctx.Value(nestedKey{m}).(*nested)
	c = n.within(c)
	r, _ := ctx.Value(runKey{m}).(*run[M])
	switch {
	case c.Compactor == m.options.Compactor:
		r = &m.own
	case r == nil:
		r = &run[M]{}
	}
	if r.mirror == nil || r.mirror.Compactor != c.Compactor {
		r.mirror = &mirror.Mirror[M]{Compactor: c.Compactor, Tools: c.Tools, From: m.form.from, To: m.form.to, Partial: true}
	}
	r.mirror.Prompt = c.Prompt
	return r.mirror, nil
}

// BeforeAgent adds a mirror of the run's own to its context.
func (m *middleware[M]) BeforeAgent(ctx context.Context, agent *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	return context.WithValue(ctx, runKey{m}, &run[M]{}), agent, nil
}

// step is one request and its answer.
type step[M any] struct {
	mirror   *mirror.Mirror[M]
	messages []M // to send
}

// BeforeModelRewriteState records new messages and renders the prompt, which may compact the session. The agent's own
// messages stay as they are.
func (m *middleware[M]) BeforeModelRewriteState(ctx context.Context, agent *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	s := &step[M]{}
	var err error
	if s.mirror, err = m.mirror(ctx); err != nil {
		return ctx, nil, err
	}
	tools, err := fromEinoTools(agent.ToolInfos)
	if err != nil {
		return ctx, nil, err
	}
	fitted, err := s.mirror.Fit(ctx, mirror.Request[M]{Messages: m.form.list(agent.Messages), Tools: tools})
	if err != nil {
		return ctx, nil, fmt.Errorf("einoagent: %w", err)
	}
	s.messages = fitted.Messages
	return context.WithValue(ctx, stepKey{m}, s), agent, nil
}

// WrapModel sends the prompt instead of the agent's messages, and a smaller one if the model refuses it as too large.
func (m *middleware[M]) WrapModel(ctx context.Context, inner model.BaseModel[M], _ *adk.TypedModelContext[M]) (model.BaseModel[M], error) {
	s, _ := ctx.Value(stepKey{m}).(*step[M])
	if s == nil {
		return inner, nil
	}
	return &fittingModel[M]{inner, s, m.form}, nil
}

// fittingModel sends the prompt of a step to its inner model.
type fittingModel[M adk.MessageType] struct {
	inner model.BaseModel[M]
	step  *step[M]
	form  form[M]
}

// Generate implements [model.BaseModel].
func (f *fittingModel[M]) Generate(ctx context.Context, _ []M, opts ...model.Option) (M, error) {
	answer, err := ask(ctx, f.step, func(messages []M) (M, error) { return f.inner.Generate(ctx, messages, opts...) })
	if err != nil {
		return answer, err
	}
	return f.form.calls(new(callIDs), answer), nil
}

// Stream implements [model.BaseModel].
func (f *fittingModel[M]) Stream(ctx context.Context, _ []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	var first M
	var end error
	reader, err := ask(ctx, f.step, func(messages []M) (*schema.StreamReader[M], error) {
		reader, err := f.inner.Stream(ctx, messages, opts...)
		if err != nil {
			return nil, err
		}
		if first, end = reader.Recv(); summarize.Recoverable(end) { // some models refuse a request only here
			reader.Close()
			return nil, end
		}
		return reader, nil
	})
	if err != nil {
		return nil, err
	}
	out, in := schema.Pipe[M](0)
	go func() {
		defer in.Close()
		defer reader.Close()
		ids := &callIDs{}
		for chunk, err := first, end; err != io.EOF; chunk, err = reader.Recv() {
			if err == nil {
				chunk = f.form.calls(ids, chunk)
			}
			if in.Send(chunk, err) || err != nil {
				return
			}
		}
	}()
	return out, nil
}

// ask asks for an answer, and asks again with a smaller prompt while the request is too large.
func ask[M, T any](ctx context.Context, s *step[M], ask func([]M) (T, error)) (T, error) {
	for {
		answer, err := ask(s.messages)
		if !summarize.Recoverable(err) || ctx.Err() != nil {
			return answer, err
		}
		smaller, err := s.mirror.Refit(ctx, err)
		if err != nil {
			return answer, fmt.Errorf("einoagent: asking with a smaller prompt: %w", err)
		}
		s.messages = smaller.Messages
	}
}

// AfterModelRewriteState records the answer and the usage that the provider reported. Calls of an answer that was cut
// off or filtered are not made.
func (m *middleware[M]) AfterModelRewriteState(ctx context.Context, agent *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	s, _ := ctx.Value(stepKey{m}).(*step[M])
	if s == nil || len(agent.Messages) == 0 {
		return ctx, agent, nil
	}
	last := len(agent.Messages) - 1
	answer, listed := agent.Messages[last], m.form.list(agent.Messages[last:])
	whole, err := s.mirror.Answered(ctx, m.form.usage(answer), m.form.reason(answer), listed...)
	if err != nil {
		return ctx, nil, fmt.Errorf("einoagent: %w", err)
	}
	if whole[0] != listed[0] { // calls were cut off
		m.form.meta(answer, whole[0])
		changed := *agent
		changed.Messages = append(slices.Clone(agent.Messages[:last]), whole...)
		agent = &changed
	}
	return ctx, agent, nil
}

// AfterAgent records the last messages, and compacts after the turn if the policy says so.
func (m *middleware[M]) AfterAgent(ctx context.Context, agent *adk.TypedChatModelAgentState[M]) (context.Context, error) {
	mirror, err := m.mirror(ctx)
	if err == nil {
		err = mirror.EndTurn(ctx, m.form.list(agent.Messages))
	}
	return ctx, err
}

package einoagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/internal/framework"
)

// Options of the middleware.
type Options struct {
	// Compactor of an agent that has one conversation, see [Conversation]. Either it or Choose is required.
	Compactor *summarize.Compactor
	// Prompt of that conversation, see [Conversation].
	Prompt elements.Node
	// Choose returns the conversation of a run, for an agent that has many: by what the caller put into the context, say. It is
	// called before each request, at each call of a tool and after the run, and returns the same compactor each time.
	Choose func(ctx context.Context) (Conversation, error)
}

// Conversation is what a run of an agent goes on with.
type Conversation struct {
	// Compactor of the session in which the conversation is kept. Its target's tools are set to those of the agent before each
	// request. The caller closes it, and the session.
	Compactor *summarize.Compactor
	// Prompt that shows the session. The agent's instruction is put before it. Defaults to the conversation alone:
	// [history.Conversation], [history.TurnStart] and [history.TurnRounds].
	Prompt elements.Node
}

// New returns the middleware, for [adk.ChatModelAgentConfig].Handlers. It keeps nothing of a run: agents that run at once may
// share it, each with a session of its own.
func New(o Options) (adk.ChatModelAgentMiddleware, error) {
	if (o.Compactor == nil) == (o.Choose == nil) {
		return nil, errors.New("einoagent: set either Options.Compactor, for one conversation, or Options.Choose, for many")
	}
	return &middleware{BaseChatModelAgentMiddleware: &adk.BaseChatModelAgentMiddleware{}, options: o}, nil
}

type middleware struct {
	*adk.BaseChatModelAgentMiddleware
	options Options
}

func (m *middleware) conversation(ctx context.Context) (Conversation, error) {
	c := Conversation{m.options.Compactor, m.options.Prompt}
	if m.options.Choose != nil {
		var err error
		if c, err = m.options.Choose(ctx); err != nil {
			return c, fmt.Errorf("einoagent: Options.Choose: %w", err)
		}
	}
	switch {
	case c.Compactor == nil:
		return c, errors.New("einoagent: Options.Choose returned no compactor")
	case c.Compactor.Session == nil:
		return c, errors.New("einoagent: the compactor has no session: set Compactor.Session")
	}
	n, _ := ctx.Value(nestedKey{m}).(*nested)
	if c = n.within(c); c.Prompt == nil {
		c.Prompt = framework.Whole(c.Compactor.Session)
	}
	return c, nil
}

// stepKey is the key of a context under which a request is found by the middleware that makes it.
type stepKey struct{ m *middleware }

// step is one request.
type step struct {
	compactor *summarize.Compactor
	prompt    elements.Node
	leading   int // messages of the framework's instruction
	result    *render.Result
	messages  []*schema.Message // of result, as they are sent
	leaf      string            // of the session, as they show it
	recovered bool              // they are not those of the agent's state
}

func (m *middleware) step(ctx context.Context) *step {
	s, _ := ctx.Value(stepKey{m}).(*step)
	return s
}

// compose takes a prompt that was rendered.
func (s *step) compose(result *render.Result) error {
	messages, err := prompt(result.Messages)
	if err != nil {
		return err
	}
	session := s.compactor.Session
	s.result, s.leaf = result, session.Leaf()
	for i, e := range messages {
		prefix := ""
		if i < s.leading {
			prefix = instructionMark
		}
		messages[i] = marked(e, prefix, session.Header().ID, s.leaf)
	}
	s.messages = messages
	return nil
}

// tree returns the prompt with the framework's instruction before it, and how many messages that is.
func tree(instruction []*schema.Message, prompt elements.Node) (elements.Node, int, error) {
	list := elements.Nodes{}
	for _, e := range instruction {
		c, err := FromEino(e)
		if err != nil {
			return nil, 0, err
		}
		if strings.TrimSpace(c.Text()) == "" {
			continue // an instruction of nothing
		}
		list = append(list, elements.Message(elements.Props{Required: true}, c))
	}
	return append(list, prompt), len(list), nil
}

// BeforeModelRewriteState records what was said, renders the prompt, which may compact the session, and makes it the agent's
// messages.
func (m *middleware) BeforeModelRewriteState(ctx context.Context, agent *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	c, err := m.conversation(ctx)
	if err != nil {
		return ctx, nil, err
	}
	session := c.Compactor.Session
	now := part(agent.Messages, session.Header().ID)
	if err := record(ctx, session, now, names(agent.Messages)); err != nil {
		return ctx, nil, err
	}
	tools, err := fromEinoTools(agent.ToolInfos)
	if err == nil {
		err = framework.Retarget(ctx, c.Compactor, tools)
	}
	if err != nil {
		return ctx, nil, err
	}
	s := &step{compactor: c.Compactor}
	if s.prompt, s.leading, err = tree(now.instruction, c.Prompt); err != nil {
		return ctx, nil, err
	}
	result, err := c.Compactor.Render(ctx, s.prompt)
	if err == nil {
		err = s.compose(result)
	}
	if err != nil {
		return ctx, nil, fmt.Errorf("einoagent: composing the prompt: %w", err)
	}
	composed := *agent
	composed.Messages = slices.Clip(s.messages)
	return context.WithValue(ctx, stepKey{m}, s), &composed, nil
}

// WrapModel answers a refusal of the request as too large with a smaller one.
func (m *middleware) WrapModel(ctx context.Context, inner model.BaseChatModel, _ *adk.ModelContext) (model.BaseChatModel, error) {
	s := m.step(ctx)
	if s == nil {
		return inner, nil
	}
	return &recovering{inner: inner, step: s}, nil
}

// recovering is a model that is asked again, for less, if a request is too large.
type recovering struct {
	inner model.BaseChatModel
	step  *step
}

// Generate asks the model.
func (r *recovering) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	answer, err := recovered(ctx, r.step, input, func(messages []*schema.Message) (*schema.Message, error) {
		return r.inner.Generate(ctx, messages, opts...)
	})
	if err != nil || answer == nil {
		return answer, err
	}
	return new(callIDs).chunk(answer), nil
}

// Stream asks the model.
func (r *recovering) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := recovered(ctx, r.step, input, func(messages []*schema.Message) (*begun, error) {
		reader, err := r.inner.Stream(ctx, messages, opts...)
		if err != nil {
			return nil, err
		}
		first, err := reader.Recv() // some models refuse a request only then
		if _, large := summarize.ContextLimit(err); large {
			reader.Close()
			return nil, err
		}
		return &begun{first, err, reader}, nil
	})
	if err != nil {
		return nil, err
	}
	return answer.rest(), nil
}

// begun is a stream of which the first piece was read.
type begun struct {
	first  *schema.Message
	err    error
	reader *schema.StreamReader[*schema.Message]
}

// rest returns the stream from its beginning.
func (b *begun) rest() *schema.StreamReader[*schema.Message] {
	out, in := schema.Pipe[*schema.Message](0)
	go func() {
		defer in.Close()
		defer b.reader.Close()
		ids := &callIDs{}
		for chunk, err := b.first, b.err; err != io.EOF; chunk, err = b.reader.Recv() {
			if err == nil && chunk != nil {
				chunk = ids.chunk(chunk)
			}
			if in.Send(chunk, err) || err != nil {
				return
			}
		}
	}()
	return out
}

// recovered asks for an answer, and again with a smaller prompt while the request is too large.
func recovered[T any](ctx context.Context, s *step, input []*schema.Message, ask func([]*schema.Message) (T, error)) (T, error) {
	if s.recovered { // the framework tries again
		input = s.messages
	}
	for {
		answer, err := ask(input)
		if _, large := summarize.ContextLimit(err); !large || ctx.Err() != nil {
			return answer, err
		}
		result, err := s.compactor.Recover(ctx, s.prompt, err, "")
		if err == nil {
			err = s.compose(result)
		}
		if err != nil {
			return answer, fmt.Errorf("einoagent: the request is too large: %w", err)
		}
		s.recovered, input = true, s.messages
	}
}

// AfterModelRewriteState records the answer, with what the provider reported of the request.
func (m *middleware) AfterModelRewriteState(ctx context.Context, agent *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	s := m.step(ctx)
	if s == nil || len(agent.Messages) == 0 {
		return ctx, agent, nil
	}
	last := len(agent.Messages) - 1
	answer := agent.Messages[last]
	said, err := body(answer, nil)
	if err != nil {
		return ctx, nil, err
	}
	session := s.compactor.Session
	write, done := callback.Outlive(ctx) // what was answered is kept
	defer done()
	if err := mirrored(session).Unchanged(write, s.leaf); err != nil {
		return ctx, nil, fmt.Errorf("einoagent: recording the answer: %w", err)
	}
	entries := []history.Entry{{Body: said}}
	if usage := s.compactor.Usage(s.result, chat.Response{Usage: usageOf(answer)}, ""); usage.Usage != (chat.Usage{}) {
		entries = append(entries, history.Entry{Body: usage})
	}
	if _, err := session.Add(write, entries...); err != nil {
		return ctx, nil, fmt.Errorf("einoagent: recording the answer: %w", err)
	}
	after := *agent
	if s.recovered {
		after.Messages = slices.Clone(s.messages)
	} else {
		after.Messages = slices.Clone(agent.Messages[:last])
	}
	after.Messages = append(after.Messages, marked(answer, "", session.Header().ID, session.Leaf()))
	return ctx, &after, nil
}

// AfterAgent records what was said last, and does what the policy does after a turn.
func (m *middleware) AfterAgent(ctx context.Context, agent *adk.ChatModelAgentState) (context.Context, error) {
	c, err := m.conversation(ctx)
	if err != nil {
		return ctx, err
	}
	session := c.Compactor.Session
	now := part(agent.Messages, session.Header().ID)
	if now.base == "" {
		return ctx, nil // no model was asked
	}
	if err := record(ctx, session, now, names(agent.Messages)); err != nil {
		return ctx, err
	}
	node, _, err := tree(now.instruction, c.Prompt)
	if err != nil {
		return ctx, err
	}
	return ctx, framework.AfterTurn(ctx, c.Compactor, node)
}

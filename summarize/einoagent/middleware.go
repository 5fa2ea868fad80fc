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
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/internal/framework"
)

// Options configures the middleware.
type Options struct {
	// Compactor of an agent with a single conversation, see [Conversation]. Set either this or Choose.
	Compactor *summarize.Compactor
	// Prompt of that conversation, see [Conversation].
	Prompt elements.Node
	// Choose returns the conversation of a run, for a middleware with several, usually by a value in the context. It is
	// called before each request, at each tool call and after the run, and must return the same compactor for the same
	// conversation.
	Choose func(ctx context.Context) (Conversation, error)
}

// Conversation is an agent's conversation and the prompt that shows it.
type Conversation struct {
	// Compactor of the session that keeps the conversation. Before each request the middleware sets the tools of its
	// target to those of the agent. The caller closes it, and the session.
	Compactor *summarize.Compactor
	// Prompt that shows the session. The agent's instruction comes before it. Defaults to the conversation alone:
	// [history.Conversation], [history.TurnStart] and [history.TurnRounds].
	Prompt elements.Node
}

// New returns the middleware, for [adk.ChatModelAgentConfig].Handlers. It holds no state of a run, so agents that run
// in parallel may share it, each with its own session.
func New(o Options) (adk.ChatModelAgentMiddleware, error) {
	if (o.Compactor == nil) == (o.Choose == nil) {
		return nil, errors.New("einoagent: set either Options.Compactor, for one conversation, or Options.Choose, for several")
	}
	return &middleware{BaseChatModelAgentMiddleware: &adk.BaseChatModelAgentMiddleware{}, options: o}, nil
}

type middleware struct {
	*adk.BaseChatModelAgentMiddleware
	options Options
}

// conversation returns the conversation of the run that a context belongs to.
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
		return c, errors.New("einoagent: Options.Choose returned no compactor: set Conversation.Compactor")
	case c.Compactor.Session == nil:
		return c, errors.New("einoagent: the compactor has no session: set Compactor.Session")
	}
	n, _ := ctx.Value(nestedKey{m}).(*nested)
	if c = n.within(c); c.Prompt == nil {
		c.Prompt = framework.Whole(c.Compactor.Session)
	}
	return c, nil
}

// stepKey is the context key of a middleware's current step.
type stepKey struct{ m *middleware }

// step is one request and its answer.
type step struct {
	compactor *summarize.Compactor
	prompt    elements.Node
	leading   int // number of messages of the agent's instruction
	result    *render.Result
	messages  []*schema.Message // the result's messages, converted
	leaf      string            // the session's leaf when the prompt was rendered
	recovered bool              // messages differ from the agent's state, because a request was refused
}

func (m *middleware) step(ctx context.Context) *step {
	s, _ := ctx.Value(stepKey{m}).(*step)
	return s
}

// compose converts a rendered prompt and marks its messages.
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

// promptTree returns the prompt with the agent's instruction before it, and the number of messages of the instruction.
func promptTree(instruction []*schema.Message, prompt elements.Node) (elements.Node, int, error) {
	list := elements.Nodes{}
	for _, e := range instruction {
		c, err := FromEino(e)
		if err != nil {
			return nil, 0, err
		}
		if strings.TrimSpace(c.Text()) == "" {
			continue // an empty instruction
		}
		list = append(list, elements.Message(elements.Props{Required: true}, c))
	}
	return append(list, prompt), len(list), nil
}

// BeforeModelRewriteState records new messages, renders the prompt, which may compact the session, and makes the
// rendered messages the agent's.
func (m *middleware) BeforeModelRewriteState(ctx context.Context, agent *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	c, err := m.conversation(ctx)
	if err != nil {
		return ctx, nil, err
	}
	session := c.Compactor.Session
	now := splitState(agent.Messages, session.Header().ID)
	if err := record(ctx, session, now, toolNames(agent.Messages)); err != nil {
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
	if s.prompt, s.leading, err = promptTree(now.instruction, c.Prompt); err != nil {
		return ctx, nil, err
	}
	result, err := c.Compactor.RenderOrWait(ctx, s.prompt)
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

// WrapModel makes a smaller request if the model refuses one as too large.
func (m *middleware) WrapModel(ctx context.Context, inner model.BaseChatModel, _ *adk.ModelContext) (model.BaseChatModel, error) {
	s := m.step(ctx)
	if s == nil {
		return inner, nil
	}
	return &retryingModel{inner: inner, step: s}, nil
}

// retryingModel asks its inner model again with a smaller prompt if the request is too large.
type retryingModel struct {
	inner model.BaseChatModel
	step  *step
}

// Generate implements [model.BaseChatModel].
func (r *retryingModel) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	answer, err := askWithRecovery(ctx, r.step, input, func(messages []*schema.Message) (*schema.Message, error) {
		return r.inner.Generate(ctx, messages, opts...)
	})
	if err != nil || answer == nil {
		return answer, err
	}
	return new(callIDs).chunk(answer), nil
}

// Stream implements [model.BaseChatModel].
func (r *retryingModel) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := askWithRecovery(ctx, r.step, input, func(messages []*schema.Message) (*startedStream, error) {
		reader, err := r.inner.Stream(ctx, messages, opts...)
		if err != nil {
			return nil, err
		}
		first, err := reader.Recv() // some models refuse a request only here
		if summarize.Recoverable(err) {
			reader.Close()
			return nil, err
		}
		return &startedStream{first, err, reader}, nil
	})
	if err != nil {
		return nil, err
	}
	return answer.whole(), nil
}

// startedStream is a stream whose first chunk was read.
type startedStream struct {
	first  *schema.Message
	err    error
	reader *schema.StreamReader[*schema.Message]
}

// whole returns the stream from its first chunk on.
func (b *startedStream) whole() *schema.StreamReader[*schema.Message] {
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

// askWithRecovery asks for an answer, and asks again with a smaller prompt while the request is too large.
func askWithRecovery[T any](ctx context.Context, s *step, input []*schema.Message, ask func([]*schema.Message) (T, error)) (T, error) {
	if s.recovered { // eino retries a request that was made smaller before
		input = s.messages
	}
	for {
		answer, err := ask(input)
		if !summarize.Recoverable(err) || ctx.Err() != nil {
			return answer, err
		}
		result, err := s.compactor.Recover(ctx, s.prompt, err, "")
		if err == nil {
			err = s.compose(result)
		}
		if err != nil {
			return answer, fmt.Errorf("einoagent: asking with a smaller prompt: %w", err)
		}
		s.recovered, input = true, s.messages
	}
}

// AfterModelRewriteState records the answer and the usage that the provider reported.
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
	write, done := callback.Outlive(ctx) // record even if the run is cancelled
	defer done()
	if err := logOf(session).Unchanged(write, s.leaf); err != nil {
		return ctx, nil, fmt.Errorf("einoagent: recording the answer: %w", err)
	}
	entries := []entry.Entry{{Body: said}, {Body: s.compactor.Usage(s.result, chat.Response{Usage: usageOf(answer)}, "")}}
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

// AfterAgent records the last messages, and compacts after the turn if the policy says so.
func (m *middleware) AfterAgent(ctx context.Context, agent *adk.ChatModelAgentState) (context.Context, error) {
	c, err := m.conversation(ctx)
	if err != nil {
		return ctx, err
	}
	session := c.Compactor.Session
	now := splitState(agent.Messages, session.Header().ID)
	if now.base == "" {
		return ctx, nil // no model was asked
	}
	if err := record(ctx, session, now, toolNames(agent.Messages)); err != nil {
		return ctx, err
	}
	node, _, err := promptTree(now.instruction, c.Prompt)
	if err != nil {
		return ctx, err
	}
	return ctx, framework.AfterTurn(ctx, c.Compactor, node)
}

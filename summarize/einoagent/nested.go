package einoagent

import (
	"context"
	"slices"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize"
)

// nested is a tool call in which other agents with the same middleware may run: DeepAgent gives its handlers to its sub-agents.
// What they say is not part of the conversation that called the tool, and is kept in memory until the tool returns.
type nested struct {
	outer []*history.Session // of the runs around

	mu  sync.Mutex
	own *summarize.Compactor
}

// nestedKey is the key of a context under which a tool call is found.
type nestedKey struct{ m *middleware }

// within returns the conversation of a run inside of the tool call, given that which it would have outside.
func (n *nested) within(c Conversation) Conversation {
	if n == nil || !slices.Contains(n.outer, c.Compactor.Session) {
		return c
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.own == nil {
		n.own = &summarize.Compactor{
			Session: &history.Session{}, Target: c.Compactor.Current(), Policy: c.Compactor.Policy, Models: c.Compactor.Models,
			Options: c.Compactor.Options, Logger: c.Compactor.Logger,
		}
	}
	return Conversation{Compactor: n.own}
}

// end ends what is made in the background.
func (n *nested) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.own != nil {
		_ = n.own.Close() // of listeners that did not return its Logger was told
	}
}

// call returns the context of a tool call.
func (m *middleware) call(ctx context.Context) (context.Context, *nested, error) {
	c, err := m.conversation(ctx)
	if err != nil {
		return ctx, nil, err
	}
	n := &nested{outer: []*history.Session{c.Compactor.Session}}
	if around, _ := ctx.Value(nestedKey{m}).(*nested); around != nil {
		n.outer = append(n.outer, around.outer...)
	}
	return context.WithValue(ctx, nestedKey{m}, n), n, nil
}

// WrapInvokableToolCall keeps what agents say that run in a tool out of the conversation.
func (m *middleware) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint, _ *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		ctx, n, err := m.call(ctx)
		if err != nil {
			return "", err
		}
		defer n.end()
		return next(ctx, arguments, opts...)
	}, nil
}

// WrapEnhancedInvokableToolCall does as WrapInvokableToolCall does.
func (m *middleware) WrapEnhancedInvokableToolCall(_ context.Context, next adk.EnhancedInvokableToolCallEndpoint, _ *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		ctx, n, err := m.call(ctx)
		if err != nil {
			return nil, err
		}
		defer n.end()
		return next(ctx, argument, opts...)
	}, nil
}

// WrapStreamableToolCall does as WrapInvokableToolCall does. What is made in the background ends by itself, for the stream may be
// read later.
func (m *middleware) WrapStreamableToolCall(_ context.Context, next adk.StreamableToolCallEndpoint, _ *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		ctx, _, err := m.call(ctx)
		if err != nil {
			return nil, err
		}
		return next(ctx, arguments, opts...)
	}, nil
}

// WrapEnhancedStreamableToolCall does as WrapStreamableToolCall does.
func (m *middleware) WrapEnhancedStreamableToolCall(_ context.Context, next adk.EnhancedStreamableToolCallEndpoint, _ *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
		ctx, _, err := m.call(ctx)
		if err != nil {
			return nil, err
		}
		return next(ctx, argument, opts...)
	}, nil
}

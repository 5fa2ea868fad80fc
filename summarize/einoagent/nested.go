package einoagent

import (
	"context"
	"slices"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// nested is a tool call in which other agents with the same middleware may run: DeepAgent gives its handlers to its
// sub-agents. Their messages are not part of the conversation that called the tool. They are kept in memory until the
// tool returns.
type nested struct {
	outer []*history.Session // sessions of the enclosing runs

	mu  sync.Mutex
	own *summarize.Compactor // of the agents within the call; nil until one runs
}

// nestedKey is the context key of a middleware's current tool call.
type nestedKey struct{ m any }

// within returns the conversation of a run inside the tool call. The argument is the conversation that it would have
// outside. On a nil receiver it returns the argument.
func (n *nested) within(c mirror.Mirrored) mirror.Mirrored {
	if n == nil || !slices.Contains(n.outer, c.Compactor.Session) {
		return c
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.own == nil {
		n.own = &summarize.Compactor{
			Session: &history.Session{}, Target: c.Compactor.Current(), Policy: c.Compactor.Policy, Models: c.Compactor.Models,
			Options: c.Compactor.Options,
		}
		for _, o := range c.Compactor.Observers { // others may hear of one session only
			if log, ok := o.(summarize.Log); ok {
				n.own.Observers = append(n.own.Observers, log)
			}
		}
	}
	return mirror.Mirrored{Compactor: n.own}
}

// end stops the background work of the call's own compactor.
func (n *nested) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.own != nil {
		_ = n.own.Close() // the Logger has reported listeners that did not return
	}
}

// inside returns a tool call in which agents with the same middleware get a conversation of their own. If it ends when the
// call returns, so does their background work.
func inside[M adk.MessageType, A, R any](m *middleware[M], ends bool, next func(context.Context, A, ...tool.Option) (R, error)) func(context.Context, A, ...tool.Option) (R, error) {
	return func(ctx context.Context, arguments A, opts ...tool.Option) (result R, err error) {
		c, err := m.options.conversation(ctx)
		if err != nil {
			return result, err
		}
		enclosing, _ := ctx.Value(nestedKey{m}).(*nested)
		n := &nested{outer: []*history.Session{enclosing.within(c).Compactor.Session}}
		if enclosing != nil {
			n.outer = append(n.outer, enclosing.outer...)
		}
		if ends {
			defer n.end()
		}
		return next(context.WithValue(ctx, nestedKey{m}, n), arguments, opts...)
	}
}

// WrapInvokableToolCall keeps the messages of agents that run in a tool out of the conversation.
func (m *middleware[M]) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint, _ *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return inside(m, true, next), nil
}

// WrapEnhancedInvokableToolCall does what WrapInvokableToolCall does.
func (m *middleware[M]) WrapEnhancedInvokableToolCall(_ context.Context, next adk.EnhancedInvokableToolCallEndpoint, _ *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return inside(m, true, next), nil
}

// WrapStreamableToolCall does what WrapInvokableToolCall does. It does not stop background work when the call returns,
// because the stream may be read later; the work ends by itself.
func (m *middleware[M]) WrapStreamableToolCall(_ context.Context, next adk.StreamableToolCallEndpoint, _ *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return inside(m, false, next), nil
}

// WrapEnhancedStreamableToolCall does what WrapStreamableToolCall does.
func (m *middleware[M]) WrapEnhancedStreamableToolCall(_ context.Context, next adk.EnhancedStreamableToolCallEndpoint, _ *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return inside(m, false, next), nil
}

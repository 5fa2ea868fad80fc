package summarize

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/policy"
)

// breakdown returns the tokens of a request, or the zero value if the tokenizer fails.
func (w *walker) breakdown(messages []chat.Message, tools []chat.Tool) event.Breakdown {
	b, _ := guard.Value(w.ctx, guard.NameTokenizer, func() event.Breakdown {
		b := event.Breakdown{Tools: guard.Counted(w.target.Tokenizer.CountTools(tools))}
		for _, m := range messages {
			if m.Role == chat.RoleSystem {
				b.System += guard.Counted(w.target.Tokenizer.CountMessage(m))
			} else {
				b.Conversation += guard.Counted(w.target.Tokenizer.CountMessage(m))
			}
		}
		return b
	})
	return b
}

// listenTime is how long a listener may take for one event.
const listenTime = 5 * time.Second

// emit passes an event to the listeners, one at a time, and the failure of one listener to the others.
func (c *Compactor) emit(ctx context.Context, e event.Event) {
	if !c.listening() {
		return
	}
	e.Policy, e.Err = c.Policy.Name, c.Session.Redacted(ctx, e.Err)
	c.inner.eventMu.Lock()
	defer c.inner.eventMu.Unlock()
	within := ctx
	ctx = context.WithoutCancel(ctx) // listeners hear of a cancelled compaction too
	log := func(level slog.Level, message string, attrs ...slog.Attr) error {
		return c.listen(ctx, "Logger", c.Logger != nil, func(ctx context.Context) { c.Logger.LogAttrs(ctx, level, message, attrs...) })
	}
	hear := func(e event.Event) error {
		return c.listen(ctx, "OnEvent", c.OnEvent != nil, func(context.Context) { c.OnEvent(e) })
	}
	traced := c.listen(ctx, nameTracer, c.Tracer != nil, func(context.Context) { c.Tracer.TraceEvent(within, e) })
	logged := log(e.Level(), "compaction "+string(e.Kind), slog.String("session", c.Session.Header().ID), slog.Any("compaction", e))
	for _, err := range []error{hear(e), traced} {
		if err != nil {
			_ = log(slog.LevelError, "compaction event", slog.String("error", err.Error())) // only the Logger can hear that OnEvent failed
		}
	}
	for _, failed := range []event.Event{{Hook: "Logger", Err: logged}, {Hook: nameTracer, Err: traced}} {
		if failed.Err != nil {
			failed.Kind, failed.Policy = event.HookFailed, c.Policy.Name
			_ = hear(failed)
		}
	}
}

// listening reports whether there are listeners.
func (c *Compactor) listening() bool { return c.OnEvent != nil || c.Logger != nil || c.Tracer != nil }

// listen calls a listener. One that takes too long is not called again, because it would get two events at once.
func (c *Compactor) listen(ctx context.Context, name string, set bool, f func(context.Context)) error {
	if !set || c.inner.unresponsive[name] {
		return nil
	}
	_, err := guard.Call(ctx, name, listenTime, func(ctx context.Context) (struct{}, error) { f(ctx); return struct{}{}, nil })
	if _, late := errors.AsType[*policy.TimeoutError](err); late {
		err = fmt.Errorf("%w, and is not called again", err)
		if c.inner.unresponsive == nil {
			c.inner.unresponsive = map[string]bool{}
		}
		c.inner.unresponsive[name], c.inner.listenerErrs = true, errors.Join(c.inner.listenerErrs, err)
	}
	return err
}

package summarize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/checkpoints"
)

// EventKind says what an [Event] is about.
type EventKind string

// The kinds of events.
const (
	// EventStarted: a plan was written to the session; the model is asked next.
	EventStarted EventKind = "started"
	// EventAnswered: a model was asked; Err says how it failed, if it did.
	EventAnswered EventKind = "answered"
	// EventRefused: a candidate brought no summary in one mode; Err says why. The next one is asked.
	EventRefused EventKind = "refused"
	// EventRetrying: a model whose failure may pass is asked again after Wait; Err is the failure.
	EventRetrying EventKind = "retrying"
	// EventWaiting: a prompt waits for a summary that is being made.
	EventWaiting EventKind = "waiting"
	// EventReady: a summary that was made in the background waits to be put in place.
	EventReady EventKind = "ready"
	// EventDone: the compaction is in the session.
	EventDone EventKind = "done"
	// EventFailed: there is no summary; Err says why. What the session shows is as it was.
	EventFailed EventKind = "failed"
	// EventPostponed: an attempt to carry a plan out failed; Err says why. There will be another ([Compactor.CarryOut]).
	EventPostponed EventKind = "postponed"
	// EventVetoed: a hook called it off.
	EventVetoed EventKind = "vetoed"
	// EventCancelled: it was cancelled, and what came of it thrown away.
	EventCancelled EventKind = "cancelled"
	// EventDiscarded: a summary that was made in the background is not needed any more.
	EventDiscarded EventKind = "discarded"
	// EventDropped: its place is gone, because of an undo or a switch of branch. Err is a [*history.BoundaryError].
	EventDropped EventKind = "dropped"
	// EventCleared: old tool output is left out from here on.
	EventCleared EventKind = "cleared"
	// EventTruncated: the last resort left messages out of a request. The session keeps them.
	EventTruncated EventKind = "truncated"
	// EventLetGo: the last resort pruned history, or what no priority was given to, out of a request. The session keeps it.
	EventLetGo EventKind = "let go"
	// EventHookFailed: a hook, the Logger or the Tracer failed, or a checkpoint could not be written, and the work went on without it.
	EventHookFailed EventKind = "hook failed"
	// EventModelUnknown: the policy names a model that nobody has.
	EventModelUnknown EventKind = "model unknown"
	// EventTitled: the title of a summary was made.
	EventTitled EventKind = "titled"
	// EventReported: the provider, or a remote agent, told of a compaction of its own ([Compactor.Reported]).
	EventReported EventKind = "reported"
	// EventUsage: what a prompt takes once all was done about it.
	EventUsage EventKind = "usage"
	// EventCacheBreak: a prompt begins otherwise than the one before, though nothing was compacted or cleared, so that the
	// provider's cache does not have what it would have had. It is told of if the target has prices.
	EventCacheBreak EventKind = "cache break"
)

// CacheBreak says what of a prompt changed, and what that costs.
type CacheBreak struct {
	// Change that broke the cache.
	Change sizing.Change `json:"change,omitempty"`
	// Messages of the prompt's beginning that are surely unchanged. One of the first Until changed; 0 if the tools did.
	Messages int `json:"messages,omitempty"`
	Until    int `json:"until,omitempty"`
	// Tokens, of the provider's, that the cache would have had.
	Tokens int `json:"tokens,omitempty"`
	// Dollars that it costs to write them again, and not to read them.
	Dollars float64 `json:"dollars,omitempty"`
}

// why says what changed, and the usual reasons.
func (b CacheBreak) why() string {
	var what string
	switch b.Change {
	case sizing.ChangeToolOrder:
		what = "the tools are in another order than before: list them in one order, and not in that of a map"
	case sizing.ChangeTools:
		what = "the tools are others than before: keep them for the whole session, and their descriptions free of what changes"
	case sizing.ChangeSystem:
		what = fmt.Sprintf("system message %d or one before it changed: what changes by itself, such as a clock or a list of files, stands better behind the history", b.Until)
	default:
		what = fmt.Sprintf("one of messages %d to %d changed or is gone: context in front of the history changed, or was pruned", b.Messages+1, b.Until)
	}
	return fmt.Sprintf("%s (%d tokens are not read from the cache, which costs $%.4f)", what, b.Tokens, b.Dollars)
}

// Breakdown is what a request takes, in tokens by our own count.
type Breakdown struct {
	System       int `json:"system"`
	Conversation int `json:"conversation"`
	Tools        int `json:"tools"`
}

// Total returns the tokens of the request.
func (b Breakdown) Total() int { return b.System + b.Conversation + b.Tools }

// breakdown returns the zero value if the tokenizer fails.
func (w *walker) breakdown(messages []chat.Message, tools []chat.Tool) Breakdown {
	b, _ := value(w.ctx, nameTokenizer, func() Breakdown {
		b := Breakdown{Tools: counted(w.target.Tokenizer.CountTools(tools))}
		for _, m := range messages {
			if m.Role == chat.RoleSystem {
				b.System += counted(w.target.Tokenizer.CountMessage(m))
			} else {
				b.Conversation += counted(w.target.Tokenizer.CountMessage(m))
			}
		}
		return b
	})
	return b
}

// Event is a step of a compaction. A field that an event does not know is the zero value.
type Event struct {
	Kind EventKind `json:"kind"`
	// Policy by its name.
	Policy string `json:"policy,omitempty"`
	// Plan is the id of the plan's entry in the session.
	Plan string `json:"plan,omitempty"`
	// Reason is the occasion of the compaction.
	Reason Occasion `json:"reason,omitempty"`
	// Why in words, of what was decided.
	Why string `json:"why,omitempty"`
	// Background says that the summary is made while the work goes on.
	Background bool `json:"background,omitempty"`
	// WillRetry says that the request that the provider refused is sent again afterwards.
	WillRetry bool `json:"willRetry,omitempty"`
	// Mode of the summary.
	Mode Mode `json:"mode,omitempty"`
	// Model that was asked, by its name; Request is the id of the request: that of the plan, and a number.
	Model   string `json:"model,omitempty"`
	Request string `json:"request,omitempty"`
	// Covered is the number of rounds and user messages that are summarised, Kept that of those kept word for word.
	Covered int `json:"covered,omitempty"`
	Kept    int `json:"kept,omitempty"`
	// Compacted reports whether the prompt of [EventUsage] shows something in place of history that was compacted.
	Compacted bool `json:"compacted,omitempty"`
	// Over reports whether what is kept takes more tokens than the policy's cut allows: the newest message or round alone is more.
	Over bool `json:"over,omitempty"`
	// MessagesBefore and MessagesAfter are the numbers of messages of the prompt, TokensBefore and TokensAfter what they
	// take, without tools.
	MessagesBefore int `json:"messagesBefore,omitempty"`
	MessagesAfter  int `json:"messagesAfter,omitempty"`
	TokensBefore   int `json:"tokensBefore,omitempty"`
	TokensAfter    int `json:"tokensAfter,omitempty"`
	// Breakdown of the prompt that is about to be sent, of [EventUsage], or as it was before a compaction, of [EventStarted].
	Breakdown Breakdown `json:"breakdown,omitzero"`
	// Base that limits are held against, in tokens.
	Base int `json:"base,omitempty"`
	// Break of the cache, of [EventCacheBreak].
	Break CacheBreak `json:"break,omitzero"`
	// Usage that models reported, and how often they were asked.
	Usage chat.Usage `json:"usage,omitzero"`
	Calls int        `json:"calls,omitempty"`
	// Duration from the start.
	Duration time.Duration `json:"duration,omitempty"`
	// Wait before a model is asked again.
	Wait time.Duration `json:"wait,omitempty"`
	// Summary that was made, its title, and what was mended in it, in words.
	Summary string   `json:"summary,omitempty"`
	Title   string   `json:"title,omitempty"`
	Mended  []string `json:"mended,omitempty"`
	// Entry is the id of the compaction, or the clearing, in the session.
	Entry string `json:"entry,omitempty"`
	// Checkpoint that the summary was written to.
	Checkpoint checkpoints.Checkpoint `json:"checkpoint,omitzero"`
	// Hook that failed.
	Hook string `json:"hook,omitempty"`
	// Err says what went wrong.
	Err error `json:"-"`
}

// MarshalJSON writes the event with its error as text.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	said := struct {
		plain
		Error     string `json:"error,omitempty"`
		ErrorType string `json:"errorType,omitempty"`
	}{plain: plain(e)}
	if e.Err != nil {
		said.Error, said.ErrorType = e.Err.Error(), ErrorType(e.Err)
	}
	return json.Marshal(said)
}

// String returns the event in one line for people, such as [kind=started reason=render covered=10].
func (e Event) String() string { return e.LogValue().String() }

// LogValue returns the event for package slog, with the keys of its JSON.
func (e Event) LogValue() slog.Value {
	var list []slog.Attr
	text := func(key, value string) {
		if value != "" {
			list = append(list, slog.String(key, value))
		}
	}
	number := func(key string, value int) {
		if value != 0 {
			list = append(list, slog.Int(key, value))
		}
	}
	flag := func(key string, value bool) {
		if value {
			list = append(list, slog.Bool(key, true))
		}
	}
	text("kind", string(e.Kind))
	text("policy", e.Policy)
	text("plan", e.Plan)
	text("reason", string(e.Reason))
	text("why", e.Why)
	text("mode", string(e.Mode))
	text("model", e.Model)
	text("request", e.Request)
	flag("background", e.Background)
	flag("willRetry", e.WillRetry)
	number("covered", e.Covered)
	number("kept", e.Kept)
	flag("compacted", e.Compacted)
	flag("over", e.Over)
	number("messagesBefore", e.MessagesBefore)
	number("messagesAfter", e.MessagesAfter)
	number("tokensBefore", e.TokensBefore)
	number("tokensAfter", e.TokensAfter)
	number("systemTokens", e.Breakdown.System)
	number("conversationTokens", e.Breakdown.Conversation)
	number("toolTokens", e.Breakdown.Tools)
	number("base", e.Base)
	text("change", string(e.Break.Change))
	number("lostTokens", e.Break.Tokens)
	if e.Break.Dollars != 0 {
		list = append(list, slog.Float64("lostDollars", e.Break.Dollars))
	}
	number("calls", e.Calls)
	number("inputTokens", e.Usage.Input)
	number("outputTokens", e.Usage.Output)
	number("cacheReadTokens", e.Usage.CacheRead)
	if e.Duration > 0 {
		list = append(list, slog.Duration("duration", e.Duration))
	}
	if e.Wait > 0 {
		list = append(list, slog.Duration("wait", e.Wait))
	}
	text("mended", strings.Join(e.Mended, "; "))
	text("entry", e.Entry)
	number("checkpoint", e.Checkpoint.Number)
	text("hook", e.Hook)
	if e.Err != nil {
		text("error", e.Err.Error())
		text("errorType", ErrorType(e.Err))
	}
	return slog.GroupValue(list...)
}

// level at which an event is logged.
func (e Event) level() slog.Level {
	if e.Over {
		return slog.LevelWarn
	}
	switch e.Kind {
	case EventFailed, EventDropped, EventHookFailed, EventTruncated, EventLetGo, EventModelUnknown, EventCacheBreak:
		return slog.LevelWarn
	case EventUsage, EventAnswered:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// listenTime is how long a listener may take for one event.
const listenTime = 5 * time.Second

// tell passes an event to whoever listens, one at a time, and what one of them does wrong to the others.
func (c *Compactor) tell(ctx context.Context, e Event) {
	if !c.heard() {
		return
	}
	e.Policy = c.Policy.Name
	c.inner.telling.Lock()
	defer c.inner.telling.Unlock()
	within := ctx
	ctx = context.WithoutCancel(ctx) // a cancelled compaction is told of too
	log := func(level slog.Level, message string, attrs ...slog.Attr) error {
		return c.listen(ctx, "Logger", c.Logger != nil, func(ctx context.Context) { c.Logger.LogAttrs(ctx, level, message, attrs...) })
	}
	hear := func(e Event) error {
		return c.listen(ctx, "OnEvent", c.OnEvent != nil, func(context.Context) { c.OnEvent(e) })
	}
	traced := c.listen(ctx, nameTracer, c.Tracer != nil, func(context.Context) { c.Tracer.TraceEvent(within, e) })
	logged := log(e.level(), "compaction "+string(e.Kind), slog.String("session", c.Session.Header().ID), slog.Any("compaction", e))
	for _, err := range []error{hear(e), traced} {
		if err != nil {
			_ = log(slog.LevelError, "compaction event", slog.String("error", err.Error())) // there is nobody else to tell of OnEvent
		}
	}
	for _, failed := range []Event{{Hook: "Logger", Err: logged}, {Hook: nameTracer, Err: traced}} {
		if failed.Err != nil {
			failed.Kind, failed.Policy = EventHookFailed, c.Policy.Name
			_ = hear(failed)
		}
	}
}

// heard reports whether anybody listens to events.
func (c *Compactor) heard() bool { return c.OnEvent != nil || c.Logger != nil || c.Tracer != nil }

// listen calls a listener. One that takes too long is called no more, for it would be told two events at once.
func (c *Compactor) listen(ctx context.Context, name string, set bool, f func(context.Context)) error {
	if !set || c.inner.gone[name] {
		return nil
	}
	_, err := call(ctx, name, listenTime, func(ctx context.Context) (struct{}, error) { f(ctx); return struct{}{}, nil })
	if _, late := errors.AsType[*TimeoutError](err); late {
		err = fmt.Errorf("%w, and is called no more", err)
		if c.inner.gone == nil {
			c.inner.gone = map[string]bool{}
		}
		c.inner.gone[name], c.inner.late = true, errors.Join(c.inner.late, err)
	}
	return err
}

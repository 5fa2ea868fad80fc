package summarize

import (
	"context"
	"log/slog"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// EventKind says what an [Event] tells of.
type EventKind string

// The kinds of events.
const (
	// EventStarted: a cut was chosen; the model is asked next.
	EventStarted EventKind = "started"
	// EventRefused: one mode failed; Err says why. The next one is tried.
	EventRefused EventKind = "refused"
	// EventDone: the compaction is in the session.
	EventDone EventKind = "done"
	// EventFailed: no mode gave a summary; Err says why. The session is as it was.
	EventFailed EventKind = "failed"
	// EventCancelled: it was cancelled, and what came of it thrown away.
	EventCancelled EventKind = "cancelled"
	// EventReady: a summary that was made in the background waits to be put in place.
	EventReady EventKind = "ready"
	// EventDiscarded: a summary that was made in the background is not needed any more.
	EventDiscarded EventKind = "discarded"
	// EventDropped: a summary was dropped, because of an undo or a switch of branch while it was made. Err is a
	// [*history.BoundaryError].
	EventDropped EventKind = "dropped"
	// EventPruned: old tool output is left out from now on, and that sufficed.
	EventPruned EventKind = "pruned"
	// EventTruncated: the last guard left messages out of a request.
	EventTruncated EventKind = "truncated"
	// EventHookFailed: a hook failed, or a checkpoint could not be written, and the work went on without it.
	EventHookFailed EventKind = "hook failed"
	// EventReported: the provider, or a remote agent, told of a compaction of its own ([Compactor.Reported]).
	EventReported EventKind = "reported"
	// EventUsage: a prompt was rendered. It tells what it takes.
	EventUsage EventKind = "usage"
)

// Breakdown is what a request takes, in tokens.
type Breakdown struct{ System, Conversation, Tools int }

// Total of the request.
func (b Breakdown) Total() int { return b.System + b.Conversation + b.Tools }

func breakdown(t sizing.Tokenizer, messages []chat.Message, tools []chat.Tool) Breakdown {
	b := Breakdown{Tools: t.CountTools(tools)}
	for _, m := range messages {
		if m.Role == chat.RoleSystem {
			b.System += t.CountMessage(m)
		} else {
			b.Conversation += t.CountMessage(m)
		}
	}
	return b
}

// Event tells of a step of a compaction. What it does not know is the zero value.
type Event struct {
	Kind EventKind
	// Policy by its name.
	Policy string
	// Reason is the occasion of the compaction.
	Reason Occasion
	// Background tells that the summary is made while the work goes on.
	Background bool
	// WillRetry tells that the request that the provider refused is sent again afterwards.
	WillRetry bool
	// Mode of the summary; "" at the start.
	Mode Mode
	// Covered is the number of rounds and user messages that are summarised, Kept that of those kept word for word.
	Covered, Kept int
	// MessagesBefore and MessagesAfter is how many messages the prompt has, and has with the summary.
	MessagesBefore, MessagesAfter int
	// TokensBefore is what the prompt needed, TokensAfter what it takes with the summary.
	TokensBefore, TokensAfter int
	// Breakdown of the prompt: of [EventUsage] and [EventStarted] as it was, of [EventDone] and [EventTruncated] as it is.
	Breakdown Breakdown
	// Window that the prompt goes into, in tokens.
	Window int
	// Usage that the models reported, and how often they were asked.
	Usage chat.Usage
	Calls int
	// Duration from the start.
	Duration time.Duration
	// Summary that was made, and its title.
	Summary, Title string
	// Checkpoint that the summary was written to.
	Checkpoint Checkpoint
	// Err says what went wrong.
	Err error
}

// LogValue is the event for package slog. Names are those of the OpenTelemetry conventions for generative AI where these have
// one.
func (e Event) LogValue() slog.Value {
	list := []slog.Attr{
		slog.String("gen_ai.operation.name", "compact"),
		slog.String("compaction.event", string(e.Kind)),
	}
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
	text("compaction.policy", e.Policy)
	text("compaction.reason", string(e.Reason))
	text("compaction.mode", string(e.Mode))
	if e.Background {
		list = append(list, slog.Bool("compaction.background", true))
	}
	if e.WillRetry {
		list = append(list, slog.Bool("compaction.will_retry", true))
	}
	number("compaction.covered", e.Covered)
	number("compaction.kept", e.Kept)
	number("compaction.messages_before", e.MessagesBefore)
	number("compaction.messages_after", e.MessagesAfter)
	number("compaction.tokens_before", e.TokensBefore)
	number("compaction.tokens_after", e.TokensAfter)
	number("compaction.tokens.system", e.Breakdown.System)
	number("compaction.tokens.conversation", e.Breakdown.Conversation)
	number("compaction.tokens.tools", e.Breakdown.Tools)
	number("compaction.window", e.Window)
	number("compaction.calls", e.Calls)
	number("gen_ai.usage.input_tokens", e.Usage.Input)
	number("gen_ai.usage.output_tokens", e.Usage.Output)
	number("gen_ai.usage.cache_read.input_tokens", e.Usage.CacheRead)
	if e.Duration > 0 {
		list = append(list, slog.Duration("compaction.duration", e.Duration))
	}
	number("compaction.checkpoint", e.Checkpoint.Number)
	if e.Err != nil {
		list = append(list, slog.String("error.message", e.Err.Error()), slog.String("error.type", errorType(e.Err)))
	}
	return slog.GroupValue(list...)
}

// level at which an event is logged.
func (e Event) level() slog.Level {
	switch e.Kind {
	case EventFailed, EventDropped, EventHookFailed, EventTruncated:
		return slog.LevelWarn
	case EventUsage:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// tell gives an event to who listens, one at a time.
func (c *Compactor) tell(ctx context.Context, e Event) {
	e.Policy = c.Policy.Name
	c.telling.Lock()
	defer c.telling.Unlock()
	if c.Logger != nil && c.Logger.Enabled(ctx, e.level()) {
		id := c.Session.Header().ID
		c.Logger.LogAttrs(ctx, e.level(), "compaction "+string(e.Kind), slog.String("gen_ai.conversation.id", id), slog.Any("compaction", e))
	}
	if c.OnEvent != nil {
		c.OnEvent(e)
	}
}

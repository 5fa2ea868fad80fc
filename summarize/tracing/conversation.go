package tracing

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
)

// Conversation follows one compactor. It is its [summarize.Tracer].
type Conversation struct {
	t         *Tracer
	compactor *summarize.Compactor
	compacted atomic.Bool // the prompt that was rendered last shows a summary
}

// work is a span of ours in a context.
type work struct {
	kind   summarize.WorkKind
	reason summarize.Occasion
	plan   string
	begun  time.Time
}

type workKey struct{}

// workOf returns the work that a context is of, nil if it is of none.
func workOf(ctx context.Context) *work {
	w, _ := ctx.Value(workKey{}).(*work)
	return w
}

// TraceStart starts a span.
func (c *Conversation) TraceStart(ctx context.Context, begun summarize.Work) context.Context {
	if begun.Kind == summarize.WorkRender {
		ctx, w := c.t.startRender(ctx, c.identity())
		w.reason = begun.Reason
		return ctx
	}
	attrs := append(c.identity(), keyOperation.String("compact"), keyPlan.String(begun.Plan), keyPolicy.String(c.compactor.Policy.Name))
	ctx, _ = c.t.tracer.Start(ctx, "compact", trace.WithAttributes(attrs...))
	return context.WithValue(ctx, workKey{}, &work{kind: begun.Kind, plan: begun.Plan, begun: time.Now()})
}

// identity returns what tells the conversation from others.
func (c *Conversation) identity() []attribute.KeyValue {
	if c.compactor.Session == nil { // which the compactor refuses
		return nil
	}
	return []attribute.KeyValue{keyConversation.String(c.compactor.Session.Header().ID)}
}

// TraceEnd ends the span that the context is of.
func (c *Conversation) TraceEnd(ctx context.Context, result *render.Result, err error) {
	w := workOf(ctx)
	switch {
	case w == nil:
	case w.kind == summarize.WorkRender:
		c.t.endRender(ctx, w, result, err)
	default:
		span := trace.SpanFromContext(ctx)
		c.t.fail(span, err)
		span.End()
	}
}

// fail marks a span as failed, if there is an error.
func (t *Tracer) fail(span trace.Span, err error) {
	if err == nil || !span.IsRecording() {
		return
	}
	said := ""
	if t.opts.Content {
		said = err.Error()
	}
	span.SetStatus(codes.Error, said)
	span.SetAttributes(keyErrorType.String(errorType(err)))
}

// TraceEvent adds an event to the span of its work: as attributes if it says what came of the work, else as an event of the span.
func (c *Conversation) TraceEvent(ctx context.Context, e summarize.Event) {
	switch e.Kind {
	case summarize.EventUsage:
		c.compacted.Store(e.Compacted)
		return // the end of the render says the rest
	case summarize.EventAnswered:
		return // which has a span
	case summarize.EventDone, summarize.EventFailed, summarize.EventPostponed, summarize.EventVetoed, summarize.EventCancelled,
		summarize.EventDiscarded, summarize.EventDropped:
		c.count(ctx, e)
	case summarize.EventCacheBreak:
		c.t.breaks.Add(ctx, 1, metric.WithAttributes(keyPolicy.String(e.Policy), keyChange.String(string(e.Break.Change))))
	}
	span, w := trace.SpanFromContext(ctx), workOf(ctx)
	if w == nil || !span.IsRecording() {
		return // a span of the application's is not ours to write to
	}
	attrs := c.t.attributesOf(e)
	if w.plan != "" && e.Plan == w.plan && isOutcome(e.Kind) {
		span.SetAttributes(append(attrs, keyOutcome.String(string(e.Kind)))...)
		return
	}
	span.AddEvent("promptree."+strings.ReplaceAll(string(e.Kind), " ", "_"), trace.WithAttributes(attrs...))
}

// isOutcome reports whether an event says what came of carrying a plan out.
func isOutcome(k summarize.EventKind) bool {
	switch k {
	case summarize.EventReady, summarize.EventDone, summarize.EventFailed, summarize.EventPostponed, summarize.EventVetoed,
		summarize.EventCancelled, summarize.EventDropped:
		return true
	}
	return false
}

// count adds a compaction that ended to the metrics.
func (c *Conversation) count(ctx context.Context, e summarize.Event) {
	by := []attribute.KeyValue{keyPolicy.String(e.Policy), keyReason.String(string(e.Reason))}
	c.t.compactions.Add(ctx, 1, metric.WithAttributes(append(by, keyOutcome.String(string(e.Kind)))...))
	if e.Kind != summarize.EventDone {
		return
	}
	c.t.compacted.Record(ctx, int64(e.TokensBefore), metric.WithAttributes(append(by, keyWhen.String("before"))...))
	c.t.compacted.Record(ctx, int64(e.TokensAfter), metric.WithAttributes(append(by, keyWhen.String("after"))...))
}

// attributesOf returns what an event knows.
func (t *Tracer) attributesOf(e summarize.Event) []attribute.KeyValue {
	var list []attribute.KeyValue
	text := func(key attribute.Key, value string) {
		if value != "" {
			list = append(list, key.String(value))
		}
	}
	number := func(key attribute.Key, value int) {
		if value != 0 {
			list = append(list, key.Int(value))
		}
	}
	text(keyReason, string(e.Reason))
	text(keyPlan, e.Plan)
	text(keyMode, string(e.Mode))
	text(keyModel, e.Model)
	text(keyWhy, e.Why)
	text(keyHook, e.Hook)
	text(keyChange, string(e.Break.Change))
	if e.Background {
		list = append(list, keyBackground.Bool(true))
	}
	number(keyCovered, e.Covered)
	number(keyKept, e.Kept)
	number(keyCalls, e.Calls)
	number(keyMessagesBefore, e.MessagesBefore)
	number(keyMessagesAfter, e.MessagesAfter)
	number(keyTokensBefore, e.TokensBefore)
	number(keyTokensAfter, e.TokensAfter)
	number(keyTokensLost, e.Break.Tokens)
	if e.Break.Dollars > 0 {
		list = append(list, keyDollars.Float64(e.Break.Dollars))
	}
	if e.Err != nil {
		text(keyErrorType, errorType(e.Err))
	}
	if t.opts.Content {
		text(keySummary, e.Summary)
	}
	return list
}

package tracing

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
)

// Trace is the [summarize.Observer] of one compactor.
type Trace struct {
	tracer    *Tracer
	compactor *summarize.Compactor
	compacted atomic.Bool // the last prompt shows a summary
}

// work is the render or compaction of a context's span.
type work struct {
	summarize.Work
	start time.Time
}

type workKey struct{}

// workOf returns the work of a context, or nil if the context has none.
func workOf(ctx context.Context) *work {
	w, _ := ctx.Value(workKey{}).(*work)
	return w
}

// Start implements [summarize.Observer]. It starts a span.
func (t *Trace) Start(ctx context.Context, started summarize.Work) context.Context {
	attrs := t.identity()
	if started.Kind == summarize.WorkRender {
		return t.tracer.begin(ctx, "promptree.render", started, attrs...)
	}
	attrs = append(attrs, keyOperation.String("compact"), keyPlan.String(started.Plan), keyPolicy.String(t.compactor.Policy.Name))
	return t.tracer.begin(ctx, "compact", started, attrs...)
}

// identity returns the attribute that identifies the conversation.
func (t *Trace) identity() []attribute.KeyValue {
	if t.compactor.Session == nil { // the compactor returns an error for this
		return nil
	}
	return []attribute.KeyValue{keyConversation.String(t.compactor.Session.Header().ID)}
}

// End implements [summarize.Observer]. It ends the span of the context.
func (t *Trace) End(ctx context.Context, result *render.Result, err error) {
	w := workOf(ctx)
	switch {
	case w == nil:
	case w.Kind == summarize.WorkRender:
		t.tracer.endRender(ctx, result, err)
	default:
		span := trace.SpanFromContext(ctx)
		t.tracer.fail(span, err)
		span.End()
	}
}

// fail marks a span as failed, if there is an error.
func (t *Tracer) fail(span trace.Span, err error) {
	if err == nil || !span.IsRecording() {
		return
	}
	description := ""
	if t.opts.Content {
		description = err.Error()
	}
	span.SetStatus(codes.Error, description)
	span.SetAttributes(keyErrorType.String(errorType(err)))
}

// Event implements [summarize.Observer]. The outcome of a compaction becomes attributes of its span, and any other
// event becomes an event of the current span.
func (t *Trace) Event(ctx context.Context, e event.Event) {
	switch e.Kind {
	case event.Usage:
		t.compacted.Store(e.Compacted)
		return // endRender records the rest
	case event.Answered:
		return // the request has a span
	case event.Done, event.Failed, event.Postponed, event.Vetoed, event.Cancelled,
		event.Discarded, event.Dropped:
		t.count(ctx, e)
	case event.CacheBroken:
		t.tracer.breaks.Add(ctx, 1, metric.WithAttributes(keyPolicy.String(e.Policy), keyChange.String(string(e.Break.Change))))
	}
	span, w := trace.SpanFromContext(ctx), workOf(ctx)
	if w == nil || !span.IsRecording() {
		return // never write to a span of the application
	}
	attrs := t.tracer.attributesOf(e)
	if w.Plan != "" && e.Plan == w.Plan && slices.Contains(outcomes, e.Kind) {
		span.SetAttributes(append(attrs, keyOutcome.String(string(e.Kind)))...)
		return
	}
	span.AddEvent("promptree."+strings.ReplaceAll(string(e.Kind), " ", "_"), trace.WithAttributes(attrs...))
}

// outcomes are the outcomes of running a plan.
var outcomes = []event.Kind{event.Ready, event.Done, event.Failed, event.Postponed, event.Vetoed, event.Cancelled, event.Dropped}

// count adds a finished compaction to the metrics.
func (t *Trace) count(ctx context.Context, e event.Event) {
	by := []attribute.KeyValue{keyPolicy.String(e.Policy), keyReason.String(string(e.Reason))}
	t.tracer.compactions.Add(ctx, 1, metric.WithAttributes(append(by, keyOutcome.String(string(e.Kind)))...))
	if e.Kind != event.Done {
		return
	}
	t.tracer.compacted.Record(ctx, int64(e.TokensBefore), metric.WithAttributes(append(by, keyWhen.String("before"))...))
	t.tracer.compacted.Record(ctx, int64(e.TokensAfter), metric.WithAttributes(append(by, keyWhen.String("after"))...))
}

// attributesOf returns the fields of an event that are set as attributes.
func (t *Tracer) attributesOf(e event.Event) []attribute.KeyValue {
	list := []attribute.KeyValue{
		keyReason.String(string(e.Reason)), keyPlan.String(e.Plan), keyMode.String(string(e.Mode)), keyModel.String(e.Model),
		keyWhy.String(e.Why), keyFunction.String(e.Function), keyChange.String(string(e.Break.Change)), keyBackground.Bool(e.Background),
		keyCovered.Int(e.Covered), keyKept.Int(e.Kept), keyCalls.Int(e.Calls),
		keyMessagesBefore.Int(e.MessagesBefore), keyMessagesAfter.Int(e.MessagesAfter),
		keyTokensBefore.Int(e.TokensBefore), keyTokensAfter.Int(e.TokensAfter), keyTokensLost.Int(e.Break.Tokens), keyDollars.Float64(e.Break.Dollars),
	}
	if e.Err != nil {
		list = append(list, keyErrorType.String(errorType(e.Err)))
	}
	if t.opts.Content {
		list = append(list, keySummary.String(e.Summary))
	}
	return slices.DeleteFunc(list, func(a attribute.KeyValue) bool {
		value := a.Value.AsInterface()
		return value == "" || value == false || value == int64(0) || value == 0.0
	})
}

// errorType returns the name of an error's kind, as [failure.Type] does. If that has no specific name, it is the
// HTTP status of a provider's refusal.
func errorType(err error) string {
	kind := failure.Type(err)
	if kind != "_OTHER" && kind != "transient" {
		return kind
	}
	if refused, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err); ok {
		return strconv.Itoa(refused.StatusCode())
	}
	if _, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return "budget_exceeded"
	}
	if _, ok := errors.AsType[*render.EmptyPromptError](err); ok {
		return "prompt_empty"
	}
	return kind
}

package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
)

// begin starts the span of some work.
func (t *Tracer) begin(ctx context.Context, name string, started summarize.Work, attrs ...attribute.KeyValue) context.Context {
	ctx, _ = t.tracer.Start(ctx, name, trace.WithAttributes(attrs...))
	return context.WithValue(ctx, workKey{}, &work{started, time.Now()})
}

// endRender ends the span of a render, and adds the render to the metrics.
func (t *Tracer) endRender(ctx context.Context, r *render.Result, err error) {
	span, w := trace.SpanFromContext(ctx), workOf(ctx)
	defer span.End()
	t.fail(span, err)
	var by []attribute.KeyValue
	if w.Reason != "" {
		by = append(by, keyReason.String(string(w.Reason)))
	}
	if t.renders.Enabled(ctx) {
		attrs := by
		if err != nil {
			attrs = append(attrs, keyErrorType.String(errorType(err)))
		}
		t.renders.Record(ctx, time.Since(w.start).Seconds(), metric.WithAttributes(attrs...))
	}
	if r == nil || !span.IsRecording() && !t.pieces.Enabled(ctx) {
		return
	}
	if r.Budget > 0 {
		t.ratio.Record(ctx, float64(r.Tokens)/float64(r.Budget), metric.WithAttributes(by...))
	}
	report := r.Report()
	sum, dropped := report.Sum(), map[render.Reason]int{}
	for _, p := range report.Dropped() {
		dropped[p.Dropped] += p.Tokens
	}
	t.pieces.Add(ctx, int64(sum.Kept), metric.WithAttributes(keyOutcome.String("kept")))
	t.pieces.Add(ctx, int64(sum.Trimmed), metric.WithAttributes(keyOutcome.String("trimmed")))
	for reason, tokens := range dropped {
		t.pieces.Add(ctx, int64(tokens), metric.WithAttributes(keyOutcome.String("dropped"), keyReason.String(string(reason))))
	}
	span.SetAttributes(append(by, keyBudget.Int(r.Budget), keyTokens.Int(r.Tokens), keyMessages.Int(len(r.Messages)),
		keyTokensTrimmed.Int(sum.Trimmed), keyTokensDropped.Int(sum.Dropped))...)
}

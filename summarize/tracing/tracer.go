package tracing

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
)

const (
	module = "github.com/promptree-go/promptree"
	scope  = module + "/summarize/tracing" // the name of the instrumentation
)

// optIn is the environment variable that selects the version of names, and latest is the value that selects the newest.
const (
	optIn  = "OTEL_SEMCONV_STABILITY_OPT_IN"
	latest = "gen_ai_latest_experimental"
)

// Options configures a [Tracer]. The zero value uses the global providers and records no content.
type Options struct {
	// TracerProvider of the spans. Defaults to [otel.GetTracerProvider].
	TracerProvider trace.TracerProvider
	// MeterProvider of the metrics. Defaults to [otel.GetMeterProvider].
	MeterProvider metric.MeterProvider
	// Provider is the provider of all models, by its name in the conventions, such as "aws.bedrock". By default a model
	// of render/openai, render/anthropic or render/gemini has its own provider's name, and any other model "_OTHER".
	Provider string
	// Content adds content to spans: the messages of requests and answers, summaries, and the texts of errors, which
	// may quote messages. Off by default.
	Content bool
}

// Tracer makes spans and metrics. It is safe for concurrent use; one is enough for a process.
type Tracer struct {
	opts   Options
	tracer trace.Tracer
	names  names
	instruments
}

// New returns a tracer. It reads the environment variable OTEL_SEMCONV_STABILITY_OPT_IN. It returns an error if the
// meter refuses an instrument.
func New(opts Options) (*Tracer, error) {
	opts.TracerProvider = cmp.Or(opts.TracerProvider, otel.GetTracerProvider())
	opts.MeterProvider = cmp.Or(opts.MeterProvider, otel.GetMeterProvider())
	t := &Tracer{opts: opts, tracer: opts.TracerProvider.Tracer(scope), names: namesOld}
	if slices.Contains(strings.Split(strings.ReplaceAll(os.Getenv(optIn), " ", ""), ","), latest) {
		t.names = namesLatest
	}
	var err error
	if t.instruments, err = newInstruments(opts.MeterProvider.Meter(scope), t.names); err != nil {
		return nil, fmt.Errorf("tracing: creating the instruments: %w", err)
	}
	return t, nil
}

// Attach traces a compactor. It adds an observer to the compactor and wraps its models, those of Target and Models, so that
// each request has a span. Call it after setting the compactor's fields and before using it. A second call for the same
// compactor changes nothing.
func (t *Tracer) Attach(c *summarize.Compactor) *Trace {
	for _, o := range c.Observers {
		if attached, ok := o.(*Trace); ok {
			return attached
		}
	}
	conversation := &Trace{tracer: t, compactor: c}
	c.Observers = append(slices.Clip(c.Observers), conversation)
	c.Target = conversation.Target(c.Target)
	c.Models = maps.Clone(c.Models)
	for name, target := range c.Models {
		target.Name = cmp.Or(target.Name, name)
		c.Models[name] = conversation.Target(target)
	}
	return conversation
}

// Render is [render.Render] with a span and metrics, for prompts without a compactor.
func (t *Tracer) Render(ctx context.Context, root elements.Node, opts render.Options) (*render.Result, error) {
	ctx = t.begin(ctx, "promptree.render", summarize.Work{Kind: summarize.WorkRender})
	result, err := render.Render(ctx, root, opts)
	t.endRender(ctx, result, err)
	return result, err
}

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

package tracing

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Target returns a target whose model has a span for each request. Use it for targets that the compactor gets later, by
// [summarize.Compactor.SwitchModel] or Retarget.
func (t *Trace) Target(target policy.Target) policy.Target {
	if m := target.Model; m != nil {
		target.Model = &model{t: t, of: m, provider: cmp.Or(t.tracer.opts.Provider, providerOf(m)), name: target.Name, prices: target.Prices}
	}
	return target
}

// model wraps a model so that each request has a span.
type model struct {
	t              *Trace
	of             chat.Model
	provider, name string
	prices         sizing.Prices
}

// providerOf returns the conventions' name for the provider of a model of one of our adapters, or else "_OTHER".
func providerOf(m chat.Model) string {
	of := reflect.TypeOf(m)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return providerOfPackage(of.PkgPath())
}

func providerOfPackage(path string) string {
	switch name, ours := strings.CutPrefix(path, module+"/render/"); {
	case !ours:
		return "_OTHER"
	case name == "gemini":
		return "gcp.gemini"
	default:
		return name
	}
}

var errNotReturned = errors.New("tracing: the model panicked or ended its goroutine")

// Origin returns the origin of the model's answers, the zero value if it does not say.
func (m *model) Origin() chat.Origin { return policy.Target{Model: m.of}.Origin() }

// ManagesContext reports whether the model's requests ask the provider to compact or edit the context.
func (m *model) ManagesContext() bool { return policy.Target{Model: m.of}.Managed() }

// Generate implements [chat.Model].
func (m *model) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	t, purpose := m.t.tracer, "answer"
	if w := workOf(ctx); w != nil && w.Kind == summarize.WorkCompaction {
		purpose = "summary"
	}
	by := []attribute.KeyValue{keyOperation.String("chat"), attribute.String(t.names.provider, m.provider)}
	name := "chat"
	if m.name != "" {
		by, name = append(by, keyModel.String(m.name)), "chat "+m.name
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(by...))
	by = append(by, keyPurpose.String(purpose))
	recording := span.IsRecording()
	start := time.Now()
	if recording {
		span.SetAttributes(append(m.t.identity(), keyPurpose.String(purpose))...)
		span.SetAttributes(t.requestAttributes(req)...)
		if purpose == "answer" && m.t.compacted.Load() {
			span.SetAttributes(keyCompacted.Bool(true))
		}
		if req.Stream != nil {
			req.Stream = firstChunk(span, start, req.Stream)
		}
	}
	returned := false
	defer func() {
		if !returned {
			t.fail(span, errNotReturned)
		}
		span.End()
	}()
	response, err := m.of.Generate(ctx, req)
	returned = true
	if recording {
		span.SetAttributes(t.responseAttributes(response, err)...)
		t.fail(span, err)
	}
	m.measure(ctx, span, by, time.Since(start), response.Usage, err)
	return response, err
}

// measure adds a request to the metrics.
func (m *model) measure(ctx context.Context, span trace.Span, by []attribute.KeyValue, took time.Duration, u chat.Usage, err error) {
	t := m.t.tracer
	t.record(ctx, u, by)
	if m.prices != (sizing.Prices{}) && u != (chat.Usage{}) {
		if cost := m.prices.Of(u).Total(); cost > 0 { // else it is not known
			span.SetAttributes(keyDollars.Float64(cost))
			t.dollars.Add(ctx, cost, metric.WithAttributes(by...))
		}
	}
	if err != nil {
		by = append(by, keyErrorType.String(errorType(err)))
	}
	t.requests.Record(ctx, took.Seconds(), metric.WithAttributes(by...))
}

// firstChunk wraps stream so that the arrival of the first delta is recorded.
func firstChunk(span trace.Span, start time.Time, stream func(chat.Delta)) func(chat.Delta) {
	first := true
	return func(d chat.Delta) {
		if first {
			first = false
			span.SetAttributes(keyFirstChunk.Float64(time.Since(start).Seconds()))
		}
		stream(d)
	}
}

func (t *Tracer) requestAttributes(req chat.Request) (list []attribute.KeyValue) {
	if req.MaxTokens > 0 {
		list = append(list, keyMaxTokens.Int(req.MaxTokens))
	}
	if req.Temperature != nil {
		list = append(list, keyTemperature.Float64(*req.Temperature))
	}
	if req.Stream != nil {
		list = append(list, keyStream.Bool(true))
	}
	if t.opts.Content {
		list = append(list, keyInputMessages.String(messagesJSON(req.Messages, "")))
	}
	return list
}

func (t *Tracer) responseAttributes(r chat.Response, err error) []attribute.KeyValue {
	var list []attribute.KeyValue
	if r.Usage != (chat.Usage{}) {
		list = append(list, keyInput.Int(r.Usage.Input), keyOutput.Int(r.Usage.Output), attribute.Int(t.names.cacheWrite, r.Usage.CacheWrite))
		if !r.Usage.CacheUnknown {
			list = append(list, keyCacheRead.Int(r.Usage.CacheRead))
		}
	}
	finish := "error"
	if err == nil {
		finish = cmp.Or(finishReasons[r.StopReason], string(r.StopReason))
		if t.opts.Content {
			list = append(list, keyOutputMessages.String(messagesJSON([]chat.Message{r.Message}, finish)))
		}
	}
	return append(list, keyFinish.StringSlice([]string{finish}))
}

// finishReasons are the conventions' names of stop reasons.
var finishReasons = map[chat.StopReason]string{
	chat.StopEnd: "stop", chat.StopToolCalls: "tool_call", chat.StopMaxTokens: "length", chat.StopFiltered: "content_filter",
}

package tracing_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/tracing"
)

// lab is a tracer with the spans and metrics that it exports.
type lab struct {
	*tracing.Tracer
	t      testing.TB
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
}

func newLab(t testing.TB, opts tracing.Options) lab {
	t.Helper()
	l := lab{t: t, spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	spans, metrics := trace.NewTracerProvider(trace.WithSyncer(l.spans)), metric.NewMeterProvider(metric.WithReader(l.reader))
	opts.TracerProvider, opts.MeterProvider = spans, metrics
	var err error
	l.Tracer, err = tracing.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		require.NoError(t, errors.Join(spans.Shutdown(ctx), metrics.Shutdown(ctx)))
	})
	return l
}

// span returns the only span with a name.
func (l lab) span(name string) tracetest.SpanStub {
	l.t.Helper()
	var found []tracetest.SpanStub
	for _, s := range l.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	require.Len(l.t, found, 1, name)
	return found[0]
}

// attributes returns the attributes of a span or event, except the conversation's id, which differs each time.
func attributes(list []attribute.KeyValue) map[string]any {
	all := map[string]any{}
	for _, kv := range list {
		if kv.Key != "gen_ai.conversation.id" {
			all[string(kv.Key)] = kv.Value.AsInterface()
		}
	}
	return all
}

// collected returns the metrics that have data, by name.
func (l lab) collected() map[string]metricdata.Aggregation {
	l.t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(l.t, l.reader.Collect(l.t.Context(), &data))
	all := map[string]metricdata.Aggregation{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			all[m.Name] = m.Data
		}
	}
	return all
}

// metrics returns the sorted names of the metrics that have data.
func (l lab) metrics() []string {
	l.t.Helper()
	return slices.Sorted(maps.Keys(l.collected()))
}

// points returns the sums of a counter or histogram by attributes, encoded as text.
func (l lab) points(name string) map[string]float64 {
	l.t.Helper()
	points := map[string]float64{}
	at := func(set attribute.Set, value float64) { points[set.Encoded(attribute.DefaultEncoder())] = value }
	switch d := l.collected()[name].(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			at(p.Attributes, float64(p.Value))
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			at(p.Attributes, p.Value)
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			at(p.Attributes, float64(p.Sum))
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			at(p.Attributes, p.Sum)
		}
	}
	return points
}

// fixture returns a traced compactor whose session exceeds its budget.
func (l lab) fixture(answers ...models.Reply) (compacttest.Fixture, *tracing.Trace) {
	l.t.Helper()
	d := compacttest.New(l.t, compacttest.Overflowing()...)
	d.Target.Name = "gpt-5.4"
	d.Answers(answers...)
	return d, l.Attach(d.Compactor)
}

// reported is the usage that the provider reports for a summary.
var reported = chat.Usage{Input: 3000, Output: 200, CacheRead: 1000, CacheWrite: 500}

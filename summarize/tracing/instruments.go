package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/promptree-go/promptree/elements/chat"
)

// instruments holds the instruments of all metrics.
type instruments struct {
	renders     metric.Float64Histogram // seconds
	pieces      metric.Int64Counter     // tokens
	ratio       metric.Float64Histogram
	compactions metric.Int64Counter
	compacted   metric.Int64Histogram // tokens
	breaks      metric.Int64Counter
	dollars     metric.Float64Counter
	requests    metric.Float64Histogram // seconds
	// Reported tokens: a histogram with the old names, counters with the latest.
	usage                                metric.Int64Histogram
	input, output, cacheRead, cacheWrite metric.Int64Counter
}

// Bucket boundaries of histograms. Those of seconds and tokens are the conventions'.
var (
	inSeconds = metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
	inTokens  = metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
	inShares  = metric.WithExplicitBucketBoundaries(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
)

func newInstruments(m metric.Meter, n names) (in instruments, err error) {
	counter := func(name, unit, description string) metric.Int64Counter {
		c, wrong := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		err = errors.Join(err, wrong)
		return c
	}
	histogram := func(name, unit, description string, bounds metric.HistogramOption) metric.Float64Histogram {
		h, wrong := m.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description), bounds)
		err = errors.Join(err, wrong)
		return h
	}
	tokens := func(name, description string) metric.Int64Histogram {
		h, wrong := m.Int64Histogram(name, metric.WithUnit("{token}"), metric.WithDescription(description), inTokens)
		err = errors.Join(err, wrong)
		return h
	}
	in.renders = histogram("promptree.render.duration", "s", "Duration of a render, with the compactions that it waits for.", inSeconds)
	in.pieces = counter("promptree.render.tokens", "{token}", "Tokens of a prompt's pieces that were kept, trimmed off, or dropped for a reason.")
	in.ratio = histogram("promptree.render.budget.ratio", "1", "Share of its budget that a prompt takes.", inShares)
	in.compactions = counter("promptree.compactions", "{compaction}", "Compactions that ended, by policy, reason and outcome.")
	in.compacted = tokens("promptree.compaction.tokens", "Tokens of the prompt before and after a compaction.")
	in.breaks = counter("promptree.cache.breaks", "{break}", "Prompts that start differently from the one before, though nothing was compacted or cleared.")
	var wrong error
	in.dollars, wrong = m.Float64Counter("promptree.cost", metric.WithUnit("{USD}"), metric.WithDescription("Dollars that requests to models with known prices cost."))
	err = errors.Join(err, wrong)
	in.requests = histogram(n.duration, "s", "Duration of a request to a model.", inSeconds)
	if !n.latest {
		in.usage = tokens("gen_ai.client.token.usage", "Number of input and output tokens used.")
		return in, err
	}
	usage := func(name, description string) metric.Int64Counter {
		return counter("gen_ai.client.inference.usage."+name, "{token}", description)
	}
	in.input = usage("input_tokens", "The number of input tokens used, including cached tokens.")
	in.output = usage("output_tokens", "The number of output tokens used, including reasoning tokens.")
	in.cacheRead = usage("cache_read.input_tokens", "The number of input tokens served from a provider's cache.")
	in.cacheWrite = usage("cache_write.input_tokens", "The number of input tokens written to a provider's cache.")
	return in, err
}

// record adds the usage of one request.
func (in instruments) record(ctx context.Context, reported chat.Usage, attrs []attribute.KeyValue) {
	if in.usage != nil {
		if reported == (chat.Usage{}) {
			return // nothing was reported
		}
		in.usage.Record(ctx, int64(reported.Input), metric.WithAttributes(append(attrs, keyTokenType.String("input"))...))
		in.usage.Record(ctx, int64(reported.Output), metric.WithAttributes(append(attrs, keyTokenType.String("output"))...))
		return
	}
	set := metric.WithAttributeSet(attribute.NewSet(append(attrs, keyModality.String("unknown"))...))
	in.input.Add(ctx, int64(reported.Input), set)
	in.output.Add(ctx, int64(reported.Output), set)
	in.cacheRead.Add(ctx, int64(reported.CacheRead), set)
	in.cacheWrite.Add(ctx, int64(reported.CacheWrite), set)
}

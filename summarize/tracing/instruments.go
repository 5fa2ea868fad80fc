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
	usage       usage
}

// Bucket boundaries of histograms. Those of seconds and tokens are the conventions'.
var (
	inSeconds = metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
	inTokens  = metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
	inShares  = metric.WithExplicitBucketBoundaries(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
)

func newInstruments(m metric.Meter, n names) (in instruments, err error) {
	var errs [8]error
	in.renders, errs[0] = m.Float64Histogram("promptree.render.duration", metric.WithUnit("s"), inSeconds,
		metric.WithDescription("Duration of a render, with the compactions that it waits for."))
	in.pieces, errs[1] = m.Int64Counter("promptree.render.tokens", metric.WithUnit("{token}"),
		metric.WithDescription("Tokens of a prompt's pieces that were kept, trimmed off, or dropped for a reason."))
	in.ratio, errs[2] = m.Float64Histogram("promptree.render.budget.ratio", metric.WithUnit("1"), inShares,
		metric.WithDescription("Share of its budget that a prompt takes."))
	in.compactions, errs[3] = m.Int64Counter("promptree.compactions", metric.WithUnit("{compaction}"),
		metric.WithDescription("Compactions that ended, by policy, reason and outcome."))
	in.compacted, errs[4] = m.Int64Histogram("promptree.compaction.tokens", metric.WithUnit("{token}"), inTokens,
		metric.WithDescription("Tokens of the prompt before and after a compaction."))
	in.breaks, errs[5] = m.Int64Counter("promptree.cache.breaks", metric.WithUnit("{break}"),
		metric.WithDescription("Prompts that start differently from the one before, though nothing was compacted or cleared."))
	in.dollars, errs[6] = m.Float64Counter("promptree.cost", metric.WithUnit("{USD}"),
		metric.WithDescription("Dollars that requests to models with known prices cost."))
	in.requests, errs[7] = m.Float64Histogram(n.duration, metric.WithUnit("s"), inSeconds,
		metric.WithDescription("Duration of a request to a model."))
	var errUsage error
	in.usage, errUsage = newUsage(m, n)
	return in, errors.Join(append(errs[:], errUsage)...)
}

// usage holds the instruments of reported tokens: a histogram with the old names, counters with the latest.
type usage struct {
	histogram                            metric.Int64Histogram
	input, output, cacheRead, cacheWrite metric.Int64Counter
}

func newUsage(m metric.Meter, n names) (u usage, err error) {
	if !n.latest {
		u.histogram, err = m.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), inTokens,
			metric.WithDescription("Number of input and output tokens used."))
		return u, err
	}
	counter := func(name, description string) metric.Int64Counter {
		c, wrong := m.Int64Counter("gen_ai.client.inference.usage."+name, metric.WithUnit("{token}"), metric.WithDescription(description))
		err = errors.Join(err, wrong)
		return c
	}
	u.input = counter("input_tokens", "The number of input tokens used, including cached tokens.")
	u.output = counter("output_tokens", "The number of output tokens used, including reasoning tokens.")
	u.cacheRead = counter("cache_read.input_tokens", "The number of input tokens served from a provider's cache.")
	u.cacheWrite = counter("cache_write.input_tokens", "The number of input tokens written to a provider's cache.")
	return u, err
}

// record adds the usage of one request.
func (u usage) record(ctx context.Context, reported chat.Usage, attrs []attribute.KeyValue) {
	if u.histogram != nil {
		if reported == (chat.Usage{}) {
			return // nothing was reported
		}
		u.histogram.Record(ctx, int64(reported.Input), metric.WithAttributes(append(attrs, keyTokenType.String("input"))...))
		u.histogram.Record(ctx, int64(reported.Output), metric.WithAttributes(append(attrs, keyTokenType.String("output"))...))
		return
	}
	set := metric.WithAttributeSet(attribute.NewSet(append(attrs, keyModality.String("unknown"))...))
	u.input.Add(ctx, int64(reported.Input), set)
	u.output.Add(ctx, int64(reported.Output), set)
	u.cacheRead.Add(ctx, int64(reported.CacheRead), set)
	u.cacheWrite.Add(ctx, int64(reported.CacheWrite), set)
}

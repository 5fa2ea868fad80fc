package tracing_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/compacttest"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/tracing"
)

// BenchmarkStep measures a render of a session with 200 rounds and a request to a model that answers immediately.
func BenchmarkStep(b *testing.B) {
	recording := tracing.Options{
		TracerProvider: trace.NewTracerProvider(trace.WithBatcher(tracetest.NewNoopExporter())),
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
	}
	for _, test := range []struct {
		name    string
		options *tracing.Options
	}{{"none", nil}, {"noop", &tracing.Options{}}, {"recording", &recording}} {
		b.Run(test.name, func(b *testing.B) {
			d := compacttest.New(b, chat.UserMessage(compacttest.Task))
			d.Say(compacttest.Rounds(1, 200, 50)...)
			d.Observers = nil
			answer := chat.ModelFunc(models.Say("Yes."))
			d.Target = policy.Target{Model: answer, Tokenizer: compacttest.Quarter{}, Budget: 100_000, Name: "gpt-5.4"}
			if test.options != nil {
				tracer, err := tracing.New(*test.options)
				require.NoError(b, err)
				tracer.Attach(d.Compactor)
			}
			prompt := compacttest.Prompt(d.Session)
			b.ReportAllocs()
			for b.Loop() {
				result, err := d.Render(b.Context(), prompt)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := d.Target.Model.Generate(b.Context(), chat.Request{Messages: result.Messages}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

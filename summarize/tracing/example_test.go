package tracing_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/tracing"
)

// An agent whose steps are traced. The application sets up OpenTelemetry, here with an exporter that keeps spans in
// memory.
func Example() {
	ctx := context.Background()
	exported := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(exported)) // or call otel.SetTracerProvider and leave out the option below

	tracer, err := tracing.New(tracing.Options{TracerProvider: provider})
	if err != nil {
		log.Fatal(err)
	}
	session := &history.Session{}
	model := chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage("Hello."), Usage: chat.Usage{Input: 12, Output: 2}}, nil
	})
	compactor := &summarize.Compactor{
		Session: session, Policy: copilotchat.Policy(),
		Target: summarize.Target{Model: model, Name: "gpt-5.4", Tokenizer: sizing.Estimator{}, Budget: 8000},
	}
	defer compactor.Close()
	tracer.Attach(compactor)

	steps := &agent.Agent{Compactor: compactor, Prompt: el.Prompt(
		el.System(el.Text("You are polite.")),
		history.All{Session: session},
	)}
	if err := session.Append(ctx, chat.UserMessage("Good morning!")); err != nil {
		log.Fatal(err)
	}
	if _, err := steps.Step(ctx); err != nil {
		log.Fatal(err)
	}
	for _, span := range exported.GetSpans()[:2] { // the third is the render after the turn
		fmt.Println(span.Name)
		for _, attribute := range span.Attributes {
			if attribute.Key == "promptree.messages" || attribute.Key == "gen_ai.usage.input_tokens" {
				fmt.Println(" ", attribute.Key, attribute.Value.AsInt64())
			}
		}
	}
	// Output:
	// promptree.render
	//   promptree.messages 2
	// chat gpt-5.4
	//   gen_ai.usage.input_tokens 12
}

// Package tracing makes OpenTelemetry spans and metrics of what a compactor does: renders, compactions, and the requests to models.
// It needs the OpenTelemetry API; the SDK and exporters are the application's.
//
//	tracer, err := tracing.New(tracing.Options{}) // once, with the global providers
//	if err != nil {
//		return err
//	}
//	compactor := &summarize.Compactor{
//		Session: session, Policy: copilotcli.Policy(),
//		Target: summarize.Target{Model: model, Name: "gpt-5.4", Tokenizer: tokenizer, Budget: 100_000},
//	}
//	defer compactor.Close()
//	tracer.Attach(compactor) // for each compactor, before its first use
//
// Everything else stays as it is. [Tracer.Render] is for prompts that have no compactor. A model that the compactor is given later, by
// SwitchModel or Retarget, goes through [Conversation.Target] first.
//
// # Spans
//
//	promptree.render            a render, with the compactions that it waits for
//	└── compact                 a plan that is carried out
//	    └── chat gpt-5.4        a request for a summary
//	chat gpt-5.4                a request of the agent's
//
// The contexts of spans are those that elements, models, stores and hooks are called with, so what they trace themselves is below. A
// compaction that is made in the background begins below the render that began it, and outlives it: it ends with the outcome
// "ready", and an event of a later render says that it was put in place. Other events, such as old output that was cleared, a cache break or
// the last resort, are events of the span that they happened in, named for their [summarize.EventKind], such as promptree.cache_break. All
// spans have gen_ai.conversation.id, the session's.
//
// A model of an adapter that is traced by its own instrumentation has two spans a request, one in the other.
//
// # Metrics
//
//	promptree.render.duration        s          by promptree.reason, error.type
//	promptree.render.tokens          {token}    by promptree.outcome: kept, trimmed, dropped; dropped by promptree.reason too
//	promptree.render.budget.ratio    1          tokens of the prompt ÷ budget
//	promptree.compactions            {compaction}  by promptree.policy, promptree.reason, promptree.outcome
//	promptree.compaction.tokens      {token}    by policy and reason, and promptree.when: before, after
//	promptree.cache.breaks           {break}    by policy and promptree.change
//	promptree.cost                   {USD}      of requests to models with prices ([summarize.Target.Prices])
//	gen_ai.client.operation.duration s          of requests, with promptree.purpose: answer, summary
//	gen_ai.client.token.usage        {token}    of requests, as the provider reported it
//
// The outcomes of a compaction are those of [summarize.EventKind]: done, failed, postponed, vetoed, cancelled, discarded, dropped. Attributes of
// metrics are few words each; no session is among them.
//
// # Names
//
// Names are those of version 1.36.0 of the semantic conventions, and for what the provider's cache read and took in of 1.41.0. If the
// environment variable OTEL_SEMCONV_STABILITY_OPT_IN has gen_ai_latest_experimental in its list, they are those of version
// 0.1.0 of the conventions for generative AI (open-telemetry/semantic-conventions-genai):
//
//	gen_ai.system                              gen_ai.provider.name
//	gen_ai.usage.cache_creation.input_tokens   gen_ai.usage.cache_write.input_tokens
//	gen_ai.client.operation.duration           gen_ai.client.inference.duration
//	gen_ai.client.token.usage                  gen_ai.client.inference.usage.input_tokens, output_tokens,
//	                                           cache_read.input_tokens, cache_write.input_tokens
//
// With either, an answer to a prompt that shows a summary has gen_ai.conversation.compacted (0.1.0), and no other has. The conventions
// have nothing yet for compaction by an agent; "compact" is our own gen_ai.operation.name.
//
// # Content
//
// Nothing that is said is recorded, and neither is the text of errors, which may quote it: error.type says of which kind an error is. With
// [Options].Content, requests have gen_ai.input.messages and gen_ai.output.messages as JSON, compactions the summary, and spans that failed the
// error's text. Files in messages are named by their type alone.
//
// # What it costs
//
// With providers that record nothing, 80 allocations and 6 KB a step, which is a render and a request (BenchmarkStep): 3% of the time of a
// step with 600 pieces. If the span is sampled or promptree.render.tokens is collected, the report of the prompt is made at
// each render ([render.Result.Report]), which costs 7 allocations a piece and two thirds of the render's own time; a view that drops this
// metric, with spans that are sampled, saves it for the steps that are not. Metrics hold a few hundred bytes for each combination of
// attributes.
//
// # What goes wrong
//
// Exporters that fail are told to OpenTelemetry's error handler, and nothing else notices. A span processor or exporter that panics or
// takes more than 5 seconds, in the goroutine that ends a span, is told of as [summarize.Compactor.Tracer] says.
package tracing

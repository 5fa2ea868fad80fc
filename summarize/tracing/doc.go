// Package tracing makes OpenTelemetry spans and metrics of a compactor's work: renders, compactions, and requests to
// models. It needs only the OpenTelemetry API. The application sets up the SDK and exporters.
//
//	tracer, err := tracing.New(tracing.Options{}) // once, with the global providers
//	if err != nil {
//		return err
//	}
//	compactor := &summarize.Compactor{
//		Session: session,
//		Policy:  copilotcli.Policy(),
//		Target:  policy.Target{Model: model, Name: "gpt-5.4", Tokenizer: tokenizer, Budget: 100_000},
//	}
//	defer compactor.Close()
//	tracer.Attach(compactor) // for each compactor, before its first use
//
// Use the compactor as before. For a prompt without a compactor, call [Tracer.Render] in place of render.Render. If the
// compactor gets another model later, by SwitchModel or Retarget, pass its target through [Trace.Target] first.
//
// # Spans
//
//	promptree.render            a render, with the compactions that it waits for
//	└── compact                 a plan that is run
//	    └── chat gpt-5.4        a request for a summary
//	chat gpt-5.4                a request of the agent
//
// Elements, models, stores and hooks are called with the context of the current span, so spans that they start
// themselves are its children. If an adapter's model has its own instrumentation, each request has two spans, one
// within the other.
//
// A compaction in the background starts within the render that started it, and may outlive it. Its span ends with the
// outcome "ready". The later render that places the compaction has an event that says so.
//
// Other events, such as a clearing, a cache break or the last resort, are events of the span in which they happen. They
// are named after their [event.Kind], such as promptree.cache_break.
//
// All spans of a compactor have the session's id as gen_ai.conversation.id.
//
// # Metrics
//
//	promptree.render.duration         s             by promptree.reason, error.type
//	promptree.render.tokens           {token}       by promptree.outcome (kept, trimmed, dropped), and dropped
//	                                                tokens by promptree.reason
//	promptree.render.budget.ratio     1             tokens of the prompt ÷ budget
//	promptree.compactions             {compaction}  by promptree.policy, promptree.reason, promptree.outcome
//	promptree.compaction.tokens       {token}       by policy, reason, promptree.when (before, after)
//	promptree.cache.breaks            {break}       by policy, promptree.change
//	promptree.cost                    {USD}         of requests to models with prices, see policy.Target
//	gen_ai.client.operation.duration  s             of requests, by promptree.purpose (answer, summary)
//	gen_ai.client.token.usage         {token}       of requests, as the provider reported it
//
// The outcomes of a compaction are those of [event.Kind]: done, failed, postponed, vetoed, cancelled,
// discarded, dropped. Each attribute of a metric has few values; the session is not among them.
//
// # Names
//
// Names are those of version 1.36.0 of the semantic conventions, and those for reads and writes of the provider's cache
// are of version 1.41.0. If the environment variable OTEL_SEMCONV_STABILITY_OPT_IN lists gen_ai_latest_experimental,
// the names on the right replace those on the left. They are of version 0.1.0 of the conventions for generative AI
// (open-telemetry/semantic-conventions-genai):
//
//	gen_ai.system                             gen_ai.provider.name
//	gen_ai.usage.cache_creation.input_tokens  gen_ai.usage.cache_write.input_tokens
//	gen_ai.client.operation.duration          gen_ai.client.inference.duration
//	gen_ai.client.token.usage                 gen_ai.client.inference.usage.input_tokens, output_tokens,
//	                                          cache_read.input_tokens, cache_write.input_tokens
//
// In both cases the answer to a prompt that shows a summary has gen_ai.conversation.compacted, of version 0.1.0. The
// conventions do not cover compaction by an agent yet; "compact" is our own gen_ai.operation.name.
//
// # Content
//
// By default spans do not hold messages, summaries or the texts of errors, which may quote messages. The attribute
// error.type says what kind of error occurred. With [Options].Content, spans of requests have gen_ai.input.messages and
// gen_ai.output.messages as JSON, spans of compactions have the summary, and failed spans the error's text. Of files in
// messages only the type is recorded.
//
// # What it costs
//
// With providers that record nothing, a step (a render and a request) costs 80 allocations and 6 KB. This is 3% of the
// time of a step with 600 pieces (BenchmarkStep).
//
// If the span is sampled, or promptree.render.tokens is collected, each render also makes the report of the prompt
// ([render.Result.Report]). This costs 7 allocations a piece and two thirds of the render's own time. To save it, drop
// the metric with a view and sample the spans.
//
// Metrics hold a few hundred bytes for each combination of attributes.
//
// # What goes wrong
//
// Errors of exporters go to OpenTelemetry's error handler and affect nothing else. If a span processor or exporter
// panics or takes more than 5 seconds in the goroutine that ends a span, the compactor does not call the tracer again. The
// other observers hear of it; see [summarize.Observer].
package tracing

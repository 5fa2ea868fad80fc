// Package sizing counts what things cost, in tokens and in dollars, and how much of a context window a prompt may use.
//
// A [chat.Tokenizer] counts a text, a part, a message and a list of tools. Exact counters for OpenAI's models are in
// sizing/tiktoken; for a provider that publishes no tokenizer, [Calibrated] learns from the usage that it reports. A
// [Window] describes a model's context window, and [Window.Budget] returns how much of it a prompt may use:
//
//	window := sizing.Window{Tokens: 128_000, Answer: 8_000, Threshold: 0.8}
//	budget, err := window.Budget(tokenizer.CountTools(tools))
//
// [Prices] returns what a request costs in dollars, from reported or predicted usage:
//
//	prices, err := sizing.PublishedPrices().Of("claude-opus-4-5")
//	cost := prices.Of(response.Usage).Total()
//
// A [PromptCache] predicts how much of the next request is in the provider's prompt cache, from digests of the last
// request ([Sent]), its usage and the time, and names what changed in between.
//
// # What is exact
//
//   - Exact: text in OpenAI's encodings, and messages, roles, names and tool calls by the rule that OpenAI publishes.
//   - By each provider's formula: images, at the upper bound if their size is not known.
//   - Estimated: definitions of tools and documents. [Window.Budget] keeps 10% free if tools are declared.
//   - Estimated, calibrated by the usage that is reported, with a margin: all that Claude and Gemini read.
//   - Pruning goes one piece at a time until the exact count fits. With a tokenizer of your own whose counts do not add
//     up ([chat.Joiner]), several pieces are taken before the next count while a prompt is far too large.
package sizing

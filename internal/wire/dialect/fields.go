package dialect

// ThinkingFields are the fields of a Chat Completions message in which servers other than OpenAI's show thinking. It is
// sent back in the field in which it came.
//
//	reasoning_content   DeepSeek, Kimi, GLM, vLLM, SGLang, llama.cpp, LM Studio
//	reasoning           OpenRouter, Groq, Ollama, newer vLLM
//	reasoning_text      GitHub Copilot, beside reasoning_opaque
//
// It is a text, an object with a text (Bedrock's: envoyproxy/ai-gateway#1222) or a list of such (animachat#129).
var ThinkingFields = [...]string{"reasoning_content", "reasoning", "reasoning_text"}

// ThinkingChunk is the type of a part of the content that holds thinking, which is sent back as it came, and the signature
// of such thinking: Mistral (https://docs.mistral.ai/capabilities/reasoning, symfony/ai#2422).
const ThinkingChunk = "thinking"

// ReasoningChunk is the type of a part that holds thinking which is not sent back: Databricks' gpt-oss
// (databricks/appkit#559). Its texts stand in the field summary.
const ReasoningChunk = "reasoning"

// Tag is a pair of tags within which a model thinks at the start of its text, if the server has no parser for it.
type Tag struct{ Open, Close string }

// Tags are those that the chat templates of models know. Their thinking is not sent back: the templates drop it.
//
//	<think>         DeepSeek-R1, Qwen3, GLM, MiniMax
//	<thought>       Gemini by Google's Chat Completions (include_thoughts)
//	<seed:think>    Seed-OSS (vllm/reasoning/seedoss_reasoning_parser.py)
//	<thinking>      Claude and Gemini behind gateways, Qwen (qwen-code#8818)
//	[THINK]         Magistral (vllm/reasoning/mistral_reasoning_parser.py)
var Tags = []Tag{
	{"<think>", "</think>"}, {"<thought>", "</thought>"}, {"<seed:think>", "</seed:think>"},
	{"<thinking>", "</thinking>"}, {"[THINK]", "[/THINK]"},
}

// Fields is the type of an opaque part, or of a call's signature, with fields of a Chat Completions message, or of a
// call, that package chat has no place for.
const Fields = "chat.fields"

// Returned reports whether a field of an answer's message, or of a call in it, must come back in the next request to
// the same server. Any other field is kept, and comes back only if the model is told so, because some servers refuse
// what they sent (Groq: gptel#774, jan#8136; Cerebras: opencode#33413; Mistral: crush#1590).
func Returned(field string) bool { return returned[field] }

var returned = map[string]bool{
	"reasoning_details": true, // OpenRouter: https://openrouter.ai/docs/use-cases/reasoning-tokens
	"reasoning_opaque":  true, // GitHub Copilot
	"thinking_blocks":   true, // LiteLLM: https://docs.litellm.ai/docs/reasoning_content
	"audio":             true, // OpenAI

	// Of calls.
	"extra_content":            true, // Google: https://ai.google.dev/gemini-api/docs/thought-signatures, pi#7745
	"provider_specific_fields": true, // LiteLLM: https://docs.litellm.ai/docs/providers/gemini (thought signatures)
}

// Usages are the objects of an answer, a chunk or a choice in which the usage stands: OpenAI's place, of a choice Kimi's
// in a stream (pi#2017), and Groq's.
var Usages = [][]string{{"usage"}, {"x_groq", "usage"}}

// The fields of a usage, in the order in which they are asked for.
//
//	prompt_tokens_details     OpenAI, vLLM, OpenRouter, GLM
//	cached_tokens             Kimi (pi#8075)
//	prompt_cache_hit_tokens   DeepSeek: https://api-docs.deepseek.com/guides/kv_cache
//	cache_…_input_tokens      LiteLLM
var (
	Input      = [][]string{{"prompt_tokens"}, {"input_tokens"}}
	Output     = [][]string{{"completion_tokens"}, {"output_tokens"}}
	CacheRead  = [][]string{{"prompt_tokens_details", "cached_tokens"}, {"cached_tokens"}, {"prompt_cache_hit_tokens"}, {"cache_read_input_tokens"}, {"input_tokens_details", "cached_tokens"}}
	CacheWrite = [][]string{{"prompt_tokens_details", "cache_write_tokens"}, {"cache_creation_input_tokens"}, {"prompt_tokens_details", "cache_creation_tokens"}}

	CacheWriteLong = [][]string{{"prompt_tokens_details", "cache_write_tokens_details", "ttl_12h_tokens"}}
)

package refusal_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider/refusal"
)

// quote is an error of a provider, a gateway or a server, word for word as the source quotes it, shortened at the
// ends only.
type quote struct {
	provider      string
	status        int // 0 if the source does not name it
	said, source  string
	limit, tokens int
}

const (
	// Errors that a script recorded from the live services.
	captured = "https://github.com/danny-avila/agents/blob/main/src/utils/__tests__/fixtures/contextOverflowSignatures.ts"
	// Errors that another agent's tests hold.
	collected = "https://github.com/iamclancyliang/pi-go/issues/37"
)

// tooLarge are refusals of requests that are larger than the context window. Read on 2026-11-22.
var tooLarge = []quote{
	{"Anthropic", 400, `400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 219898 tokens > 200000 maximum"},"request_id":"req_011CVjxiYzEFcAQC4Fk87zw2"}`, "https://github.com/earendil-works/pi/issues/102", 200000, 219898},
	{"Anthropic", 0, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again\"}}", "https://github.com/continuedev/continue/issues/6080", 200000, 199759},
	{"Anthropic", 0, "input length and max_tokens exceed context limit: 90402 + 116650 > 204648, decrease input length or max_tokens and try again", "https://github.com/stackblitz/bolt.new/issues/7414", 204648, 90402},
	{"Anthropic", 413, `413 {"type":"error","error":{"type":"invalid_request_error","message":"Request size exceeds model context window"},"request_id":"req_011CSPcw1jaHBKxvgq8Kga6G"}`, "https://github.com/anthropics/claude-code/issues/6380", 0, 0},
	{"Bedrock, Claude", 0, "The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum", "https://github.com/daisuke-awaji/moca/issues/254", 200000, 200049},
	{"Bedrock, Claude", 0, "EventStreamError: An error occurred (validationException) when calling the InvokeModelWithResponseStream operation: Input is too long for requested model.", "https://github.com/aws-samples/bedrock-chat/issues/95", 0, 0},
	{"Bedrock, Claude", 400, "ValidationException: Input is too long for requested model.", "https://github.com/aws-samples/assessment-generator/issues/2", 0, 0},
	{"Bedrock, Nova", 200, "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.", captured, 0, 0},
	{"Bedrock, Llama 3.1", 200, "The model returned the following errors: This model's maximum context length is 131072 tokens. Please reduce the length of the prompt", captured, 131072, 0},
	{"Bedrock, Llama 4", 0, "maximum context length is 1048576 tokens", "https://github.com/NousResearch/hermes-agent/pull/98726", 1048576, 0},
	{"OpenAI", 0, `{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, "https://github.com/chathub-dev/chathub/issues/126", 4097, 4294},
	{"OpenAI", 0, "openai.error.InvalidRequestError: This model's maximum context length is 4097 tokens. However, you requested 4203 tokens (3703 in the messages, 500 in the completion). Please reduce the length of the messages or completion.", "https://github.com/The-Vibe-Company/quivr/issues/505", 4097, 3703},
	{"OpenAI, completions", 0, "InvalidRequestError: This model's maximum context length is 4097 tokens, however you requested 4322 tokens (4066 in your prompt; 256 for the completion). Please reduce your prompt; or completion length.", "https://github.com/nicknochnack/LangchainDocuments/issues/2", 4097, 4066},
	{"OpenAI, completions", 0, "OpenAI error: This model's maximum context length is 2049 tokens, however you requested 2054 tokens (2049 in your prompt, 5 for the completion). Please reduce your prompt or completion length.", "https://github.com/stanford-crfm/helm/issues/94", 2049, 2049},
	{"OpenAI, GPT-5", 400, "400 Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 289650 tokens. Please reduce the length of the messages.", "https://github.com/cline/cline/issues/5474", 272000, 289650},
	{"OpenAI, responses", 0, `{"type":"error","sequence_number":2,"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again.","param":"input"}}`, "https://github.com/anomalyco/opencode/issues/6071", 0, 0},
	{"OpenAI, responses", 0, "Your input exceeds the model's context window", "https://github.com/code-yeongyu/senpi/pull/1466", 0, 0},
	{"Azure OpenAI", 400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 10383 tokens. Please reduce the length of the messages. Status: 400 (model_error) ErrorCode: context_length_exceeded", "https://github.com/microsoft/kernel-memory/issues/516", 8192, 10383},
	{"Azure AI Inference", 0, "(context_length_exceeded) This model's maximum context length is 128000 tokens. However, you requested 1124171 tokens (124171 in the messages, 1000000 in the completion). Please reduce the length of the messages or completion.", "https://github.com/Azure/azure-sdk-for-python/issues/40986", 128000, 124171},
	{"Azure OpenAI", 0, "AzureException BadRequestError - Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.", "https://github.com/BerriAI/litellm/issues/15968", 272000, 509178},
	{"Gemini", 400, `google.genai.errors.ClientError: 400 INVALID_ARGUMENT. {'error': {'code': 400, 'message': 'The input token count (81881) exceeds the maximum number of tokens allowed (65536).', 'status': 'INVALID_ARGUMENT'}}`, "https://github.com/googleapis/python-genai/issues/2466", 65536, 81881},
	{"Gemini", 400, "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", "https://github.com/google-gemini/gemini-cli/issues/6678", 1048576, 1200293},
	{"Gemini", 400, `"message": "The input token count (154364) exceeds the maximum number of tokens 
  allowed (131072).",`, "https://github.com/google-gemini/gemini-cli/issues/12469", 131072, 154364},
	{"Gemini", 400, "The input token count exceeds the maximum number of tokens allowed (1048576).", "https://github.com/arkavo-org/arkavo-edge/issues/371", 1048576, 0},
	{"Vertex AI", 400, "Vertex AI API error: Error 400, Message: The input token count exceeds the maximum number of tokens allowed 1048576., Status: INVALID_ARGUMENT, Details: []", "https://github.com/warpdotdev/warp/issues/15662", 1048576, 0},
	{"Gemini", 0, "Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again. You can also use the CountTokens API to calculate prompt token count and billable characters.", "https://github.com/google-gemini/gemini-cli/issues/19727", 1048576, 1251952},
	{"Mistral", 400, `{"object":"error","message":"Prompt contains 170397 tokens and 0 draft tokens, too large for model with 131072 maximum context length","type":"invalid_request_invalid_args","param":null,"code":"3051","raw_status_code":400}`, captured, 131072, 170397},
	{"Cohere", 0, "CohereError: too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.", "https://github.com/cohere-ai/sandbox-topically/issues/4", 2048, 6354},
	{"Writer", 0, "Total number of tokens (prompt+generation) exceeded the service limit of 2048 tokens. Please make the prompt shorter or reduce the number of tokens to generate.", "https://github.com/stanford-crfm/helm/issues/1571", 2048, 0},
	{"xAI", 400, `400 "This model's maximum prompt length is 131072 but the request contains 136973 tokens."`, "https://github.com/cline/cline/issues/3120", 131072, 136973},
	{"Groq", 400, `groq.BadRequestError: Error code: 400 - {'error': {'message': 'Please reduce the length of the messages or completion.', 'type': 'invalid_request_error', 'param': 'messages', 'code': 'context_length_exceeded'}}`, "https://github.com/ScrapeGraphAI/Scrapegraph-ai/issues/411", 0, 0},
	{"Cerebras", 400, "400 Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000", "https://github.com/cline/cline/issues/5140", 40000, 42328},
	{"Cerebras", 413, "413 status code (no body)", "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts", 0, 0},
	{"DeepSeek", 400, "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion).", "https://github.com/evalstate/fast-agent/issues/621", 131072, 122942},
	{"DeepSeek", 400, "400 This model's maximum context length is 1048565 tokens. However, you requested 1179668 tokens (1179652 in the messages, 16 in the completion). Please reduce the length of the messages or completion.", captured, 1048565, 1179652},
	{"Kimi", 0, "Invalid request: Your request exceeded model token limit: 262144 (requested: 287431)", "https://github.com/BigPizzaV3/CodexPlusPlus/issues/1803", 262144, 287431},
	{"Kimi", 400, "code: 400 - {'error': {'message': 'model max length exceeded, max length:8192',", "https://github.com/MoonshotAI/MoonshotAI-Cookbook/issues/18", 8192, 0},
	{"Z.ai", 400, "Error code: 400 - {'code': '1261', 'message': 'Prompt exceeds max length'}", "https://github.com/mangowhoiscloud/geode/pull/668", 0, 0},
	{"Z.ai", 0, "Input should be 'stop', 'length', 'tool_calls', 'content_filter' or 'function_call' [type=literal_error, input_value='model_context_window_exceeded', input_type=str]", "https://github.com/mozilla-ai/any-llm/issues/1200", 0, 0},
	{"Z.ai", 0, "API Error: The model has reached its context window limit.", "https://github.com/modu-ai/moai-adk/issues/676", 0, 0},
	{"DashScope", 400, "OpenAI API error: 400 <400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]", "https://github.com/QwenLM/qwen-code/issues/98", 204800, 0},
	{"DashScope", 400, "openai.BadRequestError: Error code: 400 - {'error': {'code': 'invalid_parameter_error', 'message': '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]', 'param': None, 'type': 'invalid_request_error'}", "https://github.com/agentscope-ai/QwenPaw/issues/6255", 983616, 0},
	{"DashScope", 0, `{"code":"InvalidParameter","message":"Range of input length should be [1, 6000]","request_id":"xxxxxx-xxx-xxx-xxx-xxx"}`, "https://github.com/LLM-Red-Team/qwen-free-api/issues/23", 6000, 0},
	{"MiniMax", 0, "invalid params, context window exceeds limit (2013)", "https://github.com/MiniMax-AI/MiniMax-M2/issues/119", 0, 0}, // 2013 is the code of the error
	{"SiliconFlow", 0, "length of prompt_tokens (57535) must be less than max_seq_len (32768)", "https://github.com/langgenius/dify/issues/19394", 32768, 57535},
	{"OpenRouter", 400, `Error: 400 This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.`, "https://github.com/refly-ai/refly/issues/1177", 32768, 42832},
	{"OpenRouter", 400, `{'error': {'message': 'This endpoint\'s 
maximum context length is 131072 tokens. However, you requested about 141607 
tokens (10535 of text input, 131072 in the output). Please reduce the length of 
either one, or use the "middle-out" transform to compress your prompt 
automatically.', 'code': 400, 'metadata': {'provider_name': 'Chutes'}}}`, "https://github.com/Aider-AI/aider/issues/3721", 131072, 10535},
	{"OpenRouter", 0, "This endpoint's maximum context length is 204800 tokens. However, you requested about 205432 tokens (81684 of text input, 3748 of tool input, 120000 in the output). Please reduce the length of either one [...]", "https://github.com/boldsoftware/shelley/issues/159", 204800, 85432},
	{"OpenRouter", 400, "400 This endpoint's maximum context length is 32768 tokens. However, you requested about 56827 tokens (56811 of text input, 16 in the output). Please reduce the length of either one, or use the context-compression plugin to compress your prompt automatically.", captured, 32768, 56811},
	{"Poolside", 0, "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", collected, 131040, 131393},
	{"Together", 0, "The input (516368 tokens) is longer than the model's context length (262144 tokens).", collected, 262144, 516368},
	{"Together", 0, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2019 `inputs` tokens and 30 `max_new_tokens`", "https://github.com/stanford-crfm/helm/pull/2079", 2048, 2019},
	{"Fireworks", 0, `"message":"The prompt is too long: 40177, model maximum context length: 32767"}}`, "https://github.com/fw-ai/cookbook/issues/134", 32767, 40177},
	{"NVIDIA NIM", 400, `Error code: 400 - {'error': {'message': "This model's maximum context length is 196608
   tokens. However, your messages resulted in 199906 tokens. Please reduce the length of
   the messages.", 'type': 'Bad Request', 'code': 400}} (request_id=req_e60975c13a6c)`, "https://github.com/Alishahryar1/free-claude-code/issues/391", 196608, 199906},
	{"GitHub Copilot", 400, `400 {"error":{"message":"prompt token count of 138898 exceeds the limit of 64000","code":"model_max_prompt_tokens_exceeded"}}`, "https://github.com/microsoft/copilot-intellij-feedback/issues/94", 64000, 138898},
	{"GitHub Copilot", 400, `Request Failed: 400 {"error":{"message":"prompt token count of 65446 exceeds the limit of 64000","param":"","code":"","type":""}}`, "https://github.com/microsoft/vscode-copilot-release/issues/6700", 64000, 65446},
	{"GitHub Copilot", 400, "CAPIError: 400 prompt token count of 184399 exceeds the limit of 128000", "https://github.com/microsoft/vscode/issues/293419", 128000, 184399},
	{"GitHub Models", 413, "413 Request body too large for gpt-4o model. Max size: 8000 tokens", "https://github.com/cline/cline/issues/2115", 8000, 0},
	{"Cloudflare Workers AI", 400, `AiError: This model's maximum context length is 131072 tokens.
However, you requested 16000 output tokens and your prompt contains
at least 115073 input tokens, for a total of at least 131073 tokens.
Please reduce the length of the input prompt or reduce max_tokens.`, "https://github.com/cloudflare/cloudflare-docs/issues/29731", 131072, 115073},
	{"Cloudflare Workers AI", 0, "Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total of 256878 tokens: 31216 tokens from the input messages and 225662 tokens for the completion.", "https://github.com/anomalyco/models.dev/pull/4422", 256000, 31216},
	{"LiteLLM", 0, `litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicError - {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209353 tokens > 199999 maximum"}}`, "https://github.com/entropy-research/Devon/issues/88", 199999, 209353},
	{"LiteLLM", 503, "Error: 503 litellm.ServiceUnavailableError: litellm.MidStreamFallbackError: litellm.APIConnectionError: APIConnectionError: OpenAIException - Requested token count exceeds the model's maximum context length of 131072 tokens.", "https://github.com/earendil-works/pi/issues/4563", 131072, 0},
	{"LiteLLM", 0, "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - This model's maximum context length is 16384 tokens. However, your request has 19427 input tokens. Please reduce the length of the input messages. (parameter=input_tokens, value=19427)", "https://github.com/agent0ai/agent-zero/issues/1102", 16384, 19427},
	{"LiteLLM", 0, "ContextWindowExceededError: OpenAIException - Input tokens exceed the configured limit of 272000 tokens.", "https://github.com/BerriAI/litellm/issues/18927", 272000, 0},
	{"LibreChat", 0, "Prompt token count of 5677 exceeds max token count of 4095.", "https://github.com/danny-avila/LibreChat/issues/2402", 4095, 5677},
	{"a proxy", 413, "413 Request Entity Too Large", "https://github.com/CherryHQ/cherry-studio/issues/20938", 0, 0},
	{"HTTP", 413, "413 Payload Too Large", "https://github.com/mdn/translated-content/pull/12377", 0, 0},
	{"HTTP", 413, "413 Content Too Large", "https://github.com/mdn/translated-content/pull/12377", 0, 0},
	{"a server of OpenAI's interface", 400, "You passed 99073 input tokens and requested 32000 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 99072 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=99073)", "https://github.com/anomalyco/opencode/issues/17746", 131072, 99073},
	{"a server of OpenAI's interface", 0, "Input length (265330) exceeds model's maximum context length (262144).", collected, 262144, 265330},
	{"a server of OpenAI's interface", 0, "tokens in request more than max tokens allowed", "https://github.com/anomalyco/opencode/issues/27519", 0, 0},
	{"vLLM", 400, `Error code: 400 - {'object': 'error', 'message': "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion). Please reduce the length of the messages or completion. None", 'type': 'BadRequestError', 'param': None, 'code': 400}`, "https://github.com/vllm-project/vllm/issues/20409", 16384, 9591},
	{"a server of OpenAI's interface", 400, `Error code: 400 - {'object': 'error', 'message': "This model's maximum context length is 131072 tokens. However, you requested 351430 tokens. Please reduce the length of the messages or completion.",`, "https://github.com/THUDM/LongBench/issues/104", 131072, 351430},
	{"a server of OpenAI's interface", 0, "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=134145)", "https://github.com/AIDotNet/OpenCowork/issues/82", 262144, 134145},
	{"a server of OpenAI's interface", 400, "Error: 400 'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is      64001 tokens and your request has 24235 input tokens (64000 > 64001 - 24235). None", "https://github.com/claude-code-best/claude-code/issues/272", 64001, 24235},
	{"a server of OpenAI's interface", 400, `Invalid status code 400 Bad Request with message: {"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 131072 output tokens and your prompt contains 14233 characters (more than 0 characters, which is the upper bound for 0 input tokens). Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_text, value=14233)","type":"BadRequestError","param":"input_text","code":400}}`, "https://github.com/gi-dellav/zerostack/issues/22", 131072, 0},
	{"vLLM", 0, "ValueError: The decoder prompt (length 337896) is longer than the maximum model length of 128000.", "https://github.com/EvolvingLMMs-Lab/lmms-eval/issues/711", 128000, 337896},
	{"vLLM", 0, "ValueError: The decoder prompt (length 44) is longer than the maximum model length of 16.", "https://github.com/google/tunix/pull/222", 0, 0},
	{"vLLM", 0, "ValueError: Prompt length of 5016 is longer than the maximum model length of 4096", "https://github.com/hiyouga/LlamaFactory/issues/7723", 4096, 5016},
	{"vLLM behind Xinference", 500, "openai.InternalServerError: Error code: 500 - {'detail': '[address=0.0.0.0:43769, pid=1065] The decoder prompt (length 66501) is longer than the maximum model length of 65536. Make sure that `max_model_len` is no smaller than the number of text tokens.'}", "https://github.com/langchain-ai/deepagents/issues/468", 65536, 66501},
	{"SGLang", 400, `{"object":"error","message":"The input (61709 tokens) is longer than the model\'s context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}`, "https://github.com/QwenLM/Qwen3/issues/1321", 40960, 61709},
	{"SGLang", 0, "[Error]Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).", "https://github.com/sgl-project/sglang/issues/4048", 59862, 160062},
	{"llama.cpp", 400, `{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error"`, "https://github.com/ggml-org/llama.cpp/issues/19774", 4096, 4390},
	{"llama.cpp", 500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, "https://github.com/ggml-org/llama.cpp/issues/19774", 0, 0},
	{"llama.cpp", 500, `{
    "error": {
        "code": 500,
        "message": "the request exceeds the available context size. try increasing the context size or enable context shift",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 1407,
        "n_ctx": 256
    }
}`, "https://github.com/ggml-org/llama.cpp/pull/15780", 256, 1407},
	{"llama.cpp", 0, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`, "https://github.com/oobabooga/textgen/issues/7257", 8192, 14429},
	{"llama-cpp-python", 0, "ValueError: Requested tokens (516) exceed context window of 512", "https://github.com/rllm-team/rllm/issues/55", 512, 516},
	{"Ollama", 400, "400 `prompt too long; exceeded max context length by 100918 tokens`", "https://github.com/earendil-works/pi/issues/2626", 0, 0},
	{"Ollama", 400, "the input length exceeds the context length", "https://github.com/nano-step/nano-brain/issues/208", 0, 0},
	{"LM Studio", 0, "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546", 32768, 111490},
	{"LM Studio", 400, `API Error: 400 {"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).`, "https://github.com/Gitlawb/openclaude/issues/353", 4096, 13055},
	{"LM Studio", 0, "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input", "https://github.com/anomalyco/opencode/issues/2259", 0, 0},
	{"LM Studio", 0, "Input length 1581 exceeds context length 1500", "https://github.com/lmstudio-ai/model-catalog/issues/38", 1500, 1581},
	{"Text Generation Inference", 422, "422 \"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`\"", "https://github.com/bytedance/UI-TARS-desktop/issues/626", 65537, 79993},
	{"Text Generation Inference", 422, "Input validation error: `inputs` must have less than 4096 tokens. Given: 4545", "https://github.com/meta-llama/llama/issues/1103", 4096, 4545},
	{"Text Generation Inference", 0, "Input validation error: `inputs` tokens + `max_new_tokens`  must be <= 1512. Given: 603 `inputs tokens and 1024 `max_new_tokens", "https://github.com/huggingface/chat-ui/issues/327", 1512, 603},
	{"TensorRT-LLM", 0, "Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)", "https://github.com/triton-inference-server/tensorrtllm_backend/issues/141", 2048, 5056},
	{"TensorRT-LLM", 0, "Encountered an error when fetching new request: Prompt length (200) exceeds maximum input length (1)", "https://github.com/triton-inference-server/tensorrtllm_backend/issues/565", 0, 200},
	{"TabbyAPI", 0, "ValueError: Request length 71599 + 2048 is greater than max_seq_len 65536", "https://github.com/SillyTavern/SillyTavern/issues/3543", 65536, 71599},
	{"mlx-serve", 400, "API Error: 400 Prompt exceeds maximum context length", "https://github.com/ddalcu/mlx-serve/issues/66", 0, 0},
	{"DS4", 0, "Prompt has 256468 tokens, but the configured context size is 256000 tokens", collected, 256000, 256468},
	{"GPT4All", 0, "ERROR: The prompt size exceeds the context window size and cannot be processed.", "https://github.com/nomic-ai/gpt4all/issues/664", 0, 0},
}

// ofTheBody are refusals of requests with too many bytes or images, and those of proxies. Read on 2026-11-24.
var ofTheBody = []quote{
	{provider: "Anthropic", status: 413, said: `413 {"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, source: "https://github.com/earendil-works/pi/issues/2734"},
	{provider: "Bedrock", said: "botocore.errorfactory.ValidationException: An error occurred (ValidationException) when calling the InvokeModel operation: Malformed input request: expected maxLength: 42000, actual: 46735, please reformat your input and try again.", source: "https://github.com/ryanadoty/Amazon-Bedrock-Amazon-RDS-POC/issues/9"},
	{provider: "Bedrock", said: "ValidationException: An error occurred (ValidationException) when calling the InvokeModel operation: 1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000", source: "https://github.com/langchain-ai/langchain-aws/issues/419"},
	{provider: "GitHub Copilot", status: 413, said: "413 failed to parse request", source: "https://github.com/can1357/oh-my-pi/issues/271"},
	{provider: "a proxy", status: 413, said: "OpenAI API error (413): 413 Failed to buffer the request body: length limit exceeded", source: "https://github.com/CherryHQ/cherry-studio/issues/20938"},
	{provider: "Anthropic", status: 413, said: "anthropic._exceptions.RequestTooLargeError: Error code: 413 - {'error': {'type': 'request_too_large', 'message': 'Request exceeds the maximum size'}}", source: "https://github.com/anthropics/anthropic-sdk-python/issues/938"},
	{provider: "Anthropic", status: 400, said: `API Error: 400 
     {"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0.image.source.base64: image 
     exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes"},"request_id":"req_011CXKmJsXLyKCAJCQBNzbJZ"}`, source: "https://github.com/anthropics/claude-code/issues/19631"},
	{provider: "Anthropic", status: 400, said: `API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"messages.
    7.content.2.image.source.base64.data: At least one of the image dimensions exceed max 
    allowed size: 8000 pixels"}}`, source: "https://github.com/anthropics/claude-code/issues/4778"},
	{provider: "Anthropic", status: 400, said: `400 {"type":"error","error":{"type":"invalid_request_error","message":"messages.88.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"},"request_id":"req_011CaKtJYekye4QcsDYWLJhf"}`, source: "https://github.com/anthropics/claude-code/issues/52220"},
	{provider: "Anthropic", said: "An image in the conversation exceeds the dimension limit for many-image requests (2000px). Run /compact to remove old images from context, or start a new        session.", source: "https://github.com/anthropics/claude-code/issues/52220"},
	{provider: "Bedrock, Claude", said: "too many images and documents: 21 + 0 > 20", source: "https://github.com/cline/cline/issues/1844"},
	{provider: "Bedrock", status: 400, said: "ValidationException: An error occurred (ValidationException) when calling the InvokeModel operation: 400 Bad Request: Image exceeds max pixels allowed. ", source: "https://github.com/aws-samples/video-semantic-search-with-aws-ai-ml-services/issues/4"},
	{provider: "OpenAI", said: "Total image size is 50.6MB, which exceeds the allowed limit of 50.0MB.", source: "https://github.com/open-webui/open-webui/issues/26967"},
	{provider: "OpenAI", status: 400, said: "error, status code: 400, message: Too many images in request. Max is 10.", source: "https://github.com/the-open-agent/openagent/issues/874"},
	{provider: "OpenAI", status: 400, said: `openai.BadRequestError: Error code: 400 - {'error': {'message': "Invalid 'input[0].content': string too long. Expected a string with maximum length 10485760, but got a string with length 62114761 instead.", 'type': 'invalid_request_error', 'param': 'input[0].content', 'code': 'string_above_max_length'}}`, source: "https://github.com/VectorlyApp/bluebox/issues/31"},
	{provider: "OpenAI behind Cloudflare", status: 413, said: "unexpected status 413 Payload Too Large: <html> <head><title>413 Payload Too Large</title></head> <body> <center><h1>413 Payload Too Large</h1></center> <hr><center>cloudflare</center> </body> </html>, url: https://chatgpt.com/backend-api/codex/responses/compact, cf-ray: 9cc204458e2a8075-SJC", source: "https://github.com/openai/codex/issues/11478"},
	{provider: "Kimi behind nginx", status: 413, said: `LLM provider error: <html>
<head><title>413 Request Entity Too Large</title></head>
<body>
<center><h1>413 Request Entity Too Large</h1></center>
<hr><center>nginx</center>
</body>
</html>`, source: "https://github.com/MoonshotAI/kimi-cli/issues/1222"},
	{provider: "nginx", status: 413, said: `<html>
<head><title>413 Request Entity Too Large</title></head>
<body>
<center><h1>413 Request Entity Too Large</h1></center>
<hr><center>nginx/1.26.1</center>
</body>
</html>`, source: "https://github.com/open-webui/open-webui/issues/3273"},
	{provider: "OpenResty", status: 413, said: `<html>
<head><title>413 Request Entity Too Large</title></head>
<body>
<center><h1>413 Request Entity Too Large</h1></center>
<hr><center>openresty</center>
</body>
</html>`, source: "https://github.com/CosmosShadow/gptpdf/issues/33"},
	{provider: "a proxy", status: 413, said: `unexpected status 413 Payload Too Large: {"error":"request body too large"}, url: https://ccv2.celion.io/v1/responses`, source: "https://github.com/openai/codex/issues/39617"},
	{provider: "a proxy", status: 413, said: "unexpected status 413 Payload Too Large: response.create is too large for upstream websocket (18915698 bytes > 15728640 bytes). Reduce historical images/screenshots or compact the thread., url: http://127.0.0.1:2455/backend-api/codex/responses, request id: 434de1f2-eeb7-4a0a-8690-efe763b124a1", source: "https://github.com/Soju06/codex-lb/issues/488"},
	{provider: "a proxy", status: 413, said: `[API Error: {"error":{"message":"Maximum request body size 1048576 exceeded, actual body size 1056562","code":413,"status":"Request Entity Too Large"}}]`, source: "https://github.com/google-gemini/gemini-cli/issues/13776"},
	{provider: "LiteLLM", said: `litellm.APIError: APIError: OpenAIException - <!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Error</title>
</head>
<body>
<pre>PayloadTooLargeError: request entity too large<br> &nbsp; &nbsp;at readStream`, source: "https://github.com/lutzleonhardt/copilot-proxy/issues/4"},
	{provider: "LiteLLM", status: 400, said: `Request failed: Bad request (400): litellm.BadRequestError: OpenAIException - {"object":"error","message":"Image count 6 exceeds limit 4 per request.","type":"BadRequestError","param":null,"code":400}.`, source: "https://github.com/AgnesAI-Labs/AgnesCode/issues/61"},
	{provider: "OpenRouter", status: 400, said: `{
  "error": {
    "message": "Provider returned error",
    "code": 400,
    "metadata": {
      "raw": "{\"error\":{\"type\":\"invalid_request_error\",\"code\":\"invalid_request_error\",\"message\":\"Model 'moonshotai/kimi-k2.6' supports at most 1 image per prompt.\",\"request_id\":\"req_*******\"}}",
      "provider_name": "Crucible",
      "is_byok": false
    }
  },
  "user_id": "user_***************"
}`, source: "https://github.com/diegosouzapw/OmniRoute/issues/3044"},
	{provider: "GitHub Copilot", status: 413, said: `Request Failed: 413 {"error":{"message":"failed to parse request","code":""}}`, source: "https://github.com/microsoft/vscode/issues/293565"},
	{provider: "GitHub Copilot", said: "The attached image or document is too large to send natively through CAPI Responses. Try a smaller attachment or fewer attachments. (9.1 MB request; 5.0 MB limit)", source: "https://github.com/github/app/issues/788"},
	{provider: "GitHub Copilot", said: "The request is too large to send through CAPI Responses. Try shortening the conversation or prompt. (6.5 MB request; 5.0 MB limit)", source: "https://github.com/github/app/issues/788"},
	{provider: "GitHub Copilot", said: "The request contains too many images: 11 images were provided, but the model supports a maximum of 10 images.", source: "https://github.com/microsoft/vscode/issues/303825"},
	{provider: "Gemini", said: "Request payload size exceeds the limit: 4194304 bytes.", source: "https://github.com/google-gemini/deprecated-generative-ai-android/issues/26"},
	{provider: "DashScope", status: 400, said: "[API Error: 400 Exceeded limit on max bytes to request body : 6291456]", source: "https://github.com/QwenLM/qwen-code/issues/371"},
	{provider: "DashScope", status: 400, said: "[API Error: 400 String value length (20054016) exceeds the maximum allowed (20000000, from `StreamReadConstraints.getMaxStringLength()`)]", source: "https://github.com/QwenLM/qwen-code/issues/1082"},
	{provider: "DashScope", status: 400, said: "Exceeded limit on max data-uri per request: 250", source: "https://github.com/NousResearch/hermes-agent/pull/104914"},
	{provider: "Fireworks", status: 400, said: "Too many images were provided, we currently limit the number of images per conversation to 60", source: "https://github.com/NousResearch/hermes-agent/pull/104914"},
	{provider: "vLLM", status: 400, said: "{'object': 'error', 'message': 'At most 5 image(s) may be provided in one request.', 'type': 'BadRequestError', 'param': None, 'code': 400}", source: "https://github.com/vllm-project/vllm/issues/17092"},
	{provider: "Vercel", status: 413, said: "413 Payload Too Large (Vercel Error: FUNCTION_PAYLOAD_TOO_LARGE)", source: "https://github.com/yk/litter/issues/4"},
}

// withoutWords are errors of HTTP status 400 that say nothing. Read on 2026-11-24.
var withoutWords = []quote{
	{provider: "Vertex AI", said: "Google request failed with status code 400", source: captured},
	{provider: "Cerebras", status: 400, said: "Error: 400 status code (no body)", source: "https://github.com/earendil-works/pi/issues/4940"},
	{provider: "oMLX", status: 400, said: "HTTP 400: status code (no body)", source: "https://github.com/jundot/omlx/issues/169"},
	{provider: "GitHub Copilot", status: 400, said: "Request Failed: 400 Bad Request", source: "https://github.com/microsoft/vscode-copilot-release/issues/5148"},
	{provider: "OpenAI, Codex", status: 400, said: `{"detail":"Bad Request"}`, source: "https://github.com/openai/codex/issues/11478"},
	{provider: "OpenRouter", status: 400, said: "400 Provider returned error", source: "https://github.com/diegosouzapw/OmniRoute/issues/3044"},
}

// notTooLarge are errors that mention tokens, limits or contexts, but are not about the context window. Read on
// 2026-11-22.
var notTooLarge = []quote{
	{provider: "OpenAI", status: 429, said: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.", source: "https://github.com/vanna-ai/vanna-flask/issues/11"},
	{provider: "OpenAI", status: 429, said: "API returned unexpected status code: 429: Rate limit reached for gpt-4o in organization XXXXXXXXX on tokens per min (TPM): Limit 30000, Used 14567, Requested 24754. Please try again in 18.642s.", source: "https://github.com/semanser/codel/issues/72"},
	{provider: "OpenAI", status: 429, said: "This request exceeds the limit of 30000 tokens per minute", source: "https://github.com/code-yeongyu/senpi/pull/1466"},
	{provider: "OpenAI", status: 429, said: "Error code: 429 - {'error': {'message': 'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.', 'type': 'insufficient_quota', 'param': None, 'code': 'insufficient_quota'}}", source: "https://github.com/jekalmin/extended_openai_conversation/issues/147"},
	{provider: "OpenAI", said: "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.", source: "https://github.com/ChatGPTNextWeb/NextChat/issues/3195"},
	{provider: "OpenAI", status: 400, said: "Invalid 'input[95].call_id': string too long. Expected a string with maximum length 64, but got a string with length 116 instead.", source: "https://github.com/AnswerDotAI/fastllm/issues/45"},
	{provider: "OpenAI, embeddings", status: 400, said: "Error code: 400 - {'error': {'message': 'Requested 319487 tokens, max 300000 tokens per request', 'type': 'max_tokens_per_request', 'param': None, 'code': 'max_tokens_per_request'}}", source: "https://github.com/ridgesai/ridges-old/pull/75"},
	{provider: "Azure OpenAI", status: 429, said: "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-05-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds.", source: "https://github.com/alex-wolf-ps/dbchatprov2/issues/2"},
	{provider: "Azure OpenAI", status: 429, said: "The system is currently experiencing high demand and cannot process your request. Your request exceeds the maximum usage size allowed during peak load. Please retry after 20 seconds.", source: "https://github.com/pollinations/pollinations/issues/6260"},
	{provider: "Anthropic", status: 429, said: "This request would exceed the rate limit for your organization of 20,000 input tokens per minute. For details, refer to: https://docs.anthropic.com/en/api/rate-limits. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later.", source: "https://github.com/FoundationAgents/OpenManus/issues/746"},
	{provider: "Anthropic", status: 429, said: `{"type":"error","error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."},"request_id":"req_011CZf8TJf84hAUziB6LuRoc"}`, source: "https://github.com/anthropics/claude-code/issues/42616"},
	{provider: "Anthropic", status: 400, said: `API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"The long context beta is not yet available for this subscription."},"request_id":"req_011CWQ8yZYSLEvb6BaocYmHv"}`, source: "https://github.com/anthropics/claude-code/issues/6871"},
	{provider: "Anthropic", status: 400, said: `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-5-20251101"},`, source: "https://github.com/anthropics/claude-code/issues/24451"},
	{provider: "Anthropic", said: "API Error: Claude's response exceeded the 32000 output token maximum. To configure this behavior, set the", source: "https://github.com/anthropics/claude-code/issues/12319"},
	{provider: "Bedrock", status: 429, said: "429 Too many tokens, please wait before trying again.", source: "https://github.com/anthropics/claude-code/issues/236"},
	{provider: "Bedrock", said: "botocore.errorfactory.ThrottlingException: An error occurred (ThrottlingException) when calling the Converse operation (reached max retries: 4): Too many tokens per day, please wait before trying again.", source: "https://github.com/minorun365/agent-book/issues/29"},
	{provider: "Bedrock behind a relay", said: `{"message":"Too many tokens, please wait before trying again."}`, source: "https://github.com/ranxianglei/billion-context-pi/issues/169"},
	{provider: "Bedrock", status: 429, said: "Too many requests, please wait before trying again.", source: "https://github.com/lobehub/lobehub/issues/3994"},
	{provider: "Bedrock", said: "ValidationException: The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.", source: "https://github.com/vercel/ai/issues/2772"},
	{provider: "Bedrock", said: "Malformed input request: 8192 is not less or equal to 8191, please reformat your input and try again.", source: "https://github.com/langchain-ai/langchain/issues/9697"},
	{provider: "Gemini", status: 429, said: "Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: 0, model: gemini-3-pro", source: "https://github.com/continuedev/continue/issues/9570"},
	{provider: "Vertex AI", status: 429, said: "Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.", source: "https://github.com/google-gemini/gemini-cli/issues/14811"},
	{provider: "Groq", status: 400, said: "400 max_tokens must be less than or equal to 16384, the maximum value for max_tokens is less than the context_window for this model", source: "https://github.com/RooCodeInc/Roo-Code/issues/5729"},
	{provider: "Groq", status: 400, said: "{\"message\":\"`max_completion_tokens` must be less than or equal to `16384`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model\",\"type\":\"invalid_request_error\",\"param\":\"max_completion_tokens\"}", source: "https://github.com/Alishahryar1/free-claude-code/issues/1354"},
	{provider: "Cerebras", status: 429, said: `"Tokens per minute limit exceeded - too many tokens processed."`, source: "https://github.com/continuedev/continue/issues/9800"},
	{provider: "Cerebras", said: `{"message":"Requests per minute limit exceeded - too many requests sent.","type":"too_many_requests_error","param":"quota","code":"request_quota_exceeded"}`, source: "https://github.com/nminaya/grammar-nazi-bot/issues/958"},
	{provider: "DeepSeek", status: 400, said: "Error code: 400 - {'error': {'message': 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]', 'type': 'invalid_request_error', 'param': None, 'code': 'invalid_request_error'}}", source: "https://github.com/deepseek-ai/DeepSeek-V3/issues/69"},
	{provider: "Kimi", status: 429, said: `429 {"error":{"type":"rate_limit_reached_error","message":"Your account xxxxx / proj-xxxxxx <ak-xxxxx> request reached project TPM rate limit, current: 1410, limit: 100, see https://platform.moonshot.cn/docs/pricing/limits"}}`, source: "https://github.com/LLM-Red-Team/kimi-cc/issues/41"},
	{provider: "Mistral, embeddings", status: 400, said: `MistralAPIException: Status: 400. Message: {"object":"error","message":"Too many tokens in batch. Max is 16384 got 17555","type":"invalid_request_error","param":null,"code":null}`, source: "https://github.com/aurelio-labs/semantic-router/issues/297"},
	{provider: "OpenRouter", status: 402, said: "402 Prompt tokens limit exceeded: 64128 > 6964. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account", source: "https://github.com/continuedev/continue/issues/11227"},
	{provider: "OpenRouter", status: 402, said: "402 This request requires more credits, or fewer max_tokens. You requested up to 4096 tokens, but can only afford 222. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account", source: "https://github.com/continuedev/continue/issues/11154"},
	{provider: "Cloudflare Workers AI", status: 400, said: "AiError 400 max_completion_tokens is too large: 1298829. This model supports at most 1048576", source: "https://github.com/anomalyco/models.dev/issues/5824"},
	{provider: "watsonx", status: 400, said: "Invalid input argument for Model 'openai/gpt-oss-120b': max_tokens must be at least 1, got -5178.", source: "https://github.com/cuga-project/cuga-agent/issues/439"},
	{provider: "a server of OpenAI's interface", status: 400, said: "The parameter `max_tokens` specified in the request are not valid:\ninteger above maximum value, expected a value <= 32768, but got 65536", source: "https://github.com/NousResearch/hermes-agent/pull/51793"},
	{provider: "Text Generation Inference", status: 422, said: "Error 422: {'error': 'Input validation error: `max_new_tokens` must be <= 192", source: "https://github.com/huggingface/transformers/issues/28523"},
}

// statusError is an error text with an HTTP status.
type statusError struct {
	said   string
	status int
}

func (e *statusError) Error() string   { return e.said }
func (e *statusError) StatusCode() int { return e.status }

func (r quote) name(i int) string { return fmt.Sprintf("%03d %s", i, r.provider) }

// errs returns the errors that adapters may make of it.
func (r quote) errs() []error {
	errs := []error{errors.New(r.said), fmt.Errorf("openai: %w", errors.New(strings.ToUpper(r.said)))}
	if r.status != 0 {
		errs = append(errs, &statusError{r.said, r.status}, fmt.Errorf("asking: %w", &statusError{r.said, r.status}))
	}
	return errs
}

func TestRefusalsOfTooLargeRequestsCountWithTheSizesTheyName(t *testing.T) {
	for i, r := range tooLarge {
		t.Run(r.name(i), func(t *testing.T) {
			require.True(t, strings.HasPrefix(r.source, "https://"), r.source)
			for _, err := range r.errs() {
				require.Equal(t, refusal.Refusal{Kind: refusal.Tokens, Limit: r.limit, Tokens: r.tokens}, refusal.Of(err), "%v", err)
			}
		})
	}
}

func TestRefusalsForBytesImagesOrByAProxyAreOfTheBody(t *testing.T) {
	for i, r := range ofTheBody {
		t.Run(r.name(i), func(t *testing.T) {
			require.True(t, strings.HasPrefix(r.source, "https://"), r.source)
			for _, err := range r.errs() {
				for _, err := range []error{err, &chat.ContextLimitError{Err: err}, &chat.AnswerError{Err: err}} {
					got := refusal.Of(err)
					require.Equal(t, refusal.Refusal{Kind: refusal.Body, Held: got.Held}, got, "%v", err)
				}
				require.Equal(t, refusal.Refusal{}, refusal.Of(&chat.TransientError{Err: err}))
				sized := &chat.ContextLimitError{Limit: 8192, Err: err}
				require.Equal(t, refusal.Tokens, refusal.Of(sized).Kind, "the error has a limit in tokens")
			}
			inTokens := &statusError{r.said + " The limit is 8000 tokens.", http.StatusRequestEntityTooLarge}
			require.Equal(t, refusal.Tokens, refusal.Of(inTokens).Kind, "the text names a limit in tokens")
		})
	}
}

func TestErrorsOfStatus400WithoutWordsAreOpaque(t *testing.T) {
	for i, r := range withoutWords {
		t.Run(r.name(i), func(t *testing.T) {
			require.True(t, strings.HasPrefix(r.source, "https://"), r.source)
			for _, err := range r.errs() {
				require.Equal(t, refusal.Refusal{Kind: refusal.Opaque}, refusal.Of(err), "%v", err)
				require.Equal(t, refusal.Refusal{}, refusal.Of(&chat.TransientError{Err: err}))
			}
		})
	}
	for _, said := range []string{
		"", "bad request", "Bad Request", "400 Bad Request", "invalid request", "Invalid request.", "invalid_request_error", "Provider returned error",
		"400 status code (no body)", `{"message":"invalid request"}`, `{"error":{"message":"","type":"invalid_request_error","param":null,"code":null}}`,
		`{"type":"error","error":{"type":"invalid_request_error","message":"Error"},"request_id":"req_011CUcqvXBc6AskCDuW4mM1q"}`,
		`POST "https://gateway.example.com/v1/messages/max-tokens": 400 Bad Request (Request-ID: 01ab-2) {"message":"invalid request"}`,
		`anthropic: POST "https://api.cloudflare.com/v1/messages": 400 Bad Request {"message":"invalid request"}`,
		"openai: no reason given: OpenAI API error: 400 Bad Request", "openai: bad request (invalid_request_error): OpenAI API error: 400 Bad Request",
		"gemini: Error 400, Message: Request contains an invalid argument., Status: INVALID_ARGUMENT, Details: []",
		"gemini: Error 400, Message: , Status: 400 Bad Request, Details: map[]",
		"Error code: 400 - {'error': {'message': 'Provider returned error', 'code': 400, 'metadata': {'raw': 'ERROR', 'provider_name': 'DeepInfra'}}}",
	} {
		require.Equal(t, refusal.Opaque, refusal.Of(fmt.Errorf("asking: %w", &statusError{said, http.StatusBadRequest})).Kind, said)
		for _, status := range []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusBadGateway} {
			require.Equal(t, refusal.None, refusal.Of(&statusError{said, status}).Kind, "%d: %s", status, said)
		}
	}
	for _, said := range []string{"", "Provider returned error", "error", "openai: no reason given"} {
		require.Equal(t, refusal.None, refusal.Of(errors.New(said)).Kind, "without a status: %s", said)
	}
}

func TestErrorsOfStatus400WithOtherWordsAreNotAboutTheSize(t *testing.T) {
	for _, said := range []string{
		"Unknown parameter: 'foo'.", "Invalid model", "model not found", "max_tokens must be at least 1", "Invalid request body: max_tokens is too large",
		`POST "https://api.example.com/v1": 400 Bad Request {"type":"error","error":{"type":"authentication_error","message":"Bad request"}}`,
		"messages: at least one message is required",
		`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"Param Incorrect: messages[2] must contain a part"}}}`,
		"Your request was rejected by Cloudflare Workers AI: tools are not supported",
	} {
		require.Equal(t, refusal.Refusal{}, refusal.Of(&statusError{said, http.StatusBadRequest}), said)
	}
}

func TestAPageOrTheNameOfAProxyIsOfTheBodyOnlyWithStatus413Or400(t *testing.T) {
	for _, server := range []string{"nginx", "nginx/1.26.1", "cloudflare", "openresty", "envoy", "traefik", "haproxy"} {
		for _, status := range []int{http.StatusRequestEntityTooLarge, http.StatusBadRequest} {
			page := fmt.Sprintf("<html><head><title>%d %s</title></head><body><hr><center>%s</center></body></html>", status, http.StatusText(status), server)
			require.Equal(t, refusal.Body, refusal.Of(&statusError{page, status}).Kind)
			require.Equal(t, refusal.Body, refusal.Of(errors.New(page)).Kind)
			require.Equal(t, refusal.Body, refusal.Of(&statusError{server, status}).Kind)
		}
		for _, status := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusBadGateway, http.StatusGatewayTimeout} {
			page := fmt.Sprintf("<html><head><title>%d %s</title></head><body><hr><center>%s</center></body></html>", status, http.StatusText(status), server)
			require.Equal(t, refusal.None, refusal.Of(&statusError{page, status}).Kind)
			require.Equal(t, refusal.None, refusal.Of(errors.New(page)).Kind)
		}
		require.Equal(t, refusal.Dropped, refusal.Of(errors.New(server+": connection reset")).Kind)
		url := &statusError{`POST "https://` + server + `.example.com/413": 413 Request Entity Too Large`, http.StatusRequestEntityTooLarge}
		require.Equal(t, refusal.Tokens, refusal.Of(url).Kind, "the URL is not what the server says")
	}
}

func TestStatus413WithoutWordsIsTokensWithoutSizes(t *testing.T) {
	for _, said := range []string{
		"", "413", "Request Entity Too Large", "Payload Too Large", "Content Too Large", "413 status code (no body)", "413 413 Request Entity Too Large\n",
		`{"error":{"message":"","code":""}}`, "openai: no reason given: OpenAI API error: 413 Request Entity Too Large",
	} {
		err := &statusError{said, http.StatusRequestEntityTooLarge}
		for _, err := range []error{err, &chat.ContextLimitError{Err: err}, &chat.ContextLimitError{Err: errors.New(said)}} {
			require.Equal(t, refusal.Refusal{Kind: refusal.Tokens}, refusal.Of(err), said)
		}
	}
	require.Equal(t, refusal.Refusal{Kind: refusal.Tokens}, refusal.Of(&chat.ContextLimitError{}))
}

func TestTheSizeOfAnAnswerOrOfMemoryIsNotOfTheBody(t *testing.T) {
	for _, said := range []string{
		"the answer is larger than 67108864 bytes", "an event of the answer is larger than 33554432 bytes", "response body is too large",
		"CUDA out of memory. Tried to allocate 1.95 GiB. GPU 0 has a limit of 23.69 GiB.", "bufio.Scanner: token too long",
	} {
		require.Equal(t, refusal.Refusal{}, refusal.Of(errors.New(said)), said)
		require.Equal(t, refusal.Refusal{}, refusal.Of(&chat.AnswerError{Err: errors.New(said)}), said)
	}
}

func TestTheStatusIsThatOfAMethodOrAField(t *testing.T) {
	require.Equal(t, refusal.Opaque, refusal.Of(fmt.Errorf("openai: %w", &fieldError{StatusCode: 400})).Kind)
	require.Equal(t, refusal.Tokens, refusal.Of(errors.Join(errors.New("asking"), &fieldError{StatusCode: 413})).Kind)
	require.Equal(t, refusal.Opaque, refusal.Of(fmt.Errorf("gemini: %w", codeError{Code: 400})).Kind)
	require.Equal(t, refusal.None, refusal.Of(codeError{Code: 2013}).Kind)
	require.Equal(t, refusal.None, refusal.Of(&fieldError{StatusCode: 401, said: "prompt is too long"}).Kind)
	require.Equal(t, refusal.None, refusal.Of((*fieldError)(nil)).Kind)
}

// fieldError and codeError have a status as a field, as the errors of SDKs.
type fieldError struct {
	StatusCode int
	said       string
}

func (e *fieldError) Error() string {
	if e == nil {
		return ""
	}
	return e.said
}

type codeError struct{ Code int }

func (codeError) Error() string { return "" }

func TestRatesQuotasAndLimitsOfTheAnswerAreNotRefusalsOfTooLargeRequests(t *testing.T) {
	for i, r := range notTooLarge {
		t.Run(r.name(i), func(t *testing.T) {
			require.True(t, strings.HasPrefix(r.source, "https://"), r.source)
			for _, err := range r.errs() {
				got := refusal.Of(err)
				if got.Kind == refusal.Output {
					require.Positive(t, got.Limit, "%v", err)
					got = refusal.Refusal{}
				}
				require.Equal(t, refusal.Refusal{}, got, "%v", err)
			}
		})
	}
}

func TestMostWordingsOfTheListAreFoundByTheRuleAlone(t *testing.T) {
	found, all := 0, 0
	for i, r := range tooLarge {
		if r.status == http.StatusRequestEntityTooLarge { // the status decides
			continue
		}
		if all++; refusal.LooksTooLarge(r.said) {
			found++
		} else {
			t.Logf("not found: %s: %s", r.name(i), r.said)
		}
	}
	require.GreaterOrEqual(t, 100*found, 85*all, "%d of %d", found, all)
	for i, r := range notTooLarge {
		require.NotEqual(t, refusal.Opaque, refusal.Of(errors.New(r.said)).Kind, r.name(i))
	}
	for _, said := range []string{
		"Cannot truncate prompt with n_keep (23783) >= n_ctx (4096)",
		"Prompt length 9000 is greater than max_seq_len 8192",
		"Der Kontext ist zu lang: 9000 von 8192",
		"Le contexte dépasse 8192 jetons",
		"输入过长:9000 超过 8192",
		"コンテキストが長すぎます",
		"Слишком много токенов: 9000",
	} {
		require.Contains(t, []refusal.Kind{refusal.Tokens, refusal.Opaque}, refusal.Of(&statusError{said, http.StatusBadRequest}).Kind, said)
	}
}

func TestWhatARequestHoldsIsReadFromTheWords(t *testing.T) {
	for _, c := range []struct {
		said string
		want refusal.Refusal
	}{
		{"Could not process image", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldMedia}},
		{"Unsupported image format: image/tiff", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldMedia}},
		{"messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes", refusal.Refusal{Kind: refusal.Body, Held: refusal.HeldMedia}},
		{"The document could not be read: the PDF is password protected, so we cannot process the PDF", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldMedia}},
		{"The encrypted content gAAA could not be verified. (invalid_encrypted_content)", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldThinking}},
		{"messages.1.content.0: Invalid `signature` in `thinking` block", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldThinking}},
		{"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", refusal.Refusal{Kind: refusal.Filter}},
		{"Input data may contain inappropriate content. (data_inspection_failed)", refusal.Refusal{Kind: refusal.Filter}},
		{"max_tokens: 8000 > 2048, which is the maximum allowed number of output tokens for m", refusal.Refusal{Kind: refusal.Output, Limit: 2048}},
		{"max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.", refusal.Refusal{Kind: refusal.Output, Limit: 4096}},
		{"Provided image is not valid.", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldMedia}},
		{"The PDF specified was not valid.", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldMedia}},
		{"The image data you provided does not represent a valid image.", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldMedia}},
		{"messages.0.content.1.image.source.base64.data: Image does not match the provided media type image/png", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldMedia}},
		{"Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 4000", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldMedia}},
		{"The document has no pages.", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldMedia}},
		{"Item 'rs_1' of type 'reasoning' was provided without its required following item.", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldThinking}},
		{"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.", refusal.Refusal{Kind: refusal.Content, Held: refusal.HeldThinking}},
		{"Content Exists Risk", refusal.Refusal{Kind: refusal.Filter}},
		{"The request was rejected because it was considered high risk", refusal.Refusal{Kind: refusal.Filter}},
		{"input new_sensitive (1026)", refusal.Refusal{Kind: refusal.Filter}},
		{"系统检测到输入或生成内容可能包含不安全或敏感内容", refusal.Refusal{Kind: refusal.Filter}},
		{"Range of max_tokens should be [1, 8192]", refusal.Refusal{Kind: refusal.Output, Limit: 8192}},
		{"Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).", refusal.Refusal{Kind: refusal.Output, Limit: 65536}},
		{"Unknown parameter: 'input[0].image'", refusal.Refusal{}},
		{"Invalid API key for image input", refusal.Refusal{}},
	} {
		require.Equal(t, c.want, refusal.Of(&statusError{c.said, http.StatusBadRequest}), c.said)
		require.Equal(t, refusal.Refusal{}, refusal.Of(&statusError{c.said, http.StatusUnauthorized}), c.said)
	}
	for _, c := range []struct {
		status int
		said   string
		want   refusal.Kind
	}{
		{500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", refusal.Content},
		{404, "No endpoints found that support image input", refusal.Content},
		{403, `"x/y" requires moderation on Z. Your input was flagged for "violence".`, refusal.Filter},
		{403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO", refusal.Filter},
	} {
		require.Equal(t, c.want, refusal.Of(&statusError{c.said, c.status}).Kind, c.said)
		require.Equal(t, refusal.None, refusal.Of(&statusError{c.said, http.StatusUnauthorized}).Kind, c.said)
	}
	for _, said := range []string{`Post "https://api.example.com/v1": EOF`, "read tcp 10.0.0.1: connection reset by peer", "unexpected EOF", "write: broken pipe"} {
		require.Equal(t, refusal.Dropped, refusal.Of(&chat.TransientError{Err: errors.New(said)}).Kind, said)
	}
	require.Equal(t, refusal.None, refusal.Of(&chat.TransientError{Err: errors.New("overloaded")}).Kind)
}

func TestTransientErrorsDoNotCountWithoutAContextLimitErrorInside(t *testing.T) {
	for i, r := range tooLarge {
		t.Run(r.name(i), func(t *testing.T) {
			for _, err := range r.errs() {
				require.Equal(t, refusal.Refusal{}, refusal.Of(&chat.TransientError{Err: err}))
				inside := &chat.TransientError{Err: &chat.ContextLimitError{Err: err}}
				require.Equal(t, refusal.Refusal{Kind: refusal.Tokens, Limit: r.limit, Tokens: r.tokens}, refusal.Of(inside))
			}
		})
	}
}

func TestContextLimitErrorsWithSizesCountWhateverTheirTextAndStatus(t *testing.T) {
	for i, r := range slices.Concat(notTooLarge, ofTheBody, withoutWords) {
		t.Run(r.name(i), func(t *testing.T) {
			for _, err := range r.errs() {
				over := fmt.Errorf("asking: %w", &chat.ContextLimitError{Limit: 8192, Tokens: 9000, Err: err})
				require.Equal(t, refusal.Refusal{Kind: refusal.Tokens, Limit: 8192, Tokens: 9000}, refusal.Of(over))
			}
		})
	}
	over := &chat.ContextLimitError{Tokens: 7000, Err: errors.New("prompt is too long: 6000 tokens > 4096 maximum")}
	require.Equal(t, refusal.Refusal{Kind: refusal.Tokens, Limit: 4096, Tokens: 7000}, refusal.Of(over), "the text names the limit that the error lacks")
	over = &chat.ContextLimitError{Tokens: 7000}
	require.Equal(t, refusal.Refusal{Kind: refusal.Tokens, Tokens: 7000}, refusal.Of(over), "the error's own text is not read")
}

func TestStatusesOfPermissionsPaymentTimeoutsAndRatesDoNotCount(t *testing.T) {
	for _, status := range []int{
		http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests,
	} {
		for _, r := range slices.Concat(tooLarge, ofTheBody, withoutWords) {
			require.Equal(t, refusal.Refusal{}, refusal.Of(&statusError{r.said, status}), "%d: %s", status, r.said)
		}
	}
}

func TestServerErrorsCountOnlyWithTextsThatServersAreKnownToSend(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, 529} {
		for said, counts := range map[string]bool{
			"Context size has been exceeded.": true,
			"The decoder prompt (length 66501) is longer than the maximum model length of 65536.":                  true,
			"Requested token count exceeds the model's maximum context length of 131072 tokens.":                   true,
			"This model's maximum context length is 16384 tokens. However, you requested 17964 tokens":             true, // NeMo-RL#3878
			"litellm.ContextWindowExceededError: prompt is too long":                                               true,
			"<html><head><title>Payload Too Large</title></head></html>":                                           false,
			"upstream: context window service unavailable, maximum context length is unknown, please reload later": false,
		} {
			require.Equal(t, counts, refusal.Of(&statusError{said, status}).Kind == refusal.Tokens, "%d: %s", status, said)
		}
		for _, r := range ofTheBody {
			require.Equal(t, refusal.Refusal{}, refusal.Of(&statusError{r.said, status}), "%d: %s", status, r.said)
		}
	}
}

// Groq refuses a request that exceeds the tokens per minute with status 413. A smaller request would pass, but the
// limit is not that of the context window.
func TestStatus413CountsAndTheNumbersOfARateAreNotTaken(t *testing.T) {
	for _, r := range []quote{
		{said: "413 Request too large for model `moonshotai/kimi-k2-instruct` in organization `org_01.....` service tier `on_demand` on tokens per minute (TPM): Limit 10000, Requested 15088, please reduce your message size and try again.", source: "https://github.com/cline/cline/issues/4971"},
		{said: "413 Request too large for model moonshotai/kimi-k2-instruct in organization org_01hsjxygceejnvjd05wgz483z2 service tier on_demand on tokens per minute (TPM): Limit 10000, Requested 21247, please reduce your message size and try again.", source: "https://github.com/RooCodeInc/Roo-Code/issues/5729"},
	} {
		require.Equal(t, refusal.Refusal{Kind: refusal.Tokens}, refusal.Of(&statusError{r.said, http.StatusRequestEntityTooLarge}))
		require.Equal(t, refusal.Refusal{}, refusal.Of(errors.New(r.said)), "without its status the text is about a rate limit")
	}
}

func TestSizesAreReadInEveryFormAndTakenIfAModelCouldHaveThem(t *testing.T) {
	for said, want := range map[string]refusal.Refusal{
		"maximum context length is 128000 tokens":                        {Limit: 128000},
		"maximum context length is 128,000 tokens":                       {Limit: 128000},
		"maximum context length is 128_000 tokens":                       {Limit: 128000},
		"maximum context length is 128k tokens":                          {Limit: 128000},
		"maximum context length is 1.5M tokens":                          {Limit: 1500000},
		"maximum context length is 1M":                                   {Limit: 1000000},
		"prompt is too long: 1,210,000 tokens > 1,000,000 maximum":       {Limit: 1000000, Tokens: 1210000},
		"prompt is too long: 210k tokens > 200k maximum":                 {Limit: 200000, Tokens: 210000},
		"maximum context length is 99 tokens":                            {},
		"maximum context length is 100 tokens":                           {Limit: 100},
		"maximum context length is 1073741824 tokens":                    {Limit: 1 << 30},
		"maximum context length is 1073741825 tokens":                    {},
		"maximum context length is 99999999999999999999999999999 tokens": {},
		"maximum context length is unknown":                              {},
	} {
		want.Kind = refusal.Tokens
		require.Equal(t, want, refusal.Of(errors.New(said)), said)
	}
}

func TestNilAndOtherLimitsAreNotRefusals(t *testing.T) {
	require.Equal(t, refusal.Refusal{}, refusal.Of(nil))
	require.Equal(t, refusal.Refusal{}, refusal.Of(errors.New("usage exceeds the limit of 1,000 requests per day")))
	require.Equal(t, refusal.Refusal{Kind: refusal.Output, Limit: 64000}, refusal.Of(errors.New("max_tokens: 70000 exceeds the limit of 64000 output tokens")))
}

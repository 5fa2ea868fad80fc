package modelname_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/modelname"
)

// Sources of the names, read on 2026-11-22.
const (
	anthropicModels = "https://litellm.vercel.app/docs/providers/anthropic"
	bedrockModels   = "https://www.aptible.com/docs/supported-models"
	bedrockProfiles = "https://dev.classmethod.jp/articles/tsnote-bedrock-check-inference-profile-name/"
	bedrockAX       = "https://github.com/ax-llm/ax/pull/467"
	vertexModels    = "https://docs.anthropic.com/de/api/claude-on-vertex-ai"
	genai           = "https://github.com/googleapis/go-genai/blob/main/transformer_test.go"
	vertexGemini    = "https://app.unpkg.com/@ai-sdk/google-vertex@4.0.28/files/src/google-vertex-options.ts"
	gatewayModels   = "https://socket.dev/npm/package/@ai-sdk/gateway/diff/3.0.48"
	openRouter      = "https://docs.strix.ai/llm-providers/openrouter"
	azureModels     = "https://docs.litellm.ai/docs/providers/azure/azure_anthropic"
	langChain       = "https://reference.langchain.com/python/langchain/chat_models/base/init_chat_model"
	openCode        = "https://pkg.go.dev/github.com/opencode-ai/opencode@v0.0.37/internal/llm/models"
	piModels        = "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/models.generated.ts"
	signatures      = "https://github.com/danny-avila/agents/blob/main/src/utils/__tests__/fixtures/contextOverflowSignatures.ts"
	displayNames    = "https://www.adaline.ai/docs/integrations/ai-providers/bedrock"
)

func TestModelsMatchByFamilyWhateverTheirProviderWritesAroundTheName(t *testing.T) {
	for _, c := range []struct {
		pattern, model, source string
		want                   bool
	}{
		{"claude-opus*", "claude-opus-4-5-20251101", anthropicModels, true},
		{"claude-opus*", "claude-opus-4-5", piModels, true},
		{"claude-opus*", "claude-opus-4.5", piModels, true},
		{"claude-opus*", "anthropic/claude-opus-4.5", gatewayModels, true},
		{"claude-opus*", "anthropic.claude-opus-4-6-v1", displayNames, true},
		{"claude-opus*", "us.anthropic.claude-opus-4-5-20251101-v1:0", bedrockAX, true},
		{"claude-opus*", "global.anthropic.claude-opus-4-5-20251101-v1:0", piModels, true},
		{"claude-opus*", "bedrock/anthropic.claude-3-opus-20240229-v1:0", bedrockModels, false},
		{"claude*opus*", "bedrock/anthropic.claude-3-opus-20240229-v1:0", bedrockModels, true},
		{"claude-opus*", "Claude Opus 4.5", displayNames, true},
		{"claude-opus*", "claude-opus-4@20250514", vertexModels, true},
		{"claude-opus-4-*", "claude-opus-4@20250514", vertexModels, true},
		{"claude-opus*", "openrouter/anthropic/claude-sonnet-4.5", openRouter, false},
		{"claude-sonnet*", "openrouter/anthropic/claude-sonnet-4.5", openRouter, true},
		{"claude-sonnet-4.5", "openrouter/anthropic/claude-sonnet-4.5", openRouter, true},
		{"Claude-Sonnet-4.5*", "anthropic:claude-sonnet-4-5-20250929", langChain, true},
		{"claude*", "anthropic.claude-3-5-sonnet-20241022-v2:0", bedrockModels, true},
		{"claude*", "bedrock/anthropic.claude-v2:1", bedrockModels, true},
		{"claude*", "bedrock/claude-sonnet-4-5-20250929-v1:0", bedrockModels, true},
		{"claude*", "bedrock/anthropic.claude-haiku-4-5@20251001", bedrockModels, true},
		{"claude*", "arn:aws:bedrock:ap-northeast-1:123456789012:inference-profile/jp.anthropic.claude-sonnet-4-6", bedrockProfiles, true},
		{"claude*", "arn:aws:bedrock:ap-northeast-1::foundation-model/anthropic.claude-sonnet-4-6", bedrockProfiles, true},
		{"claude*", "claude-3-5-sonnet-v2@20241022", vertexModels, true},
		{"claude*", "azure_ai/claude-sonnet-4-5", azureModels, true},
		{"claude*", "anthropic/claude-3.7-sonnet:thinking", piModels, true},
		{"anthropic/claude*", "anthropic/claude-3.7-sonnet:thinking", piModels, true},
		{"us.anthropic.claude*", "us.anthropic.claude-opus-4-5-20251101-v1:0", bedrockAX, true},
		{"eu.anthropic.claude*", "us.anthropic.claude-opus-4-5-20251101-v1:0", bedrockAX, false},
		{"claude*", "us.amazon.nova-lite-v1:0", signatures, false},
		{"nova*", "us.amazon.nova-lite-v1:0", signatures, true},
		{"llama3*", "us.meta.llama3-1-70b-instruct-v1:0", signatures, true},

		{"gpt-4.1*", "gpt-4.1", openCode, true},
		{"gpt-4.1*", "gpt-4.1-mini", openCode, true},
		{"gpt-4.1*", "openai/gpt-4.1-mini", piModels, true},
		{"gpt-4.1*", "gpt-4o", openCode, false},
		{"gpt-4.1*", "openai/gpt-4o:extended", piModels, false},
		{"gpt-4.1*", "openai/gpt-4-1106-preview", piModels, false},
		{"gpt-4.1*", "gpt-4-turbo", piModels, false},
		{"gpt-4.1*", "gpt-4.5-preview", openCode, false},
		{"gpt-4.1", "gpt-4.1-mini", openCode, false},
		{"gpt-4*", "gpt-4o-mini", openCode, true},
		{"gpt-4*", "openai/gpt-4-1106-preview", piModels, true},
		{"gpt-5*", "openrouter/openai/gpt-5", openRouter, true},
		{"gpt-5*", "openai/gpt-5.1-codex-max", piModels, true},
		{"gpt-5.1*", "openai/gpt-5.1-codex-max", piModels, true},
		{"gpt-5.1*", "gpt-5", piModels, false},
		{"o3*", "openai:o3-mini", langChain, true},

		{"gemini*", "google/gemini-2.5-pro", piModels, true},
		{"gemini*", "google_vertexai:gemini-2.5-flash", langChain, true},
		{"gemini*", "models/gemini-2.5-flash", genai, true},
		{"gemini*", "publishers/google/models/gemini-2.5-flash", genai, true},
		{"gemini-2.5*", "gemini-2.5-flash-lite-preview-09-2025", vertexGemini, true},
		{"gemini-2*", "gemini-2.5-pro", vertexGemini, true},
		{"gemini-3*", "gemini-2.5-pro", vertexGemini, false},
		{"gemini*", "openrouter/openai/gpt-5", openRouter, false},

		{"glm*", "openrouter/z-ai/glm-4.7", openRouter, true},
		{"qwen3*", "alibaba/qwen3-coder-30b-a3b", gatewayModels, true},
		{"qwen3*", "qwen.qwen3-coder-30b-a3b-v1:0", piModels, true},
		{"qwen3*", "alibaba/qwen-3-235b", gatewayModels, false},
		{"coder*", "alibaba/qwen3-coder-plus", gatewayModels, false}, // a hyphen does not end a prefix
		{"*", "openrouter/z-ai/glm-4.7", openRouter, true},
	} {
		require.Equal(t, c.want, modelname.Fits(c.pattern, c.model), "%s: %s (%s)", c.pattern, c.model, c.source)
	}
}

func TestModelsWithoutNameAndBrokenPatternsMatchNothing(t *testing.T) {
	for _, pattern := range []string{"", "*", "claude*", "[", "4*"} {
		for _, model := range []string{"", " ", "\t"} {
			require.False(t, modelname.Fits(pattern, model), "%q: %q", pattern, model)
		}
	}
	require.False(t, modelname.Fits("[", "claude-opus-4-5"))
	require.False(t, modelname.Fits("claude-4[*", "claude-4-5"))
	require.False(t, modelname.Fits("claude*", "anthropic/"))
}

func TestNumbersBeforeStarsAreWhole(t *testing.T) {
	for _, c := range []struct {
		pattern, model string
		want           bool
	}{
		{"gpt-4.1*", "gpt-4.10", false},
		{"gpt-4.1*", "gpt-4.1o", true},
		{"gpt-4.1*", "azure/GPT-4.1", true},
		{"a1*b2*", "a1-b2", true},
		{"a1*b2*", "a1b2-c", true},
		{"a1*b2*", "a1-b23", false},
		{"a1*b2*", "a12b2", false},
		{"a*1", "a-21", true},
	} {
		require.Equal(t, c.want, modelname.Fits(c.pattern, c.model), "%s: %s", c.pattern, c.model)
	}
}

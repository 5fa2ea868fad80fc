package openai_test

import (
	"strings"
	"testing"

	"github.com/promptree-go/promptree/internal/test/sdktest"
)

func TestTheTableKnowsTheModelsThatTheSDKNames(t *testing.T) {
	except := map[string]string{}
	for why, names := range map[string]string{
		"hears or speaks":                    "gpt-audio-mini gpt-audio-mini-2025-12-15 gpt-4o-audio-preview gpt-4o-audio-preview-2024-10-01 gpt-4o-audio-preview-2024-12-17 gpt-4o-audio-preview-2025-06-03 gpt-4o-mini-audio-preview gpt-4o-mini-audio-preview-2024-12-17",
		"no public source states its window": "gpt-5.1-mini gpt-5.6-cyber gpt-rosalind-research gpt-6-rosalind gpt-daybreak-blue-latest gpt-daybreak-red-latest computer-use-preview computer-use-preview-2025-03-11",
	} {
		for _, name := range strings.Fields(names) {
			except[name] = why
		}
	}
	sdktest.KnowsModels(t, "github.com/openai/openai-go/v3/shared", "ChatModel", except)
}

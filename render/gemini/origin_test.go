package gemini_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/gemini"
)

// A signature that another provider made for a call is not sent, whatever it looks like.
func TestASignatureGoesToNoOtherProvider(t *testing.T) {
	a := newAPI(t, says(`{"text":"Done."}`))
	for provider, sent := range map[string]bool{"": true, "gemini": true, "openai": false, "anthropic": false} {
		t.Run(provider, func(t *testing.T) {
			_, err := a.model().Generate(t.Context(), chat.Request{Tools: []chat.Tool{lookTool}, Messages: []chat.Message{
				chat.UserMessage("Look."),
				{Role: chat.RoleAssistant, Origin: chat.Origin{Provider: provider}, ToolCalls: []chat.ToolCall{{ID: "c", Name: "look", Arguments: "{}", Signature: signature}}},
				chat.ToolResult("c", "A."), chat.AssistantMessage("Fine."), chat.UserMessage("And?"),
			}})
			require.NoError(t, err)
			body := a.bodies[len(a.bodies)-1]
			require.Equal(t, sent, strings.Contains(body, signature), body)
			require.NotContains(t, body, gemini.SkipSignature, "it is needed for the current turn alone")
		})
	}
}

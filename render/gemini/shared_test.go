package gemini_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/render/gemini"
)

func TestBodiesAreWhatTheyWere(t *testing.T) {
	given := judge{issued: map[string]bool{}}
	for _, c := range []struct {
		name, model string
		as          func(n int, m chat.Message) chat.Message
	}{
		{"contents", "gemini-3-pro-preview", nil},
		{"contents-signed", "gemini-3-pro-preview", given.said},
		{"contents-legacy", "gemini-2.5-flash", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := &wiretest.Transport{}
			client, err := gemini.NewClient(t.Context(), &genai.ClientConfig{APIKey: "a key", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: sent}})
			require.NoError(t, err)
			wiretest.Check(t, c.name, &gemini.Model{Client: client, Name: c.model}, sent, c.as)
		})
	}
}

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

func TestRandomCallsAndResultsArePairedByRepair(t *testing.T) {
	t.Parallel()
	for _, o := range []gemini.Options{{}, {Legacy: true}} {
		providertest.Repaired(t, func(req chat.Request) (chat.Request, []chat.Repair) { return gemini.Repair(req, o) },
			func(req chat.Request) error { return gemini.Validate(req, o) })
	}
}

func TestTheAPISaysTheWindowOfAModel(t *testing.T) {
	providertest.Windows(t, "/v1beta/models/gemini-4-argon", func(t *testing.T, server string) (int, error) {
		m := &gemini.Model{Client: connect(server), Name: "gemini-4-argon"}
		return m.Window(t.Context())
	},
		providertest.Answer("what it says", 200, `{"name": "models/gemini-4-argon", "inputTokenLimit": 1048576, "outputTokenLimit": 65536}`, 1_048_576, false),
		providertest.Answer("a server that does not say", 200, `{"name": "models/gemini-4-argon"}`, 0, false),
		providertest.Answer("a number below 0", 200, `{"inputTokenLimit": -5}`, 0, false),
		providertest.Answer("a server without the address", 404, `{"error": {"code": 404, "message": "no such page", "status": "NOT_FOUND"}}`, 0, false),
		providertest.Answer("an overload", 503, `{"error": {"code": 503, "message": "try later", "status": "UNAVAILABLE"}}`, 0, true),
	)
	_, err := new(gemini.Model).Window(t.Context())
	require.ErrorContains(t, err, "Model.Client or Model.Name is not set")
}

package anthropic_test

import (
	"net/http"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/sdktest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestBodiesAreWhatTheyWere(t *testing.T) {
	sent := &wiretest.Transport{}
	client := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: sent}))
	given := &server{thought: map[string]string{}}
	wiretest.Check(t, "messages", &anthropic.Model{Client: client, Name: "claude-test"}, sent, given.said)
}

func TestTheTableKnowsTheModelsThatTheSDKNames(t *testing.T) {
	sdktest.KnowsModels(t, "github.com/anthropics/anthropic-sdk-go", "Model", nil)
}

// Signed thinking goes back to the models that may read it.
func TestThinkingGoesToNoModelThatCannotReadIt(t *testing.T) {
	s := newServer(t, func(int, request) answer { return say(text("Done.")) })
	own := chat.Origin{Provider: "anthropic", Server: s.URL, Model: "claude-test"}
	glm := chat.Origin{Provider: "anthropic", Server: s.URL, Model: "glm-5"}
	at := func(server string, o chat.Origin) chat.Origin { o.Server = server; return o }
	for rule, c := range map[string]struct {
		by   chat.Origin
		to   string
		sent bool
	}{
		"Claude's to itself":                       {own, "claude-test", true},
		"Claude's to another Claude":               {own, "claude-haiku", true},
		"Claude's of another platform":             {at("https://bedrock.example", own), "claude-test", true},
		"one that is not known":                    {chat.Origin{}, "claude-test", true},
		"another model's to Claude":                {glm, "claude-test", false},
		"Claude's to another model":                {own, "glm-5", false},
		"another model's to itself":                {glm, "glm-5", true},
		"another model's at another server":        {at("https://glm.example", glm), "glm-5", false},
		"another provider's":                       {chat.Origin{Provider: "openai", Model: "gpt-5.2"}, "claude-test", false},
		"another provider's of an unnamed model":   {chat.Origin{Provider: "openai"}, "claude-test", false},
		"Claude's that another API had been asked": {chat.Origin{Provider: "openai", Model: "claude-opus"}, "claude-test", false},
	} {
		t.Run(rule, func(t *testing.T) {
			m := &anthropic.Model{Client: s.client(), Name: c.to}
			said := chat.Message{Role: chat.RoleAssistant, Origin: c.by, Content: chat.Parts{
				chat.Thinking{Text: "Hm.", Signature: sign("Hm.")}, chat.Text("Well."), chat.Opaque{Value: []byte(sure.Encoded(block{"type": "thinking", "thinking": "Later.", "signature": sign("Later.")}))},
			}}
			_, err := m.Generate(t.Context(), ask(question, said, question))
			require.NoError(t, err)
			kinds := map[any]int{}
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, turn := range s.requests[len(s.requests)-1].Messages {
				for _, b := range turn.Content {
					kinds[b["type"]]++
				}
			}
			require.Equal(t, 3, kinds["text"])
			require.Equal(t, c.sent, kinds["thinking"] == 2, "%v", kinds)
		})
	}
}

func TestRandomCallsAndResultsArePairedByRepair(t *testing.T) {
	t.Parallel()
	providertest.Repaired(t, anthropic.Repair, anthropic.Validate)
}

func TestAResultAnswersItsCallAcrossAnAnswer(t *testing.T) {
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "read", Arguments: "{}"}}}
	req := chat.Request{
		Messages: []chat.Message{chat.UserMessage("Read it."), call, chat.AssistantMessage("I wait."), chat.ToolResult("a", "the content"), chat.UserMessage("And?")},
		Tools:    []chat.Tool{{Name: "read"}},
	}
	repaired, changes := anthropic.Repair(req)
	require.NoError(t, anthropic.Validate(repaired))
	require.Equal(t, []chat.Message{req.Messages[0], call, req.Messages[3], req.Messages[2], req.Messages[4]}, repaired.Messages)
	require.Len(t, changes, 1)
	require.Contains(t, changes[0].String(), `the result of call "a" moved to the call`)
}

func TestTheAPISaysTheWindowOfAModel(t *testing.T) {
	providertest.Windows(t, "/v1/models/claude-opus-5-5", func(t *testing.T, server string) (int, error) {
		m := &anthropic.Model{Client: sdk.NewClient(option.WithBaseURL(server), option.WithAPIKey("key")), Name: "claude-opus-5-5"}
		return m.Window(t.Context())
	},
		providertest.Answer("what it says", 200, `{"id": "claude-opus-5-5", "type": "model", "max_input_tokens": 1000000, "max_tokens": 128000}`, 1_000_000, false),
		providertest.Answer("a server that does not say", 200, `{"id": "claude-opus-5-5", "type": "model"}`, 0, false),
		providertest.Answer("a null", 200, `{"id": "claude-opus-5-5", "max_input_tokens": null}`, 0, false),
		providertest.Answer("a number below 0", 200, `{"max_input_tokens": -5}`, 0, false),
		providertest.Answer("a server without the address", 404, `{"type": "error", "error": {"type": "not_found_error", "message": "no such page"}}`, 0, false),
		providertest.Answer("an overload", 529, `{"type": "error", "error": {"type": "overloaded_error", "message": "try later"}}`, 0, true),
	)
	_, err := new(anthropic.Model).Window(t.Context())
	require.ErrorContains(t, err, "Model.Name is not set")
}

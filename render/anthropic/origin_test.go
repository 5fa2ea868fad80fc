package anthropic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/anthropic"
)

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

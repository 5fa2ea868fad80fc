package openai_test

import (
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/render/openai"
)

func TestBodiesAreWhatTheyWere(t *testing.T) {
	for _, c := range []struct {
		name, model string
		api         openai.API
		as          func(n int, m chat.Message) chat.Message
	}{
		{"chat", "local", openai.ChatCompletions, nil},
		{"responses", "gpt-5.2", openai.Responses, nil},
		{"responses-reasoning", "gpt-5.2", openai.Responses, func(n int, m chat.Message) chat.Message { return openAI(newMemory(), n, m) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := &wiretest.Transport{}
			client := sdk.NewClient(option.WithAPIKey("key"), option.WithBaseURL("https://example.com/v1"), option.WithHTTPClient(&http.Client{Transport: sent}))
			wiretest.Check(t, c.name, &openai.Model{Client: client, Name: c.model, API: c.api}, sent, c.as)
		})
	}
}

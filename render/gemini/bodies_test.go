package gemini_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
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

package gemini_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/gemini"
)

func TestTheAPISaysTheWindowOfAModel(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		status int
		body   string
		window int
		err    bool
	}{
		{"what it says", 200, `{"name": "models/gemini-4-argon", "inputTokenLimit": 1048576, "outputTokenLimit": 65536}`, 1_048_576, false},
		{"a server that does not say", 200, `{"name": "models/gemini-4-argon"}`, 0, false},
		{"a number below 0", 200, `{"inputTokenLimit": -5}`, 0, false},
		{"a server without the address", 404, `{"error": {"code": 404, "message": "no such page", "status": "NOT_FOUND"}}`, 0, false},
		{"an overload", 503, `{"error": {"code": 503, "message": "try later", "status": "UNAVAILABLE"}}`, 0, true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.Equal(t, "/v1beta/models/gemini-4-argon", r.URL.Path)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			client, err := gemini.NewClient(t.Context(), &genai.ClientConfig{
				APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
			})
			require.NoError(t, err)
			m := &gemini.Model{Client: client, Name: "gemini-4-argon"}
			got, err := m.Window(t.Context())
			require.Equal(t, tt.window, got)
			if tt.err {
				var transient *chat.TransientError
				require.ErrorAs(t, err, &transient)
				return
			}
			require.NoError(t, err)
		})
	}
	_, err := new(gemini.Model).Window(t.Context())
	require.ErrorContains(t, err, "Model.Client or Model.Name is not set")
}

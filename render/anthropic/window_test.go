package anthropic_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestTheAPISaysTheWindowOfAModel(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		status int
		body   string
		window int
		err    bool
	}{
		{"what it says", 200, `{"id": "claude-opus-5-5", "type": "model", "max_input_tokens": 1000000, "max_tokens": 128000}`, 1_000_000, false},
		{"a server that does not say", 200, `{"id": "claude-opus-5-5", "type": "model"}`, 0, false},
		{"a null", 200, `{"id": "claude-opus-5-5", "max_input_tokens": null}`, 0, false},
		{"a number below 0", 200, `{"max_input_tokens": -5}`, 0, false},
		{"a server without the address", 404, `{"type": "error", "error": {"type": "not_found_error", "message": "no such page"}}`, 0, false},
		{"an overload", 529, `{"type": "error", "error": {"type": "overloaded_error", "message": "try later"}}`, 0, true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.Equal(t, "/v1/models/claude-opus-5-5", r.URL.Path)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			m := &anthropic.Model{Client: sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("key")), Name: "claude-opus-5-5"}
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
	_, err := new(anthropic.Model).Window(t.Context())
	require.ErrorContains(t, err, "Model.Name is not set")
}

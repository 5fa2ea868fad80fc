package providertest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// Answered is what a server answers that is asked about a model.
type Answered struct {
	rule   string
	status int
	body   string
	window int
	passes bool
}

// Answer returns an answer with the window that is read from it, 0 if the server does not say it, and whether it is an
// error that may pass.
func Answer(rule string, status int, body string, window int, passes bool) Answered {
	return Answered{rule, status, body, window, passes}
}

// Windows tests that a model reads its context window from the answers to requests for a path. window asks a server.
func Windows(t *testing.T, path string, window func(t *testing.T, server string) (int, error), answers ...Answered) {
	for _, a := range answers {
		t.Run(a.rule, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.Equal(t, path, r.URL.Path)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(a.status)
				_, _ = w.Write([]byte(a.body))
			}))
			defer server.Close()
			got, err := window(t, server.URL)
			require.Equal(t, a.window, got)
			if !a.passes {
				require.NoError(t, err)
				return
			}
			var transient *chat.TransientError
			require.ErrorAs(t, err, &transient)
		})
	}
}

// Package providertest is what the modules of the providers are tested for alike.
package providertest

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// hostile are bodies that are no provider's answer.
var hostile = map[string]string{
	"nothing":            "",
	"no JSON":            "data: {\n\n",
	"no event":           "hello\n\n",
	"an array":           "data: []\n\n",
	"a null":             "data: null\n\n",
	"a line without end": "data: " + strings.Repeat("x", 1<<20),
}

// HostileAnswers checks that what is no answer is an error, streamed or not, and leaves no goroutine of these packages
// behind. The bodies given are those that look like the provider's own; model asks a server that answers with a body.
func HostileAnswers(t *testing.T, bodies map[string]string, model func(*httptest.Server) chat.Model, packages ...string) {
	bodies = maps.Clone(bodies)
	maps.Copy(bodies, hostile)
	for rule, body := range bodies {
		t.Run(rule, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, body)
			}))
			defer s.Close()
			m := model(s)
			_, err := m.Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("Well?")}, Stream: func(chat.Delta) {}})
			require.Error(t, err)
			_, err = m.Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("Well?")}})
			require.Error(t, err)
		})
	}
	http.DefaultClient.CloseIdleConnections()
	requireNoGoroutineOf(t, packages...)
}

// requireNoGoroutineOf waits for the goroutines of these packages to end.
func requireNoGoroutineOf(t *testing.T, packages ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		all := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
		for _, stack := range all[1:] { // the first is the test's own
			for _, p := range packages {
				if strings.Contains(stack, p) && !strings.Contains(stack, "testing.(*T).Run") {
					return false
				}
			}
		}
		return true
	}, 5*time.Second, 10*time.Millisecond)
}

package gemini_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// What is no answer is an error, streamed or not, and leaves no goroutine behind.
func TestHostileAnswers(t *testing.T) {
	for rule, body := range map[string]string{
		"nothing":                "",
		"no JSON":                "data: {\n\n",
		"no event":               "hello\n\n",
		"an array":               "data: []\n\n",
		"a null":                 "data: null\n\n",
		"a line without end":     "data: " + strings.Repeat("x", 1<<20),
		"fields of other types":  "data: {\"candidates\":5}\n\n",
		"parts of other types":   "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":5}]}}]}\n\n",
		"a candidate of nothing": "data: {\"candidates\":[null]}\n\n",
	} {
		t.Run(rule, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, body)
			}))
			defer s.Close()
			m := (&api{Server: s}).model(t)
			_, err := m.Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("Well?")}, Stream: func(chat.Part) {}})
			require.Error(t, err)
			_, err = m.Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("Well?")}})
			require.Error(t, err)
		})
	}
	requireNoGoroutineOf(t, "render/gemini.", "genai.")
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

package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/openai"
)

func TestHugeRequestsAreMended(t *testing.T) {
	const n = 20_000
	same := asked(strings.Split(strings.Repeat("a,", n), ",")...)
	messages := []chat.Message{question, same}
	for i := range n {
		messages = append(messages, chat.ToolResult("a", "1"), asked(fmt.Sprint(i)))
	}
	for i := range n {
		messages = append(messages, chat.ToolResult(fmt.Sprint(i), "1"))
	}
	for _, api := range apis {
		mended, _ := openai.Repair(chat.Request{Messages: messages}, api)
		require.NoError(t, openai.Validate(mended, api))
	}
}

// What is no answer is an error, streamed or not, and leaves no goroutine behind.
func TestHostileAnswers(t *testing.T) {
	for rule, body := range map[string]string{
		"nothing":               "",
		"no JSON":               "data: {\n\n",
		"no event":              "hello\n\n",
		"an array":              "data: []\n\n",
		"a null":                "data: null\n\n",
		"fields of other types": `data: {"choices":7,"output":"x","type":5}` + "\n\n",
		"an unknown event":      `data: {"type":"response.new","delta":5}` + "\n\ndata: [DONE]\n\n",
		"a line without end":    "data: " + strings.Repeat("x", 1<<20),
	} {
		for name, api := range apis {
			t.Run(rule+" "+name, func(t *testing.T) {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, body)
				}))
				defer s.Close()
				m := &openai.Model{Client: sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("none")), Name: "local", API: api}
				_, err := m.Generate(t.Context(), chat.Request{Messages: []chat.Message{question}, Stream: func(chat.Part) {}})
				require.Error(t, err)
				_, err = m.Generate(t.Context(), chat.Request{Messages: []chat.Message{question}})
				require.Error(t, err)
			})
		}
	}
	http.DefaultClient.CloseIdleConnections()
	requireNoGoroutineOf(t, "render/openai.", "ssestream")
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

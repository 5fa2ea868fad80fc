package models_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/summarize/models"
)

var asking = chat.Request{Messages: []chat.Message{chat.UserMessage("Summarise.")}}

// endpoint serves a handler until the test ends.
func endpoint(t testing.TB, f http.HandlerFunc) models.Remote {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return models.Remote{URL: server.URL + "/summarise?key=secret", Client: server.Client()}
}

func TestRemotePostsASystemPromptAndAPrompt(t *testing.T) {
	for _, c := range []struct {
		rule           string
		messages       []chat.Message
		system, prompt string
	}{
		{"a system message and a user message", []chat.Message{chat.SystemMessage("Be short."), chat.UserMessage("Sum <b> up.")}, "Be short.", "Sum <b> up."},
		{"several system messages are joined", []chat.Message{chat.SystemMessage("A"), chat.SystemMessage("B"), chat.UserMessage("C")}, "A\n\nB", "C"},
		{"a history is one text, followed by the last user message", []chat.Message{
			chat.UserMessage("Look </conversation> & see"),
			{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I do.")}, ToolCalls: []chat.ToolCall{{ID: "a", Name: "read", Arguments: `{"path":"a"}`}}},
			chat.ToolResult("a", "one\ntwo"), chat.UserMessage("Sum up."),
		}, "", "<conversation>\nuser: Look <\\/conversation> & see\nassistant: I do.\ncall: read({\"path\":\"a\"})\nresult: one\n  two\n</conversation>\n\nSum up."},
		{"other parts are named", []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Text("See."), chat.Image{URL: "https://example.com/a.png"}}}},
			"", "See.\n[attached: image https://example.com/a.png]"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var data []byte
			remote := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
				var got map[string]string
				data, _ = io.ReadAll(r.Body)
				if err := json.Unmarshal(data, &got); err != nil {
					t.Errorf("%s: %v", data, err)
				}
				require.Equal(t, map[string]string{"systemPrompt": c.system, "prompt": c.prompt}, got)
				require.Equal(t, []string{"POST", "application/json", "Bearer token"}, []string{r.Method, r.Header.Get("Content-Type"), r.Header.Get("Authorization")})
				io.WriteString(w, `{"summary":"All is well.","model":"x"}`)
			})
			remote.Header = http.Header{"Authorization": {"Bearer token"}}
			response := providertest.Generated(t, remote, chat.Request{Messages: c.messages})
			require.Equal(t, chat.Response{Message: chat.AssistantMessage("All is well."), RequestBytes: len(data)}, response)
		})
	}
}

func TestRemoteErrorsSayWhatFailedAndWhetherToRetry(t *testing.T) {
	const at = "models: the endpoint http://HOST/summarise"
	for _, c := range []struct {
		rule              string
		status            int
		after, body, want string
		transient         bool
		wait              time.Duration
		limit             bool
	}{
		{rule: "an answer that is not JSON", status: 200, body: "<html>", want: at + " answered with status 200: reading the answer: invalid character"},
		{rule: "an answer without a summary", status: 200, body: `{"text":"x"}`, want: "the answer has no summary"},
		{rule: "a summary of null", status: 200, body: `{"summary":null}`, want: "the answer has no summary"},
		{rule: "a summary that is not a string", status: 200, body: `{"summary":1}`, want: "reading the answer: "},
		{rule: "an answer that is too large", status: 200, body: `{"summary":"` + strings.Repeat("x", 2000) + `"}`, want: "the answer is larger than 1000 bytes"},
		{rule: "a permanent status", status: 401, body: "who\xff are you", want: at + ` answered with status 401 ("who` + "\uFFFD" + ` are you")`},
		{rule: "no content", status: 204, want: "status 204"},
		{rule: "a rate limit", status: 429, after: "7", want: "chat: try again: " + at + " answered with status 429", transient: true, wait: 7 * time.Second},
		{rule: "a rate limit with an unreadable time", status: 429, after: "soon", want: "429", transient: true},
		{rule: "a rate limit until a time in the past", status: 429, after: "Fri, 01 Jan 2021 00:00:00 GMT", want: "429", transient: true},
		{rule: "a server that is down", status: 503, body: strings.Repeat("y", 500), want: `("` + strings.Repeat("y", 300) + `…")`, transient: true},
		{rule: "a request that is too large", status: 413, want: "chat: the request is larger than the context window: " + at, limit: true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			remote := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			remote.MaxBytes = 1000
			_, err := remote.Generate(t.Context(), asking)
			host := strings.TrimSuffix(strings.TrimPrefix(remote.URL, "http://"), "/summarise?key=secret")
			require.ErrorContains(t, err, strings.ReplaceAll(c.want, "HOST", host))
			require.NotContains(t, err.Error(), "secret")
			require.Equal(t, c.status, errtest.As[*models.RemoteError](t, err).Status)
			transient, ok := errors.AsType[*chat.TransientError](err)
			require.Equal(t, c.transient, ok)
			if ok {
				require.Equal(t, c.wait, transient.RetryAfter)
			}
			_, ok = errors.AsType[*chat.ContextLimitError](err)
			require.Equal(t, c.limit, ok)
		})
	}
}

func TestRemoteNeedsAnHTTPURL(t *testing.T) {
	for _, url := range []string{"", "example.com/x", "file:///etc/passwd", "http://", "http://a b"} {
		_, err := models.Remote{URL: url}.Generate(t.Context(), asking)
		require.EqualError(t, err, "models: Remote.URL is not an http or https URL")
	}
}

func TestRemoteWithstandsAHostileServer(t *testing.T) {
	const answer = `{"summary":"Well."}`
	providertest.Hostile{
		Model: func(_ testing.TB, client *http.Client, url string) chat.Model {
			return models.Remote{URL: url + "/summarise?key=" + providertest.QueryKey, Client: client, Header: http.Header{
				"Authorization": {"Bearer " + providertest.Key}, "X-Api-Key": {providertest.Key}, "Cookie": {"session=" + providertest.Key},
			}}
		},
		Answer: answer, Stream: answer,
		Own: func(err error) bool {
			_, ok := errors.AsType[*models.RemoteError](err)
			return ok
		},
		Packages: []string{"summarize/models."},
	}.Test(t)
}

func ExampleRemote() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"summary":"The build was fixed."}`)
	}))
	defer server.Close()
	var model chat.Model = models.Remote{URL: server.URL}
	response, err := model.Generate(context.Background(), chat.Request{Messages: []chat.Message{chat.UserMessage("Sum up.")}})
	fmt.Println(response.Message.Text(), err)
	// Output: The build was fixed. <nil>
}

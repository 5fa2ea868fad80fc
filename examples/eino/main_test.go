package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// server speaks Chat Completions. The model reads files two at a time and then answers. The server refuses requests
// that break the rules or are larger than its window.
type server struct {
	*httptest.Server
	rounds int // rounds before the answer
	window int // bytes of the messages
	crash  int // round in which the connection breaks once
	// mind, if set, answers instead.
	mind func(b body) (text string, calls []call)

	mu                                  sync.Mutex
	asked, streamed, summaries, refused int
	broken                              []string // rules
}

type call struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type message struct {
	Role       string `json:"role"`
	Content    any    `json:"content"`
	ToolCalls  []call `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

func (m message) text() string { s, _ := m.Content.(string); return s }

type body struct {
	Messages []message        `json:"messages"`
	Tools    []map[string]any `json:"tools"`
	Stream   bool             `json:"stream"`
}

// judge returns the rule that messages break.
func judge(messages []message) string {
	var open []string
	for i, m := range messages {
		if m.Role == "tool" {
			k := slices.Index(open, m.ToolCallID)
			if k < 0 {
				return fmt.Sprintf("message %d answers no call", i)
			}
			open = slices.Delete(open, k, k+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("message %d comes before the results of %q", i, open)
		}
		if m.text() == "" && len(m.ToolCalls) == 0 {
			return fmt.Sprintf("message %d says nothing", i)
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if last := messages[len(messages)-1]; last.Role != "user" && last.Role != "tool" || len(open) > 0 {
		return "there is nothing to answer"
	}
	return ""
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone: a summary in the background was cancelled
	}
	if bytes.Contains(raw, []byte("promptree")) {
		s.broken = append(s.broken, "a mark of promptree's is sent")
	}
	var b body
	if err := json.Unmarshal(raw, &b); err != nil || r.URL.Path != "/v1/chat/completions" || len(b.Messages) == 0 {
		s.broken = append(s.broken, fmt.Sprint("the request: ", err, r.URL.Path))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if rule := judge(b.Messages); rule != "" {
		s.broken = append(s.broken, rule)
	}
	size := 0
	for _, m := range b.Messages {
		size += len(m.text())
	}
	w.Header().Set("Content-Type", "application/json")
	if size > s.window {
		s.refused++
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, s.window/4, size/4)
		return
	}
	if last := b.Messages[len(b.Messages)-1]; last.Role == "user" && strings.Contains(last.text(), "is being compacted") { // as the policy asks
		s.summaries++
		s.say(w, b.Stream, "# Looking for the password\n\n## Course\nFiles were read one after the other, from the first on; each held lines of the same kind, and in none of them stood what the user asks for. No file was changed, and no command was run.\n\n## State\nThe search goes on with the files that have not been read yet. What was read need not be read again: nothing in it is of use for the question.\n\n## What the user wants\nThe user asked a question and expects a short answer; when it is found, say it in one sentence, and say nothing else beside it.", nil, size)
		return
	}
	if s.mind != nil {
		text, calls := s.mind(b)
		s.say(w, b.Stream, text, calls, size)
		return
	}
	n := s.asked
	if n == s.crash {
		s.crash = -1
		w.Header().Set("Content-Length", "1000")
		return
	}
	s.asked++
	if n >= s.rounds {
		s.say(w, b.Stream, "The password is 42.", nil, size)
		return
	}
	s.say(w, b.Stream, "", []call{
		calls(0, fmt.Sprintf("call_%d_0", n), "read_file", fmt.Sprintf(`{"path":"f%d.txt"}`, 2*n)),
		calls(1, fmt.Sprintf("call_%d_1", n), "read_file", fmt.Sprintf(`{"path":"f%d.txt"}`, 2*n+1)),
	}, size)
}

// calls returns a tool call.
func calls(index int, id, name, arguments string) call {
	c := call{Index: index, ID: id, Type: "function"}
	c.Function.Name, c.Function.Arguments = name, arguments
	return c
}

// say writes an answer, streamed in pieces if requested.
func (s *server) say(w http.ResponseWriter, streamed bool, text string, calls []call, size int) {
	finish := "stop"
	if len(calls) > 0 {
		finish = "tool_calls"
	}
	usage := map[string]any{"prompt_tokens": size / 4, "completion_tokens": 10, "total_tokens": size/4 + 10}
	encode := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	if !streamed {
		fmt.Fprint(w, encode(map[string]any{"object": "chat.completion", "usage": usage, "choices": []any{map[string]any{
			"finish_reason": finish, "message": map[string]any{"role": "assistant", "content": text, "tool_calls": calls},
		}}}))
		return
	}
	s.streamed++
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(delta map[string]any, finish any, usage any) {
		fmt.Fprintf(w, "data: %s\n\n", encode(map[string]any{
			"object": "chat.completion.chunk", "usage": usage, "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		}))
	}
	half := len(text) / 2
	event(map[string]any{"role": "assistant", "content": text[:half]}, nil, nil)
	event(map[string]any{"content": text[half:]}, nil, nil)
	for _, c := range calls {
		whole := c.Function.Arguments
		c.Function.Arguments = whole[:5]
		event(map[string]any{"tool_calls": []call{c}}, nil, nil)
		event(map[string]any{"tool_calls": []any{map[string]any{"index": c.Index, "function": map[string]any{"arguments": whole[5:]}}}}, nil, nil)
	}
	event(map[string]any{}, finish, usage)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// files returns a folder with files.
func files(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(strings.Repeat(fmt.Sprintf("line of file %d\n", i), 60)), 0o600))
	}
	return dir
}

func TestAConversationOutgrowsItsWindowBreaksOffAndContinues(t *testing.T) {
	const rounds = 25
	s := &server{rounds: rounds, window: 12_000, crash: 18}
	s.Server = httptest.NewServer(s)
	defer s.Close()
	t.Setenv("OPENAI_API_KEY", "any")
	session := filepath.Join(t.TempDir(), "session.jsonl")
	dir := files(t, 2*rounds)
	ask := func(question string) (code int, out, problems string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), []string{"-base-url", s.URL + "/v1", "-session", session, "-dir", dir, "-window", "8000", question}, &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	question := "Where is the password?"
	code, _, problems := ask(question)
	require.Equal(t, 1, code)
	require.NotEmpty(t, problems)

	code, out, problems := ask(question) // the same question
	require.Equal(t, 0, code, problems)
	require.Contains(t, out, "The password is 42.")
	code, out, problems = ask("Are you sure?")
	require.Equal(t, 0, code, problems)
	require.Contains(t, out, "The password is 42.")

	require.Empty(t, s.broken)
	require.Positive(t, s.summaries)
	require.Positive(t, s.refused)
	require.Greater(t, s.streamed, rounds)
	require.Equal(t, rounds+2, s.asked)
	said, err := history.Open(session, history.Options{})
	require.NoError(t, err)
	defer said.Close()
	count := map[chat.Role]int{}
	for e, err := range said.Entries(t.Context()) {
		require.NoError(t, err)
		count[e.Message().Role]++
		if m := e.Message(); m.Role == chat.RoleTool {
			require.Contains(t, m.Text(), "line of file")
		}
	}
	require.Equal(t, 2, count[chat.RoleUser])
	require.Equal(t, rounds+2, count[chat.RoleAssistant])
	require.Equal(t, 2*rounds, count[chat.RoleTool])
}

func TestInvalidFlagsAreUsageErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"ask a question": {}, "-window is 10": {"-window", "10", "a"}, "-nonsense": {"-nonsense"}, "none": {"-dir", "none", "a"}, "set OPENAI_API_KEY": {"a"},
	} {
		t.Setenv("OPENAI_API_KEY", "any")
		if want == "set OPENAI_API_KEY" {
			t.Setenv("OPENAI_API_KEY", "")
		}
		var out, problems bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, &out, &problems), "%q", args)
		require.Contains(t, problems.String(), want)
		require.Equal(t, 1, strings.Count(problems.String(), "\n"), problems.String())
		require.NoFileExists(t, "session.jsonl")
	}
}

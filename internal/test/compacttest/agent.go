package compacttest

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// What the tests of adapters to agent frameworks share.

// Estimator is the tokenizer of an adapter's tests.
var Estimator = sizing.Estimator{}

// Offline returns a compactor whose summaries are digests made without a model.
func Offline(t testing.TB, s *history.Session) *summarize.Compactor {
	t.Helper()
	c := &summarize.Compactor{
		Session: s, Policy: Unjudged(copilotchat.Policy()),
		Target: policy.Target{Model: models.Offline{Tokenizer: Estimator}, Name: "scripted", Tokenizer: Estimator, Budget: Budget},
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// InFile opens a session in a new file, and returns the file's path too.
func InFile(t testing.TB) (*history.Session, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	return sessiontest.Opened(t, path), path
}

// Redacting returns a session that keeps no key such as sk-123.
func Redacting(t testing.TB) *history.Session {
	t.Helper()
	key := regexp.MustCompile(`sk-\w+`)
	s := sessiontest.New(t, &storage.Memory{}, history.Options{
		Redact: func(p entry.Passage) string { return key.ReplaceAllString(p.Text, "[key]") },
	})
	return s
}

// WithKey returns a session in a file whose prompt no longer shows "The key is K-7.", which stands in the middle of a long
// message of the user, the first entry.
func WithKey(t testing.TB) *history.Session {
	t.Helper()
	s := sessiontest.Open(t, filepath.Join(t.TempDir(), "session.jsonl"), history.Options{Recall: true})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	long := strings.Repeat("No key. ", 3000)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage(long+"The key is K-7. "+long), chat.AssistantMessage("Yes.")))
	require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("There was a key.")}}))
	return s
}

// FileContent is what a tool returns that reads a file.
func FileContent(path string) string {
	return "content of " + path + ": " + strings.Repeat("line of code\n", 100)
}

// Counts returns the number of messages on a session's path by role, and whether it was compacted.
func Counts(t testing.TB, s *history.Session) string {
	t.Helper()
	n, compacted := map[chat.Role]int{}, "not compacted"
	for e, err := range s.PathTo(t.Context(), "") {
		require.NoError(t, err)
		switch e.Type() {
		case entry.TypeMessage:
			n[e.Message().Role]++
		case entry.TypeCompaction:
			compacted = "compacted"
		}
	}
	return fmt.Sprintf("%d users, %d answers, %d results, %s", n[chat.RoleUser], n[chat.RoleAssistant], n[chat.RoleTool], compacted)
}

// PathWords returns the messages on a session's path as words: the text of each, and for a call c and its argument path.
func PathWords(t testing.TB, s *history.Session) string {
	t.Helper()
	var list []string
	for e, err := range s.PathTo(t.Context(), "") {
		require.NoError(t, err)
		if e.Type() != entry.TypeMessage {
			continue
		}
		word := e.Message().Text()
		if calls := e.Message().ToolCalls; len(calls) > 0 {
			word = "c" + strings.TrimSuffix(strings.TrimPrefix(calls[0].Arguments, `{"path":"`), `"}`)
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

// RecordedOnce tests that the session in a file has each of these questions, and no question, call or result twice. name
// returns what tells a result from others, and a call, whose arguments are the text then. RecordedOnce returns the numbers
// of results and of compactions.
func RecordedOnce(t testing.TB, path string, name func(result chat.Message) string, questions ...string) (results, compactions int) {
	t.Helper()
	s, err := history.Read(path, history.Options{})
	require.NoError(t, err)
	defer s.Close()
	seen := map[string]int{}
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		switch m := e.Message(); m.Role {
		case chat.RoleUser:
			seen[m.Text()]++
		case chat.RoleTool:
			results++
			seen["result "+name(m)]++
		case chat.RoleAssistant:
			for _, c := range m.ToolCalls {
				seen["call "+name(chat.Message{ToolCallID: c.ID, Content: chat.Parts{chat.Text(c.Arguments)}})]++
			}
		}
		if e.Type() == entry.TypeCompaction {
			compactions++
		}
	}
	for what, times := range seen {
		require.Equal(t, 1, times, what)
	}
	for _, q := range questions {
		require.Contains(t, seen, q)
	}
	return results, compactions
}

// Camera is a toolbox whose tool returns a picture.
type Camera struct{}

func (Camera) Declared() []chat.Tool { return []chat.Tool{{Name: "look"}} }

func (Camera) Answer(_ context.Context, call chat.ToolCall) (chat.Message, bool, error) {
	return chat.Message{Role: chat.RoleTool, Content: chat.Parts{chat.Text("The harbour."), chat.Image{URL: "data:image/png;base64,AAAA"}}}, call.Name == "look", nil
}

// Reading returns the answers of a framework's model that reads a file in each round until it is done, and then says so.
func Reading[Request, Answer any](done func(round int) bool, reads func(...string) Answer, says func(string) Answer) func(int, Request) (Answer, error) {
	return func(round int, _ Request) (Answer, error) {
		if done(round) {
			return says("done"), nil
		}
		return reads(fmt.Sprintf("f%d.go", round)), nil
	}
}

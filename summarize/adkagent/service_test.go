package adkagent_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/sessiontestsuite"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/summarize/adkagent"
)

// serviceIn returns a service that keeps its logs in a folder.
func serviceIn(t *testing.T, folder string) *adkagent.Service {
	t.Helper()
	s := adkagent.NewService(adkagent.Files(folder))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestAServicePassesTheTestsOfADK(t *testing.T) {
	sessiontestsuite.RunServiceTests(t, sessiontestsuite.SuiteOptions{SupportsUserProvidedSessionID: true}, func(t *testing.T) session.Service {
		return serviceIn(t, t.TempDir())
	})
}

// event returns an event with every field set that adk does not set itself.
func event(id string) *session.Event {
	return &session.Event{
		ID: id, Author: "coder", InvocationID: "i", Branch: "a.b", IsolationScope: "scope", Timestamp: time.Unix(1e9, 1234).UTC(),
		LLMResponse: model.LLMResponse{
			Content:       said(&genai.Part{Text: "<b>", Thought: true, ThoughtSignature: []byte{0xff}}, called("adk-1", "f", map[string]any{"x": 1.5})),
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 3}, FinishReason: genai.FinishReasonStop,
		},
		Actions:            session.EventActions{StateDelta: map[string]any{"own " + id: "1", "user:u": 2.0, "app:a": []any{true}, "temp:t": "gone"}},
		LongRunningToolIDs: []string{"adk-1"}, Output: map[string]any{"is": "JSON"},
	}
}

func TestAReopenedServiceHasEverything(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made", "by the service")
	s := adkagent.NewService(adkagent.Files(folder))
	made, err := s.Create(t.Context(), &session.CreateRequest{AppName: "an app/..", UserID: "Ada", SessionID: "..", State: map[string]any{"begun": "yes", "app:v": "1"}})
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, s.AppendEvent(t.Context(), made.Session, event(fmt.Sprint(i))))
	}
	v, err := made.Session.State().Get("temp:t")
	require.NoError(t, err)
	require.Equal(t, "gone", v, "temporary state is visible within the invocation")
	other, err := s.Create(t.Context(), &session.CreateRequest{AppName: "an app/..", UserID: "Ada"})
	require.NoError(t, err)
	require.NoError(t, s.Close())

	s = serviceIn(t, folder)
	got, err := s.Get(t.Context(), &session.GetRequest{AppName: "an app/..", UserID: "Ada", SessionID: ".."})
	require.NoError(t, err)
	want := sessiontestsuite.Snapshot(made.Session)
	delete(want.State, "temp:t")
	require.Equal(t, asJSON(t, want), asJSON(t, sessiontestsuite.Snapshot(got.Session)))
	require.Equal(t, made.Session.LastUpdateTime(), got.Session.LastUpdateTime())
	got, err = s.Get(t.Context(), &session.GetRequest{AppName: "an app/..", UserID: "Ada", SessionID: other.Session.ID()})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"user:u": 2.0, "app:a": []any{true}, "app:v": "1"}, sessiontestsuite.Snapshot(got.Session).State)

	require.NoError(t, s.Delete(t.Context(), &session.DeleteRequest{AppName: "an app/..", UserID: "Ada", SessionID: ".."}))
	require.ErrorContains(t, s.AppendEvent(t.Context(), made.Session, event("late")), "not found")
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 2, "the application's log and the other session's")
	again, err := s.Create(t.Context(), &session.CreateRequest{AppName: "an app/..", UserID: "Ada", SessionID: ".."})
	require.NoError(t, err)
	require.Zero(t, again.Session.Events().Len())
}

func TestAServiceIsSafeForConcurrentUse(t *testing.T) {
	s := serviceIn(t, t.TempDir())
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			id := fmt.Sprint(i)
			made, err := s.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u" + id, SessionID: id})
			if !assert.NoError(t, err) {
				return
			}
			for range 5 {
				assert.NoError(t, s.AppendEvent(t.Context(), made.Session, event(id)))
			}
		})
	}
	wait.Wait()
	list, err := s.List(t.Context(), &session.ListRequest{AppName: "app"})
	require.NoError(t, err)
	require.Len(t, list.Sessions, 8)
	for _, one := range list.Sessions {
		got, err := s.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: one.UserID(), SessionID: one.ID()})
		require.NoError(t, err)
		require.Equal(t, 5, got.Session.Events().Len())
	}
}

package stepping_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/replay/internal/stepping"
)

// ownLog returns a log with turns, compactions by a policy and by the caller, clearings, branches, and calls without a
// result.
func ownLog(t *testing.T, seed uint64) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	path := filepath.Join(t.TempDir(), "session.jsonl")
	s := sessiontest.Open(t, path, history.Options{IDs: numbered.IDs(), File: storage.FileOptions{Sync: storage.SyncNever}})
	c := compactorAt(s, 2000)
	var leaves []string // the session's leaf after each step
	for n := range 40 + r.IntN(40) {
		says := func(text string) string { return fmt.Sprint(text, " ", n, " ", strings.Repeat("words ", r.IntN(150))) }
		switch k := r.IntN(12); {
		case k < 2:
			require.NoError(t, s.Append(t.Context(), chat.UserMessage(says("do")), chat.AssistantMessage(says("did"))))
		case k < 7:
			id, other := fmt.Sprint("c", n), fmt.Sprint("d", n)
			require.NoError(t, s.Append(t.Context(), chat.UserMessage(says("run")), chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
				{ID: id, Name: "read", Arguments: `{"path":"a.go"}`}, {ID: other, Name: "run", Arguments: "{}"},
			}}))
			require.NoError(t, s.Append(t.Context(), chat.ToolResult(id, says("read"))))
			if r.IntN(3) > 0 {
				require.NoError(t, s.Append(t.Context(), chat.ToolResult(other, says("ran"))))
			}
		case k == 7:
			sessiontest.Add(t, s, entry.Entry{Body: entry.Todos{Text: "first this"}}, entry.Entry{Body: entry.Usage{Model: "m", Usage: chat.Usage{Input: 10}}},
				entry.Entry{Body: entry.Shell{Command: "ls", Output: "a\n"}}, entry.Entry{Body: entry.Custom{Name: "own"}})
		case k == 8:
			v := sessiontest.View(t, s)
			if cleared, ok := (history.ClearRule{Keep: 50}).Find(v, sizing.Estimator{}); ok {
				sessiontest.Add(t, s, entry.Entry{Body: cleared})
			}
		case k == 9 && len(leaves) > 0:
			require.NoError(t, s.Branch(t.Context(), leaves[len(leaves)-1-r.IntN(min(len(leaves), 10))]))
		case k == 10 && len(leaves) > 0:
			c := entry.Compaction{Messages: []chat.Message{chat.UserMessage("so far")}, FirstKept: leaves[len(leaves)-1-r.IntN(min(len(leaves), 6))]}
			if r.IntN(2) == 0 {
				c.FirstKept, c.LastCovered = "", c.FirstKept
			}
			if _, err := s.Add(t.Context(), entry.Entry{Body: c}); err != nil {
				continue // the history may not be cut there
			}
		default:
			require.NoError(t, s.Append(t.Context(), chat.UserMessage(says("go on"))))
			if _, err := c.Render(t.Context(), stepping.Prompt(s)); err != nil {
				require.ErrorAs(t, err, new(*render.BudgetExceededError))
			}
		}
		leaves = append(leaves, s.Leaf())
	}
	require.NoError(t, c.Close())
	require.NoError(t, s.Close())
	return sure.Read(t, path)
}

func compactorAt(s *history.Session, window int) *summarize.Compactor {
	t := sizing.Estimator{}
	return &summarize.Compactor{Session: s, Target: policy.Target{Model: models.Offline{Tokenizer: t}, Tokenizer: t, Budget: window, ContextWindow: window}}
}

// Logs with compactions, clearings and branches are replayed with their own compactions and with new ones.
func TestALogOfOurOwnIsReplayedInAnyWindow(t *testing.T) {
	t.Parallel()
	compactions, clearings, branches := 0, 0, 0
	for seed := range uint64(20) {
		log := ownLog(t, seed)
		compactions += bytes.Count(log, []byte(`{"type":"compaction"`))
		clearings += bytes.Count(log, []byte(`{"type":"clearing"`))
		branches += bytes.Count(log, []byte(`{"type":"branch"`))
		recording, err := importer.Read(bytes.NewReader(log))
		require.NoError(t, err)
		for _, window := range []int{2000, 8000, 32_000} {
			s := numbered.Session()
			c := compactorAt(s, window)
			steps := 0
			for _, err := range stepping.Steps(t.Context(), recording, s, stepping.Options{}) {
				require.NoError(t, err, "seed %d, window %d", seed, window)
				steps++
				rendered, err := c.Render(t.Context(), stepping.Prompt(s))
				if _, over := errors.AsType[*render.BudgetExceededError](err); over {
					continue
				}
				require.NoError(t, err, "seed %d, window %d", seed, window)
				require.NoError(t, chat.Validate(rendered.Messages))
			}
			require.Equal(t, stepping.Requests(recording), steps)
			require.NoError(t, c.Close())
		}
		s := numbered.Session()
		for _, err := range stepping.Steps(t.Context(), recording, s, stepping.Options{Compactions: true}) {
			require.NoError(t, err, "seed %d", seed)
			_, err := s.View(context.Background())
			require.NoError(t, err)
		}
	}
	require.Positive(t, compactions)
	require.Positive(t, clearings)
	require.Positive(t, branches)
	t.Logf("%d compactions, %d clearings, %d branches", compactions, clearings, branches)
}

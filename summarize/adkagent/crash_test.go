package adkagent_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// Processes die at any request or tool call, and others continue with adk's session as it was kept, or with none.
func TestEveryMessageIsRecordedOnceWhereverTheProcessDies(t *testing.T) {
	died := errors.New("died")
	compacted := 0
	for seed := range uint64(10) {
		dice := rand.New(rand.NewPCG(seed, 4))
		path := filepath.Join(t.TempDir(), "session.jsonl")
		keeps := seed%2 == 0 // adk's session
		sessions := session.InMemoryService()
		calls, n := 0, 0 // calls made, and rounds finished
		m := &scripted{answer: func(_ int, r request) (*model.LLMResponse, error) {
			if dice.IntN(8) == 0 {
				return nil, died
			}
			if n%13 == 12 {
				n++
				return says(fmt.Sprintf("done %d", n)), nil
			}
			n++
			var files []string
			for range 1 + dice.IntN(2) {
				calls++
				files = append(files, fmt.Sprintf("%d.go", calls))
			}
			return reads(files...), nil
		}}
		read := readTool(t, func(_ agent.Context, path string) (string, error) { return compacttest.FileContent(path), nil })
		for q := range 2 {
			asked := fmt.Sprintf("question %d", q)
			for again := 0; ; again++ {
				s := sessiontest.Open(t, path, history.Options{File: storage.FileOptions{Sync: storage.SyncNever}})
				if !keeps {
					sessions = session.InMemoryService()
				}
				compactor := compacttest.Offline(t, s)
				words := asked
				if keeps && again > 0 {
					words = fmt.Sprintf("go on %d.%d", q, again)
				}
				got := run(t, runnerOf(t, sessions, agentOf(t, m, read), pluginOn(t, compactor)), dice.IntN(2) == 0, words)
				require.NoError(t, compactor.Close())
				require.NoError(t, s.Close())
				if got.err == nil {
					break
				}
				require.ErrorIs(t, got.err, died, "seed %d", seed)
			}
		}
		results, n := compacttest.RecordedOnce(t, path, func(m chat.Message) string { return m.Text()[:min(len(m.Text()), 20)] }, "question 0", "question 1")
		require.Equal(t, calls, results, "seed %d", seed)
		compacted += n
	}
	require.Positive(t, compacted)
}

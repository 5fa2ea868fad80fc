package einoagent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// Processes die at any request or tool call, and others continue with what the application kept: the question, the
// whole conversation, or questions and answers.
func TestEveryMessageIsRecordedOnceWhereverTheProcessDies(t *testing.T) {
	const deadly = "the file that kills the process"
	died := errors.New("died")
	compacted := 0
	for seed := range seeds(40) {
		d := dice{rand.New(rand.NewPCG(seed, 4))}
		path := filepath.Join(t.TempDir(), "session.jsonl")
		calls := 0
		m := &scripted{answer: func(_ int, r request) (*schema.Message, error) {
			if d.one(8) {
				return nil, died
			}
			n := 0
			if last := r.messages[len(r.messages)-1]; last.Role == schema.Tool {
				var attempt int
				if _, err := fmt.Sscanf(last.ToolCallID, "call_%d_%d", &n, &attempt); err != nil {
					return nil, err
				}
				n++
			}
			if n == 12 {
				return says("done"), nil
			}
			answer := &schema.Message{Role: schema.Assistant}
			for range 1 + d.IntN(2) {
				calls++
				path := fmt.Sprintf("%d.go", n)
				if d.one(20) {
					path = deadly
				}
				answer.ToolCalls = append(answer.ToolCalls, schema.ToolCall{
					ID: fmt.Sprintf("call_%d_%d", n, calls), Function: schema.FunctionCall{Name: "read", Arguments: fmt.Sprintf(`{"path":%q}`, path)},
				})
			}
			return answer, nil
		}}
		read := readTool(t, func(_ context.Context, path string) (string, error) {
			if path == deadly {
				return "", died
			}
			return content(path), nil
		})
		questions := []string{"first question", "second question"}
		var kept []*schema.Message // by the application
		for _, question := range questions {
			asked := schema.UserMessage(question)
			for whole, short := d.one(2), d.one(2); ; {
				session, err := history.Open(path, history.Options{File: storage.FileOptions{Sync: storage.SyncNever}})
				require.NoError(t, err)
				input := []*schema.Message{asked}
				if whole {
					input = nil
					for _, m := range kept {
						if !short || m.Role == schema.User || m.Role == schema.Assistant && len(m.ToolCalls) == 0 {
							input = append(input, m)
						}
					}
					input = append(input, asked)
				}
				compactor := compactorOn(t, session)
				got := run(t, agentOf(t, compactor, m, read), d.one(2), input...)
				require.NoError(t, compactor.Close())
				require.NoError(t, session.Close())
				if got.err == nil {
					kept = append(append(kept, asked), got.said...)
					break
				}
				require.ErrorIs(t, got.err, died, "seed %d", seed)
			}
		}
		session, err := history.Read(path, history.Options{})
		require.NoError(t, err)
		seen := map[string]int{}
		for e, err := range session.Entries(t.Context()) {
			require.NoError(t, err)
			switch m := e.Message(); m.Role {
			case chat.RoleUser:
				seen[m.Text()]++
			case chat.RoleTool:
				seen["result "+m.ToolCallID]++
			case chat.RoleAssistant:
				for _, c := range m.ToolCalls {
					seen[c.ID]++
				}
			}
			if e.Type() == entry.TypeCompaction {
				compacted++
			}
		}
		for what, n := range seen {
			require.Equal(t, 1, n, "seed %d: %s", seed, what)
		}
		require.Equal(t, 1, seen[questions[0]])
		require.Equal(t, 1, seen[questions[1]])
		require.NoError(t, session.Close())
	}
	require.Positive(t, compacted)
}

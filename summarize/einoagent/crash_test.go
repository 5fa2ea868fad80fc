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
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
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
			return compacttest.FileContent(path), nil
		})
		questions := []string{"first question", "second question"}
		var kept []*schema.Message // by the application
		for _, question := range questions {
			asked := schema.UserMessage(question)
			for whole, short := d.one(2), d.one(2); ; {
				session := sessiontest.Open(t, path, history.Options{File: storage.FileOptions{Sync: storage.SyncNever}})
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
				compactor := compacttest.Offline(t, session)
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
		_, n := compacttest.RecordedOnce(t, path, func(m chat.Message) string { return m.ToolCallID }, questions...)
		compacted += n
	}
	require.Positive(t, compacted)
}

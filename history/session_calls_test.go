package history_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/growth"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// parallel returns an answer with parallel calls, and their results, the last call's first.
func parallel(calls int) []chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	var results []chat.Message
	for i := range calls {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: fmt.Sprint("c", i), Name: "read", Arguments: "{}"})
		results = append(results, chat.ToolResult(fmt.Sprint("c", calls-1-i), "text"))
	}
	return append([]chat.Message{chat.UserMessage("read"), m}, results...)
}

func TestManyParallelCallsAreAppendedInLinearTime(t *testing.T) {
	fresh := func() *history.Session {
		return sessionIn(t, &storage.Memory{}, history.Options{})
	}
	t.Run("at once", func(t *testing.T) {
		growth.Check(t, extremes.All(), func(calls int) {
			require.NoError(t, fresh().Append(t.Context(), parallel(calls)...))
		})
	})
	t.Run("one at a time", func(t *testing.T) {
		growth.Check(t, extremes.All(), func(calls int) {
			s := fresh()
			for _, m := range parallel(calls) {
				require.NoError(t, s.Append(t.Context(), m))
			}
		})
	})
	t.Run("with ids of their own", func(t *testing.T) {
		growth.Check(t, extremes.All(), func(calls int) {
			var entries []entry.Entry
			for i, m := range parallel(calls) {
				entries = append(entries, entry.Entry{ID: fmt.Sprint("e", i), Body: entry.Message{Message: m}})
			}
			_, err := fresh().Add(t.Context(), entries...)
			require.NoError(t, err)
		})
	})
	t.Run("and shown", func(t *testing.T) {
		growth.Check(t, extremes.All(), func(calls int) {
			s := fresh()
			require.NoError(t, s.Append(t.Context(), parallel(calls)...))
			v := sessiontest.View(t, s)
			require.Len(t, v.Messages(), calls+2)
			require.Empty(t, v.Turns[0].Rounds[0].Aborted())
		})
	})
}

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/sessiontest"
)

// workdays are some of them, one after the other, with ids that differ.
func workdays(n int) (list []chat.Message) {
	for i := range n {
		for _, m := range sessiontest.Workday() {
			for k := range m.ToolCalls {
				m.ToolCalls[k].ID += fmt.Sprint("_", i)
			}
			if m.ToolCallID != "" {
				m.ToolCallID += fmt.Sprint("_", i)
			}
			list = append(list, m)
		}
	}
	return list
}

func TestPromptreesRequestsFitAndEachContestantComesToItsEnd(t *testing.T) {
	messages, window := workdays(6), 3000
	turns := turnsOf(messages)
	for _, c := range contestants(window) {
		got, err := c.run(t.Context(), turns, window)
		require.NoError(t, err, c.name)
		require.Equal(t, answersIn(turns), got.requests, c.name)
		if c.remembers {
			require.Zero(t, got.over, c.name)
			require.Positive(t, got.summaries, c.name)
		}
	}
	var out bytes.Buffer
	require.NoError(t, compare(t.Context(), messages, window, &out))
	require.Equal(t, len(contestants(window)), strings.Count(out.String(), "\n| eino, ")+strings.Count(out.String(), "\n| promptree, "))
}

func TestTheCommandLineIsChecked(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"-window", "10", "a"}, {"-nonsense"}} {
		var out, problems bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, &out, &problems), "%q", args)
		require.NotEmpty(t, problems.String())
	}
	var out, problems bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"missing.jsonl"}, &out, &problems))
}

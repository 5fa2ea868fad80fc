package frugal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// steps renders a prompt after each of a number of rounds. It returns the number of compactions and the tokens of the
// largest prompt.
func steps(t *testing.T, p policy.Policy, prices sizing.Prices, rounds int) (compactions, largest int) {
	t.Helper()
	d := compacttest.New(t)
	p.Trigger = append(policy.Trigger(nil), p.Trigger...)
	for i := range p.Trigger {
		p.Trigger[i].Background = false
	}
	d.Policy, d.Target.Prices, d.Target.Budget, d.Target.ContextWindow = p, prices, 200_000, 210_000
	d.Always(models.SaySummary("What was done."))
	for range rounds {
		d.Say(chat.AssistantMessage(compacttest.Words(400)), chat.UserMessage(compacttest.Words(400)))
		r, err := d.Render(t.Context(), compacttest.Prompt(d.Session))
		require.NoError(t, err)
		largest = max(largest, r.Tokens)
	}
	return len(compacttest.Compactions(d.Session)), largest
}

// A hash or an exit code costs few tokens and may be needed. What is cleared can be found.
func TestSmallOutputIsNotClearedAndLargeOutputIsNamed(t *testing.T) {
	session := sessiontest.New(t, &storage.Memory{}, history.Options{Recall: true})
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("hash the files")))
	for i, words := range []int{150, 3000, 30_000, 10} {
		id := fmt.Sprint("c", i)
		require.NoError(t, session.Append(t.Context(),
			chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: "run", Arguments: "{}"}}}, chat.ToolResult(id, compacttest.Words(words))))
	}
	view := sessiontest.View(t, session)
	c, ok := frugal.Policy().Clear.Rule.Find(view, compacttest.Quarter{})
	require.True(t, ok)
	require.Len(t, c.Results, 1)
	require.Equal(t, view.Turns[0].Rounds[1].Results[0].ID, c.Results[0].Entry)
	require.Contains(t, c.Results[0].Text, `read_session({"entry":"`+c.Results[0].Entry+`"})`)
	require.NotContains(t, c.Results[0].Text, "again", "the call may have effects")
}

// Without prices the rule uses the usual proportions, and without reported usage the messages of the session.
func TestThePolicyCompactsWithoutPricesAndUsage(t *testing.T) {
	n, largest := steps(t, frugal.Policy(), sizing.Prices{}, 120)
	require.Greater(t, n, 1)
	require.Less(t, n, 20)
	require.Less(t, largest, 80_000, "long before the window is full")
}

func TestAHigherLossCompactsLessOften(t *testing.T) {
	prices, err := modelinfo.Prices("claude-opus-4-5")
	require.NoError(t, err)
	thrift, least := steps(t, frugal.PolicyAt(0), prices, 120)
	memory, most := steps(t, frugal.PolicyAt(1), prices, 120)
	require.Greater(t, thrift, memory)
	require.Less(t, least, most)
	require.Equal(t, frugal.PolicyAt(0).Trigger, frugal.Policy().Trigger)
	require.Error(t, frugal.PolicyAt(-1).Validate())
}

func TestExpensiveReadsCompactMoreOften(t *testing.T) {
	at := func(read float64) int {
		n, _ := steps(t, frugal.Policy(), sizing.Prices{Rates: sizing.Rates{Input: 5, CacheRead: read, CacheWrite: 6.25, Output: 25}, Lifetime: 300e9}, 120)
		return n
	}
	require.Greater(t, at(1.25), at(0.125))
}

package chat_test

import (
	"fmt"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// idsOf returns the ids of calls, in order.
func idsOf(calls []chat.ToolCall) []string {
	ids := make([]string, len(calls))
	for i, c := range calls {
		ids[i] = c.ID
	}
	return ids
}

func TestEachCallOfAnAnswerHasAUniqueID(t *testing.T) {
	for _, tt := range []struct {
		rule  string
		given []string
		kept  []bool
	}{
		{"ids that are there stay", []string{"a", "call_0", " é"}, []bool{true, true, true}},
		{"a call without an id gets one", []string{""}, []bool{false}},
		{"each call without an id gets another", []string{"", "", ""}, []bool{false, false, false}},
		{"a call without an id among others gets one", []string{"a", "", "b"}, []bool{true, false, true}},
		{"the first of two calls of one id keeps it", []string{"a", "a", "a"}, []bool{true, false, false}},
		{"an id that comes later stays", []string{"", "a", "a", "", "b"}, []bool{false, true, false, false, true}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			given := calls(tt.given...)
			got := chat.WithCallIDs(given)
			require.Equal(t, tt.given, idsOf(given.ToolCalls), "the argument is unchanged")
			seen := map[string]bool{"": true}
			for i, id := range idsOf(got.ToolCalls) {
				require.False(t, seen[id], id)
				seen[id] = true
				require.Equal(t, tt.kept[i], id == tt.given[i])
				got.ToolCalls[i].ID = tt.given[i]
			}
			require.Equal(t, given, got, "nothing else changes")
		})
	}
}

func TestAMessageWithoutCallsStaysAsItIs(t *testing.T) {
	require.Equal(t, question, chat.WithCallIDs(question))
}

func TestIDsThatWereAssignedAreKept(t *testing.T) {
	once := chat.WithCallIDs(calls("", "a", "a"))
	require.Equal(t, once, chat.WithCallIDs(once))
}

func TestTwoEqualAnswersGetDifferentIDs(t *testing.T) {
	first, second := idsOf(chat.WithCallIDs(calls("", "")).ToolCalls), idsOf(chat.WithCallIDs(calls("", "")).ToolCalls)
	for _, id := range first {
		require.NotContains(t, second, id)
	}
}

func TestATestCanMakeIDsDeterministic(t *testing.T) {
	answer := func() chat.Message {
		cryptotest.SetGlobalRandom(t, 7)
		return chat.WithCallIDs(calls("", "a", "a"))
	}
	require.Equal(t, answer(), answer())
}

func TestTheWholeAnswerHasTheIDsOfTheStream(t *testing.T) {
	given := []string{"", "a", "", "a", "b"}
	for n := range len(given) + 1 { // the number of calls streamed before the answer is complete
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var ids chat.CallIDs
			var streamed []string
			for _, id := range given[:n] {
				streamed = append(streamed, ids.Next(id))
			}
			got := idsOf(ids.Calls(calls(given...).ToolCalls))
			for i, id := range streamed {
				require.Equal(t, id, got[i])
			}
			for _, id := range given[n:] { // streamed late
				streamed = append(streamed, ids.Next(id))
			}
			require.Equal(t, streamed, got)
		})
	}
}

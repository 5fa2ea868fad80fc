package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// recalling returns a session whose agent has the tools of package recall, after some messages.
func recalling(t testing.TB, messages ...chat.Message) *history.Session {
	t.Helper()
	s := sessionIn(t, &storage.Memory{}, history.Options{Recall: true})
	require.NoError(t, s.Append(t.Context(), messages...))
	return s
}

// callsOf returns an assistant's message with a call of each of the tools; the ids are their names.
func callsOf(tools ...string) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	for _, name := range tools {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: name, Name: name, Arguments: "{}"})
	}
	return m
}

// prose has no structure.
func prose(tokens int) string { return strings.Repeat("some ", tokens*4/5) }

func TestLargeResultsAreShownAsPreviewsFromTheirArrivalOn(t *testing.T) {
	rule := history.PreviewRule{Above: 1000, Tokens: 200, Never: []string{"Keep"}}
	large := prose(3000)
	for _, c := range []struct {
		rule, tool string
		content    chat.Parts
		preview    bool
	}{
		{"a result above the size", "run", chat.Parts{chat.Text(large)}, true},
		{"a result of that size", "run", chat.Parts{chat.Text(prose(1000))}, false},
		{"a tool whose results are always shown", "keep", chat.Parts{chat.Text(large)}, false},
		{"a look-up is within limits of its own", history.ReadTool, chat.Parts{chat.Text(large)}, false},
		{"an image is nothing to preview", "run", chat.Parts{chat.Text(large), chat.Image{URL: "data:image/png;base64,AAAA"}}, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := recalling(t, user, callsOf(c.tool), chat.Message{Role: chat.RoleTool, ToolCallID: c.tool, Content: c.content})
			found, ok := rule.Find(viewOf(t, s), quarter{})
			require.Equal(t, c.preview, ok)
			if !ok {
				return
			}
			sessiontest.Add(t, s, entry.Entry{Body: found})
			e := viewOf(t, s).Turns[0].Rounds[0].Results[0]
			shown := e.Message().Text()
			require.LessOrEqual(t, quarter{}.CountText(shown), 200)
			require.Contains(t, shown, fmt.Sprintf(`cut here: read_session({"entry":%q,"from":`, e.ID))
			require.True(t, strings.HasPrefix(shown, "some some "))
			require.True(t, strings.HasSuffix(shown, "some "))
			_, again := rule.Find(viewOf(t, s), quarter{})
			require.False(t, again, "it is decided once")
			require.Equal(t, large, sessiontest.Entry(t, s, e.ID).Message().Text(), "the log has all of it")
		})
	}
	t.Run("without a way to read it a result is shown", func(t *testing.T) {
		_, ok := rule.Find(viewOf(t, talk(t, user, callsOf("run"), chat.ToolResult("run", large))), quarter{})
		require.False(t, ok)
	})
	t.Run("what a request showed stays", func(t *testing.T) {
		_, ok := rule.Find(viewOf(t, recalling(t, user, callsOf("run"), chat.ToolResult("run", large), chat.AssistantMessage("I see."))), quarter{})
		require.False(t, ok)
	})
}

func TestAPreviewIsClearedLikeOtherOutputAndItsHandleStays(t *testing.T) {
	s := recalling(t, user, callsOf("run"), chat.ToolResult("run", prose(3000)))
	found, ok := history.PreviewRule{Above: 1000, Tokens: 200}.Find(viewOf(t, s), quarter{})
	require.True(t, ok)
	sessiontest.Add(t, s, entry.Entry{Body: found})
	require.NoError(t, s.Append(t.Context(), callsOf("later"), chat.ToolResult("later", prose(500))))
	cleared, ok := history.ClearRule{Keep: 100}.Find(viewOf(t, s), quarter{})
	require.True(t, ok)
	require.Len(t, cleared.Results, 1)
	require.Equal(t, found.Results[0].Entry, cleared.Results[0].Entry)
	require.Contains(t, cleared.Results[0].Text, fmt.Sprintf(`left out here: read_session({"entry":%q})]`, found.Results[0].Entry))
	sessiontest.Add(t, s, entry.Entry{Body: cleared})
	_, again := history.ClearRule{Keep: 100}.Find(viewOf(t, s), quarter{})
	require.False(t, again, "it is cleared once")
}

func TestLookUpsAreClearedFirst(t *testing.T) {
	s := recalling(t, user)
	for i, tool := range []string{history.ReadTool, "run", history.SearchTool, "run"} {
		m := callsOf(tool)
		m.ToolCalls[0].ID = fmt.Sprint("c", i)
		require.NoError(t, s.Append(t.Context(), m, chat.ToolResult(m.ToolCalls[0].ID, prose(300))))
	}
	c, ok := history.ClearRule{Keep: 1000}.Find(viewOf(t, s), quarter{})
	require.True(t, ok)
	rounds := viewOf(t, s).Turns[0].Rounds
	var got []string
	for _, o := range c.Results {
		got = append(got, o.Entry)
	}
	require.Equal(t, []string{rounds[0].Results[0].ID, rounds[2].Results[0].ID}, got, "the output of run is among the newest 1,000 tokens")
}

func TestPinnedEntriesArePartOfWhatACompactionRetains(t *testing.T) {
	s := talk(t, everything()...)
	entries := all(t, s)
	require.ErrorContains(t, s.Pin(t.Context(), "nobody"), "nobody")
	for _, i := range []int{2, 0, 1} {
		require.NoError(t, s.Pin(t.Context(), entries[i].ID))
	}
	require.NoError(t, s.Compact(t.Context(), summary("so far", "")))
	require.NoError(t, s.Unpin(t.Context(), entries[1].ID))
	got, err := s.Pinned(t.Context(), "")
	require.NoError(t, err)
	equal(t, []entry.Entry{entries[0], entries[2]}, got)
	pin, _ := sessiontest.Latest(t, s, entry.TypePin)
	require.ErrorContains(t, s.Pin(t.Context(), pin.ID), "nothing that was said")
}

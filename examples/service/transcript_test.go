package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// opened returns a conversation of a new session, without HTTP.
func opened(t *testing.T, at place) *conversation {
	t.Helper()
	o, err := parse(at, io.Discard)
	require.NoError(t, err)
	a, err := newAssistant(o)
	require.NoError(t, err)
	a.onCompaction = func(compaction) {}
	var kept store
	if o.database == "" {
		kept, err = openFiles(o.dir, o.open, a)
	} else {
		kept, err = openDatabase(t.Context(), o, a, slog.New(slog.DiscardHandler))
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, kept.close()) })
	id := sessionID{"acme", "one"}
	require.NoError(t, kept.create(t.Context(), id))
	c, release, err := kept.use(t.Context(), id)
	require.NoError(t, err)
	t.Cleanup(release)
	return c
}

func TestTheCallInTheBreadcrumbWorks(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := opened(t, at)
		for n := range 5 {
			require.NoError(t, c.session.Append(t.Context(), chat.UserMessage(paragraph(n)), chat.AssistantMessage("Yes.")))
		}
		_, err := c.compactor.Render(t.Context(), c.prompt)
		require.NoError(t, err)
		_, err = c.compactor.Compact(t.Context(), "")
		require.NoError(t, err)
		made, found, err := c.session.Latest(t.Context(), entry.TypeCompaction)
		require.NoError(t, err)
		require.True(t, found)
		said := made.Compaction().Messages[0].Text()
		require.Contains(t, said, "with the tool "+transcriptTool)
		require.Contains(t, said, `path="one"`, "and not where it is on this machine")
		example := regexp.MustCompile(`\{"path": .*\}`).FindString(said)
		require.True(t, json.Valid([]byte(example)), said)
		result, err := c.call(t.Context(), chat.ToolCall{ID: "1", Name: transcriptTool, Arguments: example})
		require.NoError(t, err)
		require.False(t, result.IsError)
		require.Contains(t, result.Text(), "user: This is the paragraph of number 4")
	})
}

func TestTheTranscriptIsReadByLines(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := opened(t, at)
		for range 60 {
			require.NoError(t, c.session.Append(t.Context(), chat.UserMessage("ü ü"), chat.AssistantMessage("Yes.")))
		}
		require.NoError(t, c.session.Append(t.Context(), chat.UserMessage(strings.Repeat("ü", 10_000))))
		for _, test := range []struct {
			name, arguments string
			lines           int
			want            string
			wrong           bool
		}{
			{transcriptTool, `{"from": 1, "to": 3}`, 3, "1 session: \n2 user: ü ü\n3 assistant: Yes.\n", false},
			{transcriptTool, `{"from": -5, "to": 2}`, 2, "1 session: \n2 user: ü ü\n", false},
			{transcriptTool, `{"from": 2, "to": 1000}`, maxLines, "2 user: ü ü\n", false},
			{transcriptTool, `{"from": 3, "to": 2}`, 1, "(no lines from 3 on)", false},
			{transcriptTool, `{"from": 500, "to": 600}`, 1, "(no lines from 500 on)", false},
			{transcriptTool, `{"from": 9223372036854775807, "to": 9223372036854775807}`, 1, "(no lines from", false},
			{transcriptTool, `{"from": 122, "to": 122}`, 1, "122 user: " + strings.Repeat("ü", 1000) + " …\n", false},
			{transcriptTool, `{"path": "/etc/passwd", "from": 1, "to": 2}`, 1, "only the transcript of this conversation can be read", true},
			{transcriptTool, `{"from": "one"}`, 1, "the arguments cannot be read", true},
			{transcriptTool, `{`, 1, "the arguments cannot be read", true},
			{"delete", `{}`, 1, `there is no tool "delete"`, true},
		} {
			result, err := c.call(t.Context(), chat.ToolCall{ID: "1", Name: test.name, Arguments: test.arguments})
			require.NoError(t, err)
			require.Equal(t, test.wrong, result.IsError, test.arguments)
			require.True(t, strings.HasPrefix(result.Text(), test.want), "%s: %s", test.arguments, result.Text())
			require.Len(t, strings.Split(strings.TrimSpace(result.Text()), "\n"), test.lines, test.arguments)
		}
	})
}

package plaintext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
)

func TestWhatComesFromFilesAndServersIsPlain(t *testing.T) {
	require.Equal(t, "a[2J\tb\nc\nd", plaintext.Plain("\uFEFFa\x00\x1b[2J\tb\xff\u0085\r\nc\rd"))
}

func TestATextIsCutAtTheEndOfACharacter(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "longe…"},
		{"aé", 2, "a…"},
		{"土", 2, "…"},
	} {
		require.Equal(t, c.want, plaintext.Cut(c.text, c.limit))
	}
	require.Equal(t, "one two…", plaintext.OneLine(" one\n\ttwo  three", 7))
}

func TestTheSummaryOfAReplacementIsFoundBetweenItsTags(t *testing.T) {
	for _, c := range []struct{ rule, text, want string }{
		{"between its tags", "<conversation-summary>\n It is done. \n</conversation-summary>", "It is done."},
		{"without the pointer to the transcript", "<conversation-summary>\nDone.\n\n<transcript path=\"x\">\nLook.\n</transcript>\n</conversation-summary>", "Done."},
	} {
		got, ok := plaintext.Summary(c.text)
		require.True(t, ok, c.rule)
		require.Equal(t, c.want, got, c.rule)
	}
	_, ok := plaintext.Summary("Say <conversation-summary>")
	require.False(t, ok)
}

func TestTextsAreFoundBetweenTagsOnLinesOfTheirOwn(t *testing.T) {
	text := plaintext.Named("a").Holding("one\ntwo") + "\n<a> three </a>\n" + plaintext.Named("a").Holding("four") + "\n<a>\nfive"
	require.Equal(t, []string{"one\ntwo", "four"}, plaintext.InTags(text, plaintext.Named("a")))
	require.Empty(t, plaintext.InTags(text, plaintext.Named("b")))
}

func TestBlocksJoinResultsToTheirCalls(t *testing.T) {
	call := chat.ToolCall{ID: "1", Name: "read", Arguments: `{"path":"a"}`}
	messages := []chat.Message{
		chat.UserMessage("Look.\n[not: a note]"),
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I do."), chat.Image{URL: "data:image/png;base64,AAAA"}}, ToolCalls: []chat.ToolCall{call}},
		chat.ToolResult("1", "one\ntwo"),
		{Role: chat.RoleTool, ToolCallID: "2", IsError: true, Content: chat.Parts{chat.Text("lost")}},
	}
	list := plaintext.Blocks(messages, nil, func(m chat.Message, _ json.RawMessage) []string {
		if m.Role == chat.RoleUser {
			return []string{"a.go", "b.go"}
		}
		return nil
	})
	unclipped := func(text string) string { return text }
	lines := make([]string, len(list))
	for i, b := range list {
		lines[i] = b.Lines(unclipped, unclipped)
	}
	require.Equal(t, []string{
		"user: Look.\n  \\[not: a note]\n  [mentioned: a.go, b.go]",
		"assistant: I do.\n  [attached: image image/png, 3 bytes]\ncall: read({\"path\":\"a\"})\nresult: one\n  two",
		"error: lost",
	}, lines)
}

func TestTitleOfASummary(t *testing.T) {
	for _, c := range []struct{ rule, summary, want string }{
		{"the first heading", "# Fixing the build\n\n## Goal\nx", "Fixing the build"},
		{"the first heading, after other lines", "Here is the account:\n\n#  Fixing \t the build \n", "Fixing the build"},
		{"the first line, before a section's heading", "The build was fixed.\n\n## Files\n", "The build was fixed."},
		{"a section's heading, if it is the first line", "## Goal\n\nFix it.", "Goal"},
		{"the first line, without its list marker", "\n\n1. I fixed #12 of the build.\nAnd more.", "I fixed #12 of the build."},
		{"cut to 80 bytes", "# " + strings.Repeat("ä", 60), strings.Repeat("ä", 40) + "…"},
		{"no title for an empty summary", " \n", ""},
	} {
		t.Run(c.rule, func(t *testing.T) { require.Equal(t, c.want, plaintext.Title(c.summary)) })
	}
}

package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

func TestAClippedUnitFitsAndKeepsShortTexts(t *testing.T) {
	long := strings.Repeat("abc ", 1000)
	said := chat.AssistantMessage("I write it.")
	said.ToolCalls = []chat.ToolCall{{ID: "a", Name: "write", Arguments: `{"path":"a.go","text":"` + long + `"}`}, {ID: "b", Name: "read", Arguments: "{}"}}
	whole := history.Unit{ID: "e1", Messages: []chat.Message{said, chat.ToolResult("a", "Written."), chat.ToolResult("b", long)}}
	for _, limit := range []int{2500, 1000, 300, 100} {
		u := whole.Clipped(quarter{}, limit, 0.4)
		require.Equal(t, "e1", u.ID)
		counted := 0
		for _, m := range u.Messages {
			counted += quarter{}.CountMessage(m)
		}
		require.Equal(t, counted, u.Tokens)
		require.LessOrEqual(t, u.Tokens, limit+30, "messages cost tokens beyond their texts")
		require.NoError(t, chat.Validate(append([]chat.Message{chat.UserMessage("x")}, u.Messages...)))
		require.Equal(t, "I write it.", u.Messages[0].Text())
		require.Equal(t, "{}", u.Messages[0].ToolCalls[1].Arguments)
		require.Equal(t, limit < 2000, strings.Contains(u.Messages[2].Text(), "cut here"))
		require.Contains(t, u.Messages[0].ToolCalls[0].Arguments, `"a.go"`)
	}
	require.Equal(t, long, whole.Messages[2].Text(), "the original is unchanged")
	require.Contains(t, whole.Messages[0].ToolCalls[0].Arguments, long)
}

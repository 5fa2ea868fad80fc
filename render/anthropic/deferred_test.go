package anthropic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestDeferredToolsAreSentWithTheSearchWhichCarriesTheCacheBreakpoint(t *testing.T) {
	client := newServer(t, func(int, request) answer { return say(text("42")) }).client()
	begins := chat.Message{Role: chat.RoleSystem, Content: chat.Parts{chat.CacheBreakpoint{}, chat.Text("Be brief.")}} // it marks the last tool
	req := tools(ask(begins, question), chat.Tool{Name: "read"}, deferred("rename"), deferred("count"))
	p, err := anthropic.Request(req)
	require.NoError(t, err)
	list := sure.Decode[[]map[string]any](t, sure.JSON(t, p.Tools))
	require.Len(t, list, 4)
	require.Nil(t, list[0]["defer_loading"])
	require.Equal(t, true, list[1]["defer_loading"])
	require.Equal(t, true, list[2]["defer_loading"])
	require.Equal(t, "tool_search_tool_bm25_20251119", list[3]["type"])
	require.Equal(t, "tool_search_tool_bm25", list[3]["name"])
	require.NotNil(t, list[3]["cache_control"])
	require.Nil(t, list[2]["cache_control"])
	p.Model, p.MaxTokens = "claude-test", 100
	_, err = client.Messages.New(t.Context(), p)
	require.NoError(t, err)
}

package openai_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/openai"
)

func TestDeferredToolsAreSentInNamespacesWithTheSearch(t *testing.T) {
	tools := []chat.Tool{{Name: "read"}, {Name: "clock", Deferred: true, Description: "Tells the time.", Parameters: json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}}}`)}}
	for i := range 11 {
		tools = append(tools, chat.Tool{Name: fmt.Sprintf("mcp__hub__do_%d", i), Deferred: true})
	}
	tools = append(tools, chat.Tool{Name: "git_log", Deferred: true}, chat.Tool{Name: "write"})
	params, err := openai.ItemsRequest(chat.Request{Messages: []chat.Message{chat.UserMessage("Go.")}, Tools: tools}, openai.Options{})
	require.NoError(t, err)
	got := gjson.GetBytes(sure.JSON(t, params), "tools")
	require.Equal(t, `["function:read","function:write","namespace:tools_1","namespace:mcp__hub_1","namespace:mcp__hub_2","namespace:git_1","tool_search:"]`,
		names(got.Array()))
	clock := got.Get("2")
	require.Equal(t, "Functions: clock", clock.Get("description").String())
	require.Equal(t, `{"type":"object","properties":{"b":{},"a":{}}}`, clock.Get("tools.0.parameters").Raw, "the schema as it was written")
	require.True(t, clock.Get("tools.0.defer_loading").Bool())
	require.Len(t, got.Get("3.tools").Array(), 9)
	require.Len(t, got.Get("4.tools").Array(), 2)
	require.Equal(t, got.Get("4.description").String(), "Functions: mcp__hub__do_9 mcp__hub__do_10")

	params, err = openai.ItemsRequest(chat.Request{Messages: []chat.Message{chat.UserMessage("Go.")}, Tools: tools[:1]}, openai.Options{})
	require.NoError(t, err)
	require.Len(t, params.Tools, 1, "without deferred tools there is no search")
}

func names(tools []gjson.Result) string {
	list := []string{}
	for _, tool := range tools {
		list = append(list, tool.Get("type").String()+":"+tool.Get("name").String())
	}
	data, _ := json.Marshal(list)
	return string(data)
}

// A search and what it found are items of the answer, sent back unchanged, and so is the namespace of the call.
func TestAnAnswerWithASearchIsSentBackUnchanged(t *testing.T) {
	sent := []item{
		{"type": "tool_search_call", "id": "ts_1", "call_id": "s1", "execution": "server", "status": "completed", "arguments": map[string]any{"query": "time"}},
		{"type": "tool_search_output", "id": "to_1", "call_id": "s1", "execution": "server", "status": "completed", "tools": []any{map[string]any{"type": "function", "name": "clock"}}},
		with(call("fc_1", "c1", "clock", "{}"), "namespace", "tools_1"),
	}
	m := openai.MessageOfItems(output(t, sent))
	require.Equal(t, "clock", m.ToolCalls[0].Name)
	request := chat.Request{Messages: []chat.Message{chat.UserMessage("When?"), m, chat.ToolResult("c1", "Noon.")}, Tools: []chat.Tool{{Name: "clock", Deferred: true}}}
	repaired, changes := openai.Repair(request, openai.Responses)
	require.Empty(t, changes)
	params, err := openai.ItemsRequest(repaired, openai.Options{})
	require.NoError(t, err)
	back := gjson.GetBytes(sure.JSON(t, params), "input").Array()[1:4]
	for i, want := range sent {
		encoded := sure.JSON(t, want)
		if i < 2 {
			require.JSONEq(t, string(encoded), back[i].Raw)
		}
	}
	require.Equal(t, "tools_1", back[2].Get("namespace").String())
}

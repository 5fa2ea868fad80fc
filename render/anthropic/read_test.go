package anthropic_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/anthropic"
)

// throughTheSDK writes a valid request, reads it, and writes it again.
func throughTheSDK(t *testing.T, req chat.Request) (wrote, again string, read chat.Request) {
	t.Helper()
	params, err := anthropic.Request(req)
	require.NoError(t, err)
	read, err = anthropic.ReadRequest(params)
	require.NoError(t, err)
	read.MaxTokens, read.Temperature, read.ToolChoice = req.MaxTokens, req.Temperature, req.ToolChoice
	return sorted(t, params), sorted(t, anthropic.Write(read)), read
}

// sorted returns a request as JSON with the fields of each object in order, without what is the same as nothing.
func sorted(t *testing.T, params sdk.MessageNewParams) string {
	t.Helper()
	raw := sure.JSON(t, params)
	raw = sure.JSON(t, sure.Decode[any](t, raw))
	return strings.NewReplacer(`"caller":{"type":"direct"},`, "", `"citations":[],`, "").Replace(string(raw))
}

// plainParts returns a request without opaque texts, which are read as texts.
func plainParts(req chat.Request) chat.Request {
	for _, m := range req.Messages {
		for i, p := range m.Content {
			if o, ok := p.(chat.Opaque); ok && strings.Contains(string(o.Value), `"type":"text"`) {
				m.Content[i] = chat.Text("kept")
			}
		}
	}
	return req
}

// FuzzRead writes random requests, reads them, and writes them again.
func FuzzRead(f *testing.F) {
	extremes.FuzzSeeds(f, 300, func(t *testing.T, seed uint64) {
		d := dice{rand.New(rand.NewPCG(seed, 2))}
		req, _ := anthropic.Repair(plainParts(d.request()))
		if seed%4 == 0 {
			req = d.sound()
		}
		wrote, again, read := throughTheSDK(t, req)
		require.Empty(t, cmp.Diff(wrote, again))
		require.NoError(t, anthropic.Validate(read))
	})
}

func TestWhatWasWrittenIsReadAsItWas(t *testing.T) {
	req := chat.Request{
		Messages: []chat.Message{
			{Role: chat.RoleSystem, Content: chat.Parts{chat.Text("Be brief."), chat.CacheBreakpoint{Type: "ephemeral", Lifetime: time.Hour}}},
			{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Look:"), pixel, chat.NewDocument("application/pdf", []byte("%PDF")), chat.NewDocument("text/plain", []byte("text"))}},
			{Role: chat.RoleAssistant, Content: chat.Parts{signed, chat.Text("I look.")}, ToolCalls: []chat.ToolCall{{ID: "a", Name: "count", Arguments: `{"a":1}`}, {ID: "b", Name: "count", Arguments: `{}`}}},
			{Role: chat.RoleTool, ToolCallID: "a", Content: chat.Parts{chat.Text("see"), pixel}},
			failed(chat.ToolResult("b", "no")),
			{Role: chat.RoleUser, Content: chat.Parts{chat.Text("And?"), chat.CacheBreakpoint{Type: "ephemeral"}}},
		},
		Tools: []chat.Tool{{Name: "count", Description: "It counts.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}, {Name: "plain"}},
	}
	_, _, read := throughTheSDK(t, req)
	require.Empty(t, cmp.Diff(req, read))
}

func TestWhatHasNoPlaceIsSentBackAsItWas(t *testing.T) {
	for name, given := range map[string]string{
		"a file by its id":          `{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"f"}}]}`,
		"a document with a title":   `{"role":"user","content":[{"type":"document","title":"T","source":{"type":"text","media_type":"text/plain","data":"a"}}]}`,
		"a search of the API's own": `{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"a"}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"text","text":"Found."}]}`,
		"the place of a call":       `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"count","input":{}},{"type":"text","text":"Counting."}]}`,
		"a result in words":         `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"search_result","source":"s","title":"t","content":[]}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := param.Override[sdk.MessageParam](json.RawMessage(given))
			typed := sure.Decode[sdk.MessageParam](t, []byte(given))
			for _, m := range []sdk.MessageParam{m, typed} {
				read, err := anthropic.ReadRequest(sdk.MessageNewParams{Messages: []sdk.MessageParam{m}})
				require.NoError(t, err)
				require.JSONEq(t, given, string(sure.JSON(t, anthropic.Write(read).Messages[0])))
			}
		})
	}
	_, err := anthropic.ReadRequest(sdk.MessageNewParams{Messages: []sdk.MessageParam{{Role: "critic"}}})
	require.ErrorContains(t, err, `anthropic: message 0 cannot be read: its role is "critic"`)
}

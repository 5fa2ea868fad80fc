package anthropic_test

import (
	"encoding/json"
	"errors"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/anthropic"
)

// answers are answers of the API, and the messages that they become.
var answers = []struct {
	name   string
	blocks []block
	want   chat.Message
}{
	{"text", []block{text("42 <files> & \u2028more")}, assistant(chat.Text("42 <files> & \u2028more"))},
	{"parallel calls after text", []block{text("Counting."), call("a", "count", block{"glob": "*.go"}), call("b", "count", block{})},
		chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("Counting.")}, ToolCalls: []chat.ToolCall{
			{ID: "a", Name: "count", Arguments: `{"glob":"*.go"}`}, {ID: "b", Name: "count", Arguments: `{}`}}}},
	{"thinking, redacted too, before a call", []block{think("hm"), {"type": "redacted_thinking", "data": "enc:x"}, call("a", "count", block{})},
		chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{signed, chat.Thinking{Encrypted: "enc:x"}},
			ToolCalls: []chat.ToolCall{{ID: "a", Name: "count", Arguments: `{}`}}}},
	{"thinking whose text is not shown", []block{think(""), text("42")}, assistant(chat.Thinking{Signature: sign("")}, chat.Text("42"))},
	{"thinking between calls and text", []block{think("hm"), text("First."), think("so"), call("a", "count", block{}), think("or"), call("b", "count", block{})},
		chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{
			signed, chat.Text("First."),
			opaque(`{"type":"thinking","thinking":"so","signature":"` + sign("so") + `"}`),
			opaque(`{"type":"tool_use","id":"a"}`),
			opaque(`{"type":"thinking","thinking":"or","signature":"` + sign("or") + `"}`),
		}, ToolCalls: []chat.ToolCall{{ID: "a", Name: "count", Arguments: `{}`}, {ID: "b", Name: "count", Arguments: `{}`}}}},
	{"a search with the API's own tool, with citations", []block{
		{"type": "server_tool_use", "id": "srv", "name": "web_search", "input": block{"query": "go"}},
		{"type": "web_search_tool_result", "tool_use_id": "srv", "content": []any{}},
		{"type": "text", "text": "Go.", "citations": []any{block{"type": "web_search_result_location", "url": "https://go.dev", "title": "Go", "cited_text": "Go", "encrypted_index": "e<1>"}}},
	}, assistant(
		opaque(`{"id":"srv","input":{"query":"go"},"name":"web_search","type":"server_tool_use"}`),
		opaque(`{"content":[],"tool_use_id":"srv","type":"web_search_tool_result"}`),
		chat.Text("Go."),
		opaque(`{"type":"citations","citations":[{"cited_text":"Go","encrypted_index":"e\u003c1\u003e","title":"Go","type":"web_search_result_location","url":"https://go.dev"}]}`),
	)},
	{"a compaction by the API", []block{ownBlock, text("42")}, assistant(
		opaque(`{"content":"\u003csummary\u003eThe \u003cbuild\u003e was repaired.\u003c/summary\u003e","encrypted_content":"c2VjcmV0","signature":"s","type":"compaction"}`), chat.Text("42"))},
	{"a call by the API's own code", []block{
		{"type": "tool_use", "id": "a", "name": "count", "input": block{}, "caller": block{"type": "code_execution_20250825", "tool_id": "srv"}}},
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "count", Arguments: `{}`,
			Signature: `{"caller":{"tool_id":"srv","type":"code_execution_20250825"}}`}}}},
}

func TestAnAnswerIsSentBackUnchanged(t *testing.T) {
	for mode, streamed := range map[string]bool{"streamed": true, "whole": false} {
		for _, c := range answers {
			t.Run(c.name+", "+mode, func(t *testing.T) {
				s := newServer(t, func(n int, _ request) answer {
					if n == 0 {
						return say(c.blocks...)
					}
					return say(text("done"))
				})
				model := &anthropic.Model{Client: s.client(), Name: "claude-test", Thinking: anthropic.Thinking{Adaptive: true}}
				req := ask(question)
				var got chat.Message
				if streamed {
					got = providertest.Generated(t, model, req).Message
					require.Equal(t, chat.Origin{Provider: "anthropic", Server: s.URL, Model: "claude-test"}, got.Origin)
					got.Origin = chat.Origin{} // Response does not know it
				} else {
					p, err := anthropic.Request(req)
					require.NoError(t, err)
					p.Model = "claude-test"
					m, err := model.Client.Messages.New(t.Context(), p)
					require.NoError(t, err)
					r, err := anthropic.Response(m)
					require.NoError(t, err)
					got = r.Message
				}
				require.Empty(t, cmp.Diff(jsonOf(t, c.want), jsonOf(t, got)))

				// Through JSON, as in a session, and back to the API.
				kept := sure.Decode[chat.Message](t, sure.JSON(t, got))
				req.Messages = append(req.Messages, kept)
				for _, c := range kept.ToolCalls {
					req.Messages = append(req.Messages, chat.ToolResult(c.ID, "1"))
				}
				if len(kept.ToolCalls) == 0 {
					req.Messages = append(req.Messages, question)
				}
				repaired, changes := anthropic.Repair(req)
				require.Empty(t, changes)
				require.Empty(t, cmp.Diff(req.Messages, repaired.Messages))
				providertest.Generated(t, model, req)
				require.Empty(t, cmp.Diff(jsonOf(t, c.blocks), jsonOf(t, s.last(t).Messages[1].Content)))
			})
		}
	}
}

// jsonOf returns a value through JSON, so that opaque parts are compared by their values.
func jsonOf(t *testing.T, v any) (out any) {
	require.NoError(t, json.Unmarshal(sure.JSON(t, v), &out))
	return out
}

func TestCachedTokensCountAsInput(t *testing.T) {
	s := newServer(t, func(int, request) answer {
		a := say(text("42"))
		a.usage = map[string]any{
			"input_tokens": 3, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 7, "output_tokens": 11,
			"cache_creation": map[string]int{"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 2},
		}
		return a
	})
	model := &anthropic.Model{Client: s.client(), Name: "claude-test"}
	for _, stream := range []func(chat.Delta){nil, func(chat.Delta) {}} {
		req := ask(question)
		req.Stream = stream
		r := providertest.Generated(t, model, req)
		require.Equal(t, chat.Usage{Input: 60, Output: 11, CacheRead: 50, CacheWrite: 7, CacheWriteLong: 2}, r.Usage)
	}
}

func TestEachEndOfAnAnswerHasItsStopReason(t *testing.T) {
	for stop, want := range map[string]chat.StopReason{
		"end_turn": chat.StopEnd, "stop_sequence": chat.StopEnd, "max_tokens": chat.StopMaxTokens,
		"model_context_window_exceeded": chat.StopMaxTokens, "refusal": chat.StopFiltered, "pause_turn": anthropic.StopPause,
	} {
		r, err := anthropic.Response(&sdk.Message{StopReason: sdk.StopReason(stop), Content: []sdk.ContentBlockUnion{{Type: "text", Text: "a"}}})
		require.NoError(t, err)
		require.Equal(t, want, r.StopReason, stop)
	}
	for _, content := range [][]sdk.ContentBlockUnion{{{Type: "text", Text: "a"}}, nil} {
		_, err := anthropic.Response(&sdk.Message{StopReason: "tool_use", Content: content})
		require.ErrorAs(t, err, new(*chat.TransientError), "an answer that announces calls and has none: %v", err)
	}
}

func TestAReasonThatIsNotKnownIsNoEnd(t *testing.T) {
	s := newServer(t, func(int, request) answer {
		a := say(text("Half an answ"))
		a.stop = "budget_gone"
		return a
	})
	model := &anthropic.Model{Client: s.client(), Name: "claude-test"}
	r, err := model.Generate(t.Context(), ask(question))
	require.Equal(t, "budget_gone", errtest.As[*chat.EndError](t, err).Reason)
	require.ErrorAs(t, err, new(*chat.AnswerError))
	require.Equal(t, "Half an answ", r.Message.Text())
	require.Empty(t, r.StopReason)

	model.Ends = map[string]chat.StopReason{"budget_gone": chat.StopMaxTokens}
	r = providertest.Generated(t, model, ask(question))
	require.Equal(t, chat.StopMaxTokens, r.StopReason)
}

func TestArgumentsThatWereCutOffAreKept(t *testing.T) {
	s := newServer(t, func(n int, _ request) answer {
		if n > 0 {
			return say(text("done"))
		}
		a := say(text("Counting."), call("a", "count", nil))
		a.cutOff, a.stop = `{"glob":"*.`, "max_tokens"
		return a
	})
	model := &anthropic.Model{Client: s.client(), Name: "claude-test"}
	r := providertest.Generated(t, model, ask(question))
	require.Equal(t, chat.StopMaxTokens, r.StopReason)
	require.Equal(t, `{"glob":"*.`, r.Message.ToolCalls[0].Arguments)

	providertest.Generated(t, model, ask(question, r.Message, chat.ToolResult("a", "cut off")))
	require.Equal(t, block{"arguments": `{"glob":"*.`}, s.last(t).Messages[1].Content[1]["input"])
}

// The API documents that the turn is complete, and that the same request would be answered the same way.
func TestAnEmptyEndOfTurnIsNotAskedForAgain(t *testing.T) {
	for _, blocks := range [][]block{nil, {text("")}, {{"type": "thinking", "thinking": "Hm.", "signature": "s"}}} {
		s := newServer(t, func(int, request) answer { return say(blocks...) })
		_, err := (&anthropic.Model{Client: s.client(), Name: "claude-test"}).Generate(t.Context(), ask(question))
		require.ErrorAs(t, err, new(*chat.EmptyError))
		_, transient := errors.AsType[*chat.TransientError](err)
		require.False(t, transient)
	}
}

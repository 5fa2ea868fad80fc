package anthropic_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/anthropic"
)

func listening(t *testing.T, m chat.Model) (*providertest.Heard, chat.Response, error) {
	t.Helper()
	return providertest.Listening(t, m, ask(question), 0)
}

// longCalls returns an answer with everything that streams: thinking, text and parallel calls.
func longCalls() answer {
	return say(think("I need to look."), text("I look. 🙂"), call("a", "count", block{"glob": "a long path/*.go"}),
		call("b", "now", block{}), call("c", "count", block{"glob": "\"b\""}))
}

// streamed returns answers to stream.
func streamed() map[string]answer {
	all := map[string]answer{"parallel calls": longCalls()}
	for _, a := range answers {
		all[a.name] = say(a.blocks...)
	}
	return all
}

func TestResponseHoldsAllThatWasStreamed(t *testing.T) {
	for rule, a := range streamed() {
		t.Run(rule, func(t *testing.T) {
			model, _ := answering(t, a)
			heard, got, err := listening(t, model)
			require.NoError(t, err)
			heard.RequireWhole(t, got)
			var thought string
			for _, b := range a.blocks {
				if b["type"] == "thinking" {
					thought += b["thinking"].(string)
				}
			}
			require.Equal(t, thought, heard.Thinking)
		})
	}
}

func TestArgumentsOfParallelCallsStreamInOrder(t *testing.T) {
	model, _ := answering(t, say(call("a", "count", block{"glob": "*"}), text("and"), call("b", "now", block{})))
	var heard []chat.Delta
	req := ask(question)
	req.Stream = func(d chat.Delta) { heard = append(heard, d) }
	providertest.Generated(t, model, req)
	require.Equal(t, []chat.Delta{
		chat.CallDelta{ID: "a", Name: "count"}, chat.CallDelta{Arguments: `{"glob"`}, chat.CallDelta{Arguments: `:"*"}`},
		chat.Text("and"),
		chat.CallDelta{Index: 1, ID: "b", Name: "now"}, chat.CallDelta{Index: 1, Arguments: `{}`},
	}, heard)
}

// Wherever the stream breaks off, no part or call is returned that is not whole.
func TestABrokenStreamReturnsThePartThatHadArrived(t *testing.T) {
	for rule, a := range streamed() {
		for _, fault := range []string{"", "overloaded_error"} {
			t.Run(rule+" "+fault, func(t *testing.T) {
				model, _ := answering(t, a)
				_, whole, err := listening(t, model)
				require.NoError(t, err)
				a := a
				a.fault = fault
				require.Greater(t, providertest.BrokenOff(t, whole, func(events int) (*providertest.Heard, chat.Response, error) {
					a.breakOff = events
					model, _ = answering(t, a)
					heard, got, err := listening(t, model)
					require.Equal(t, chat.Usage{Input: 10, Output: 5}, got.Usage)
					silent, wrong := model.Generate(t.Context(), ask(question))
					require.Equal(t, err == nil, wrong == nil)
					require.Empty(t, cmp.Diff(got, silent), "with or without Stream")
					return heard, got, err
				}), 4)
			})
		}
	}
}

func TestACancelledStreamReturnsThePartThatHadArrived(t *testing.T) {
	model, _ := answering(t, longCalls())
	providertest.Cancelled(t, model, ask(question))
}

func TestACallCutOffInItsArgumentsIsNotReturned(t *testing.T) {
	a := say(call("a", "count", block{"glob": "*.go"}), call("b", "count", nil))
	a.cutOff, a.stop = `{"glob":"*.`, "max_tokens"
	a.breakOff = 13 // the block ends, the message does not
	model, _ := answering(t, a)
	heard, got, err := listening(t, model)
	require.Error(t, err)
	require.Equal(t, `{"glob":"*.`, heard.Calls[1].Arguments)
	require.Equal(t, []chat.ToolCall{{ID: "a", Name: "count", Arguments: `{"glob":"*.go"}`}}, got.Message.ToolCalls)
}

func TestTheEndOfAStreamIsReadFromGatewaysToo(t *testing.T) {
	for _, last := range []string{"", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `event: message_start
data: {"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Yes."}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}}

`+last)
		}))
		heard, got, err := listening(t, &anthropic.Model{Client: (&server{Server: s}).client(), Name: "claude-test"})
		s.Close()
		require.NoError(t, err)
		require.Equal(t, chat.Usage{Input: 120, Output: 7, CacheRead: 100}, got.Usage, "zeros erase nothing")
		heard.RequireWhole(t, got)
	}
}

// Arguments may come with the start of a block. No arguments are an empty object.
func TestArgumentsThatDoNotComeInPiecesStreamToo(t *testing.T) {
	for input, want := range map[string]string{`{}`: `{}`, `{"glob": "*.go"}`: `{"glob": "*.go"}`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, e := range []string{
				`{"type":"message_start","message":{"role":"assistant","content":[]}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"count","input":` + input + `}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`,
				`{"type":"message_stop"}`,
			} {
				kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, e)
			}
		}))
		heard, got, err := listening(t, &anthropic.Model{Client: (&server{Server: s}).client(), Name: "claude-test"})
		s.Close()
		require.NoError(t, err)
		require.Equal(t, want, got.Message.ToolCalls[0].Arguments)
		heard.RequireWhole(t, got)
	}
}

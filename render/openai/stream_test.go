package openai_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
)

// streamed returns answers to stream: thinking, text, and parallel calls of which one has long arguments.
func streamed() map[string]reply {
	replies := map[string]reply{
		"parallel calls": {field: "reasoning_content", usage: usage{in: 12, out: 34}, items: []item{
			reasoning("rs_1", "I need to look.", "gAAA"), message("msg_1", "I look. 🙂"),
			call("fc_1", "c1", "read", `{"path":"a long path/to/a.go"}`), call("fc_2", "c2", "now", `{}`), call("fc_3", "c3", "read", `{"path":"\"b\""}`),
		}},
	}
	for _, a := range answers {
		replies[a.rule] = reply{items: a.items, usage: usage{in: 12, out: 34}}
	}
	return replies
}

func listening(t *testing.T, m chat.Model) (*providertest.Heard, chat.Response, error) {
	t.Helper()
	return providertest.Listening(t, m, chat.Request{Messages: []chat.Message{question}}, 0)
}

func TestResponseHoldsAllThatWasStreamed(t *testing.T) {
	for rule, r := range streamed() {
		for name, api := range apis {
			t.Run(rule+" "+name, func(t *testing.T) {
				m := newServer(t, always(r)).model(api, "gpt-4o")
				heard, got, err := listening(t, m)
				if len(got.Message.Content)+len(got.Message.ToolCalls) == 0 {
					return // the answer is of the other API
				}
				require.NoError(t, err)
				heard.RequireWhole(t, got)
				whole := providertest.Generated(t, m, chat.Request{Messages: []chat.Message{question}})
				got.RequestBytes = whole.RequestBytes // the requests differ
				require.Empty(t, cmp.Diff(whole, got))
			})
		}
	}
}

func TestArgumentsOfParallelCallsStreamInOrder(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, always(reply{items: []item{call("fc_1", "c1", "count", `{"z":"*"}`), call("fc_2", "c2", "count", `{}`)}}))
			var heard []chat.Delta
			providertest.Generated(t, s.model(api, "gpt-4o"), chat.Request{
				Messages: []chat.Message{question}, Stream: func(d chat.Delta) { heard = append(heard, d) },
			})
			require.Equal(t, []chat.Delta{
				chat.CallDelta{ID: "c1", Name: "count"}, chat.CallDelta{Arguments: `{"z":`}, chat.CallDelta{Arguments: `"*"}`},
				chat.CallDelta{Index: 1, ID: "c2", Name: "count"}, chat.CallDelta{Index: 1, Arguments: `{}`},
			}, heard)
		})
	}
}

// Wherever the stream breaks off, no part or call is returned that is not whole.
func TestABrokenStreamReturnsThePartThatHadArrived(t *testing.T) {
	for rule, r := range streamed() {
		for name, api := range apis {
			t.Run(rule+" "+name, func(t *testing.T) {
				s := newServer(t, always(r))
				_, whole, _ := listening(t, s.model(api, "gpt-4o"))
				if len(whole.Message.Content)+len(whole.Message.ToolCalls) == 0 {
					return // the answer is of the other API
				}
				r := r
				r.cut = true
				s.answer = func(openai.API, gjson.Result) reply { return r }
				require.Greater(t, providertest.BrokenOff(t, whole, func(events int) (*providertest.Heard, chat.Response, error) {
					r.after = events
					return listening(t, s.model(api, "gpt-4o"))
				}), 2)
			})
		}
	}
}

func TestACancelledStreamReturnsThePartThatHadArrived(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			m := newServer(t, always(streamed()["parallel calls"])).model(api, "gpt-4o")
			providertest.Cancelled(t, m, chat.Request{Messages: []chat.Message{question}})
		})
	}
}

func TestACallCutOffInItsArgumentsIsNotReturned(t *testing.T) {
	calls := reply{cut: true, usage: usage{in: 12, out: 34}, items: []item{
		call("fc_1", "c1", "count", `{"z":"*.go"}`), call("fc_2", "c2", "count", `{"z":"<*.md>"}`),
	}}
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, nil)
			s.answer = func(openai.API, gjson.Result) reply { return calls }
			cutOff := 0
			for calls.after = 1; ; calls.after++ {
				heard, got, err := listening(t, s.model(api, "gpt-4o"))
				if err == nil {
					break
				}
				if len(heard.Calls) == 2 && heard.Calls[1].Arguments != `{"z":"<*.md>"}` {
					cutOff++
					require.Equal(t, []chat.ToolCall{{ID: "c1", Name: "count", Arguments: `{"z":"*.go"}`}}, got.Message.ToolCalls)
				}
			}
			require.Equal(t, 3, cutOff)
		})
	}
}

// chunks returns a model of Chat Completions on a server that sends these deltas, and then the end if there is one.
func chunks(t *testing.T, end string, deltas ...string) *openai.Model {
	s := newServer(t, nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, d := range deltas {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
		}
		if end != "" {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", end)
		}
	})
	return &openai.Model{Client: sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("none")), Name: "local"}
}

// Chat Completions does not mark the end of a call.
func TestABrokenStreamReturnsOnlyWholeCalls(t *testing.T) {
	const (
		custom = `{"tool_calls":[{"index":0,"id":"a","type":"custom","custom":{"name":"sh","input":"ls"}}]}`
		bare   = `{"tool_calls":[{"index":1,"id":"b","function":{"name":"now","arguments":""}}]}`
		cut    = `{"tool_calls":[{"index":2,"id":"c","function":{"name":"count","arguments":"{\"z\":"}}]}`
		object = `{"tool_calls":[{"index":3,"id":"d","function":{"name":"count","arguments":"{\"z\":1}"}}]}`
	)
	for _, tt := range []struct {
		deltas []string
		want   string
	}{
		{[]string{custom}, ""}, {[]string{custom, bare}, "a"}, {[]string{custom, bare, cut}, "ab"},
		{[]string{custom, bare, cut, object}, "abd"}, {[]string{object}, "d"},
	} {
		_, got, err := listening(t, chunks(t, "", tt.deltas...))
		require.Error(t, err)
		ids := ""
		for _, c := range got.Message.ToolCalls {
			ids += c.ID
		}
		require.Equal(t, tt.want, ids)
	}
}

func TestThinkingThatWasCutOffIsNotReturned(t *testing.T) {
	thought := []string{`{"reasoning":"Let me "}`, `{"reasoning":"count."}`}
	heard, got, err := listening(t, chunks(t, "", thought...))
	require.Error(t, err)
	require.Equal(t, "Let me count.", heard.Thinking)
	require.Zero(t, got.Message)
	_, got, err = listening(t, chunks(t, "", append(thought, `{"content":"4"}`)...))
	require.Error(t, err)
	require.Equal(t, chat.Parts{chat.Thinking{Text: "Let me count.", Signature: "reasoning"}, chat.Text("4")}, got.Message.Content)
}

func TestAFailureAtTheEndReturnsThePartThatHadArrived(t *testing.T) {
	failure := "event: response.failed\ndata: " + `{"type":"response.failed","response":{"id":"r","status":"failed","output":[],` +
		`"error":{"code":"server_error","message":"broken"},"usage":{"input_tokens":7,"output_tokens":3}}}` + "\n\n"
	s := newServer(t, always(reply{items: []item{message("msg_1", "A long answer.")}, midError: failure, after: 4}))
	heard, got, err := listening(t, s.model(openai.Responses, "gpt-4o"))
	require.ErrorAs(t, err, new(*chat.TransientError))
	said := chat.AssistantMessage(heard.Text)
	said.Origin = chat.Origin{Provider: "openai", Server: s.URL, Model: "gpt-4o"}
	require.Equal(t, chat.Response{Message: said, Usage: chat.Usage{Input: 7, Output: 3, CacheUnknown: true}, RequestBytes: len(s.last(t).Raw)}, got)
	require.Equal(t, "A long ans", heard.Text)
}

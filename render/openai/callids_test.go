package openai_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/policy"
)

// callsOf returns calls with these ids, and a text between the first call and the others. An id "" is left out.
func callsOf(ids ...string) []item {
	var items []item
	for i, id := range ids {
		it := call(fmt.Sprint("fc_", i), id, "count", fmt.Sprintf(`{"z":"%d"}`, i))
		if id == "" {
			delete(it, "call_id")
		}
		items = append(items, it)
		if i == 0 {
			items = append(items, message("msg_1", "And so on."))
		}
	}
	return items
}

// results returns the ids and texts of the results in a request of either API.
func results(request gjson.Result) (ids, texts []string) {
	for _, m := range append(request.Get("messages").Array(), request.Get("input").Array()...) {
		switch {
		case m.Get("role").String() == "tool":
			ids, texts = append(ids, m.Get("tool_call_id").String()), append(texts, m.Get("content").String())
		case m.Get("type").String() == "function_call_output":
			ids, texts = append(ids, m.Get("call_id").String()), append(texts, m.Get("output").String())
		}
	}
	return ids, texts
}

func TestEachCallHasAnIDThatTheServerAcceptsBack(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			providertest.CallIDs(t, func(t *testing.T, ids []string) providertest.CallServer {
				s := newServer(t, func(_ openai.API, request gjson.Result) reply {
					if ids, _ := results(request); ids != nil {
						return reply{items: []item{message("msg_2", "42")}}
					}
					return reply{items: callsOf(ids...)}
				})
				sent := func(t *testing.T) (calls, resultIDs, texts []string) {
					request := s.last(t)
					for _, m := range request.Get("messages").Array() {
						for _, c := range m.Get("tool_calls").Array() {
							calls = append(calls, c.Get("id").String())
						}
					}
					order := ""
					for _, it := range request.Get("input").Array() {
						if it.Get("type").String() == "function_call" {
							calls = append(calls, it.Get("call_id").String())
							order += " call"
						} else if it.Get("role").String() == "assistant" {
							order += " text"
						}
					}
					if api == openai.Responses {
						require.Regexp(t, "^ call text( call)+$", order, "each item is in its place")
					}
					resultIDs, texts = results(request)
					return calls, resultIDs, texts
				}
				m := s.model(api, "gpt-4o")
				m.OnRepair = func(changes []chat.Repair) { require.Empty(t, changes) }
				return providertest.CallServer{Model: m, Sent: sent}
			})
		})
	}
}

// A server that streams whole calls may give each the index 0 and no id.
func TestParallelCallsWithoutIDsOrIndexStayApart(t *testing.T) {
	m := chunks(t, "tool_calls", `{"tool_calls":[{"index":0,"function":{"name":"count","arguments":"{\"z\":\"*.go\"}"}}]}`,
		`{"tool_calls":[{"index":0,"id":"","function":{"name":"count","arguments":"{\"z\":\"*.md\"}"}}]}`)
	heard, got, err := listening(t, m)
	require.NoError(t, err)
	heard.RequireWhole(t, got)
	require.Len(t, got.Message.ToolCalls, 2)
	for i, arguments := range []string{`{"z":"*.go"}`, `{"z":"*.md"}`} {
		require.Equal(t, arguments, got.Message.ToolCalls[i].Arguments)
	}
}

func TestCallsOfAStreamThatBrokeOffHaveTheIDsThatWereStreamed(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, nil)
			r := reply{items: callsOf("a", "", "", "a", ""), cut: true}
			s.answer = func(openai.API, gjson.Result) reply { return r }
			for r.after = 1; ; r.after++ {
				heard, got, err := listening(t, s.model(api, "gpt-4o"))
				for i, c := range got.Message.ToolCalls {
					require.NotEmpty(t, c.ID)
					if i < len(heard.Calls) {
						require.Equal(t, heard.Calls[i].ID, c.ID)
					}
				}
				if err == nil {
					return
				}
			}
		})
	}
}

func TestAnAgentWorksOnAServerWithoutCallIDs(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(_ openai.API, request gjson.Result) reply {
				if ids, _ := results(request); len(ids) == 4 {
					return reply{items: []item{message("msg_2", "42")}}
				}
				return reply{items: callsOf("", "")}
			})
			session := &history.Session{}
			require.NoError(t, session.Append(t.Context(), question))
			steps := agent.Agent{
				Compactor: &summarize.Compactor{Session: session, Target: policy.Target{
					Model: s.model(api, "gpt-4o"), Tokenizer: sizing.Estimator{}, Budget: 10_000, Tools: []chat.Tool{countTool},
				}},
				Prompt: elements.Nodes{history.TurnStart{Session: session}, history.TurnRounds{Session: session}},
			}
			for range 3 {
				answer, err := steps.Step(t.Context())
				require.NoError(t, err)
				for _, c := range answer.Message().ToolCalls {
					require.NoError(t, session.Append(t.Context(), chat.ToolResult(c.ID, "21")))
				}
				if len(answer.Message().ToolCalls) == 0 {
					require.Equal(t, "42", answer.Message().Text())
					return
				}
			}
			t.Fatal("the agent does not come to an end")
		})
	}
}

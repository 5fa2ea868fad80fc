package openai_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
)

// saying returns a model on a server that sends a body as it is.
func saying(t *testing.T, body string) *openai.Model {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := "application/json"
		if strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:") {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return &openai.Model{Client: sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("none")), Name: "local"}
}

// both returns the answers of a text and an end, whole and streamed.
func both(t *testing.T, change func(*openai.Model), text, finish string) map[string]func() (chat.Response, error) {
	ask := func(body string, stream func(chat.Delta)) func() (chat.Response, error) {
		return func() (chat.Response, error) {
			m := saying(t, body)
			change(m)
			return m.Generate(t.Context(), chat.Request{Messages: []chat.Message{question}, Stream: stream})
		}
	}
	return map[string]func() (chat.Response, error){
		"whole": ask(fmt.Sprintf(`{"choices":[{"index":0,"finish_reason":%s,"message":{"role":"assistant","content":%q}}]}`, finish, text), nil),
		"streamed": ask(fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%s}]}\n\n"+
			"data: [DONE]\n\n", text, finish), func(chat.Delta) {}),
	}
}

func TestEachReasonIsAnEndACutDeclinedOrAnError(t *testing.T) {
	t.Parallel()
	const (
		failed  = "failed"  // may succeed if it is asked for again
		unknown = "unknown" // may be anything
	)
	for reason, want := range map[string]chat.StopReason{
		"stop": chat.StopEnd, "STOP": chat.StopEnd, "end_turn": chat.StopEnd, "eos": chat.StopEnd, "end": chat.StopEnd, "EndTurn": chat.StopEnd,
		"max-tokens": chat.StopMaxTokens, "MaxTokens": chat.StopMaxTokens, "content-filter": chat.StopFiltered,
		"length": chat.StopMaxTokens, "MAX_TOKENS": chat.StopMaxTokens, "model_length": chat.StopMaxTokens, "model_context_window_exceeded": chat.StopMaxTokens,
		"content_filter": chat.StopFiltered, "sensitive": chat.StopFiltered, "Safety": chat.StopFiltered,
		"error": failed, "network_error": failed, "insufficient_system_resource": failed, "abort": failed, "tool_calls": failed, "function_call": failed, "function_call_filter: MALFORMED_FUNCTION_CALL": failed,
		"ERROR": failed, "done?": unknown, "cancelled": unknown, "timeout": unknown,
	} {
		for form, ask := range both(t, func(*openai.Model) {}, "Half an answ", fmt.Sprintf("%q", reason)) {
			t.Run(reason+" "+form, func(t *testing.T) {
				got, err := ask()
				require.Equal(t, "Half an answ", got.Message.Text())
				if want != failed && want != unknown {
					require.NoError(t, err)
					require.Equal(t, want, got.StopReason)
					return
				}
				require.Equal(t, reason, errtest.As[*chat.EndError](t, err).Reason)
				require.ErrorContains(t, err, "Ends")
				_, transient := errors.AsType[*chat.TransientError](err)
				require.Equal(t, want == failed, transient)
			})
		}
	}
}

func TestAnApplicationDeclaresReasons(t *testing.T) {
	declare := func(m *openai.Model) {
		m.Ends = map[string]chat.StopReason{"done?": chat.StopEnd, "stop": chat.StopMaxTokens}
	}
	for reason, want := range map[string]chat.StopReason{"done?": chat.StopEnd, "stop": chat.StopMaxTokens} {
		for form, ask := range both(t, declare, "An answer.", fmt.Sprintf("%q", reason)) {
			t.Run(reason+" "+form, func(t *testing.T) {
				got, err := ask()
				require.NoError(t, err)
				require.Equal(t, want, got.StopReason)
			})
		}
	}
}

func TestAnAnswerWithoutAReasonHasEndedIfItSaysSomethingAndTheServerEndedIt(t *testing.T) {
	chunk := func(delta string) string {
		return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
	}
	call := chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"x\":"}}]}`)
	const done = "data: [DONE]\n\n"
	for _, tt := range []struct {
		rule, body string
		stream     bool
		want       chat.StopReason
		lost       bool
	}{
		{"text and the mark", chunk(`{"content":"Here."}`) + done, true, chat.StopEnd, false},
		{"text and the mark without a space or an empty line", chunk(`{"content":"Here."}`) + "data:[DONE]", true, chat.StopEnd, false},
		{"a whole call and the mark", call + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`) + done, true, chat.StopToolCalls, false},
		{"half a call and the mark", call + done, true, "", true},
		{"nothing and the mark", done, true, "", true},
		{"white space and the mark", chunk(`{"content":"\n"}`) + done, true, "", true},
		{"text without the mark", chunk(`{"content":"Here."}`), true, "", true},
		{"the mark within a text", chunk(`{"content":"\ndata: [DONE]\n"}`), true, "", true},
		{"a whole body", `{"choices":[{"index":0,"finish_reason":null,"message":{"role":"assistant","content":"Here."}}]}`, false, chat.StopEnd, false},
		{"a whole body in the place of a stream", `{"choices":[{"index":0,"finish_reason":null,"message":{"role":"assistant","content":"Here."}}]}`, true, chat.StopEnd, false},
		{"half a body in the place of a stream", `{"choices":[{"index":0,"message":{"role":"assistant","content":"Here."}}`, true, "", true},
		{"a whole body that says nothing", `{"choices":[{"index":0,"message":{"role":"assistant","content":""}}]}`, false, "", true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			req := chat.Request{Messages: []chat.Message{question}}
			if tt.stream {
				req.Stream = func(chat.Delta) {}
			}
			got, err := saying(t, tt.body).Generate(t.Context(), req)
			if !tt.lost {
				require.NoError(t, err)
				require.Equal(t, tt.want, got.StopReason)
				return
			}
			require.ErrorAs(t, err, new(*chat.TransientError))
			require.Empty(t, got.Message.ToolCalls)
		})
	}
}

func TestAnIncompleteResponseSaysWhy(t *testing.T) {
	for _, tt := range []struct {
		status, reason string
		want           chat.StopReason
		fails          bool
	}{
		{"completed", "", chat.StopEnd, false}, {"incomplete", "max_output_tokens", chat.StopMaxTokens, false}, {"incomplete", "content_filter", chat.StopFiltered, false},
		{"incomplete", "", chat.StopMaxTokens, false}, {"incomplete", "moved_on", "", true}, {"queued", "", "", true},
	} {
		t.Run(tt.status+" "+tt.reason, func(t *testing.T) {
			m := saying(t, fmt.Sprintf(`{"id":"r","object":"response","status":%q,"incomplete_details":{"reason":%q},"output":[{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Half","annotations":[]}]}]}`, tt.status, tt.reason))
			m.API = openai.Responses
			got, err := m.Generate(t.Context(), chat.Request{Messages: []chat.Message{question}})
			require.Equal(t, "Half", got.Message.Text())
			require.Equal(t, tt.want, got.StopReason)
			_, is := errors.AsType[*chat.EndError](err)
			require.Equal(t, tt.fails, is, "%v", err)
		})
	}
}

func TestResponsesOfOtherServersAreReadWhole(t *testing.T) {
	const answer = `{"id":"r","object":"response","status":"completed","output":[{"type":"function_call","call_id":"c","name":"look","arguments":{"x": 1}}]}`
	for _, body := range []string{answer, "event: response.done\ndata: {\"type\":\"response.done\",\"response\":" + answer + "}\n\ndata: [DONE]\n\n"} {
		m := saying(t, body)
		m.API = openai.Responses
		req := chat.Request{Messages: []chat.Message{question}}
		heard, hear := providertest.Listen(t)
		if body != answer {
			req.Stream = hear
		}
		got, err := m.Generate(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, []chat.ToolCall{{ID: "c", Name: "look", Arguments: `{"x":1}`}}, got.Message.ToolCalls)
		if body != answer {
			heard.RequireWhole(t, got)
		}
	}
}

func TestAnAnswerThatSaysNothingIsAskedForAgain(t *testing.T) {
	for _, text := range []string{"", " \n", "<think>I look.</think>\n"} {
		for form, ask := range both(t, func(*openai.Model) {}, text, `"stop"`) {
			t.Run(fmt.Sprintf("%q %s", text, form), func(t *testing.T) {
				_, err := ask()
				require.ErrorAs(t, err, new(*chat.EmptyError))
				require.ErrorAs(t, err, new(*chat.TransientError))
			})
		}
	}
}

func TestReasoningAloneIsNoAnswerOfResponses(t *testing.T) {
	for _, output := range [][]item{
		{reasoning("rs_1", "I look.", "secret")}, {reasoning("rs_1", "", "secret"), message("msg_1", " ")}, {message("msg_1", "\n"), reasoning("rs_1", "I look.", "secret")},
	} {
		for _, stream := range []func(chat.Delta){nil, func(chat.Delta) {}} {
			s := newServer(t, always(reply{items: output}))
			_, err := s.model(openai.Responses, "gpt-5-mini").Generate(t.Context(), chat.Request{Messages: []chat.Message{question}, Stream: stream})
			require.ErrorAs(t, err, new(*chat.EmptyError), "%v: %v", output, err)
			require.ErrorAs(t, err, new(*chat.TransientError))
		}
	}
}

// vLLM says tool_calls of an answer that was cut off in a call or behind one.
func TestAnAnswerThatEndsWithinACallWasCutOffWhateverItsReasonSays(t *testing.T) {
	const answer = `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"a","type":%q,%q:{"name":"look",%q:%q}}]}}],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`
	for _, tt := range []struct {
		rule, kind, field, arguments string
		tokens                       int
		want                         chat.StopReason
	}{
		{"whole", "function", "arguments", `{"path":"a"}`, 99, chat.StopToolCalls},
		{"cut off", "function", "arguments", `{"path":"/etc/pas`, 99, chat.StopMaxTokens},
		{"cut off before a value", "function", "arguments", `{"path":`, 99, chat.StopMaxTokens},
		{"malformed, but not cut off", "function", "arguments", `{"path":"a"}}`, 99, chat.StopToolCalls},
		{"free text", "custom", "input", `{ a block`, 99, chat.StopToolCalls},
		{"as long as the request allows", "function", "arguments", `{}`, 100, chat.StopMaxTokens},
		{"longer, by thinking that the server does not limit", "function", "arguments", `{}`, 101, chat.StopToolCalls},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			m := saying(t, fmt.Sprintf(answer, tt.kind, tt.kind, tt.field, tt.arguments, tt.tokens))
			r, err := m.Generate(t.Context(), chat.Request{Messages: []chat.Message{question}, MaxTokens: 100})
			require.NoError(t, err)
			require.Equal(t, tt.want, r.StopReason)
			require.Equal(t, tt.arguments, r.Message.ToolCalls[0].Arguments)
		})
	}
}

package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/forktest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

var apis = map[string]openai.API{"chat": openai.ChatCompletions, "responses": openai.Responses}

var question = chat.UserMessage("How many Go files are there?")

var countTool = chat.Tool{Name: "count", Description: "Counts files.",
	Parameters: []byte(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number"}},"required":["z"]}`)}

func TestUsageHasTheCacheWritesByLifetime(t *testing.T) {
	s := newServer(t, always(reply{items: []item{message("msg_1", "hello")}, usage: usage{in: 1200, cached: 1024, written: 100, long: 30}}))
	got := providertest.Generated(t, s.model(openai.Responses, "gpt-5.6"), chat.Request{Messages: []chat.Message{question}})
	require.Equal(t, chat.Usage{Input: 1200, CacheRead: 1024, CacheWrite: 100, CacheWriteLong: 30}, got.Usage)
}

func TestAnAnswerIsReturnedWholeStreamedOrNot(t *testing.T) {
	answer := reply{
		items: []item{message("msg_1", "I count them. Grüße 👩‍👧"), call("fc_1", "call_1", "count", `{"z":"*.go"}`), call("fc_2", "call_2", "count", `{"z":"<*.md>"}`)},
		usage: usage{in: 1200, out: 34, cached: 1024, written: 100},
	}
	want := chat.Response{
		Message: chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I count them. Grüße 👩‍👧")}, ToolCalls: []chat.ToolCall{
			{ID: "call_1", Name: "count", Arguments: `{"z":"*.go"}`}, {ID: "call_2", Name: "count", Arguments: `{"z":"<*.md>"}`},
		}},
		Usage:      chat.Usage{Input: 1200, Output: 34, CacheRead: 1024, CacheWrite: 100},
		StopReason: chat.StopToolCalls,
	}
	for name, api := range apis {
		for _, streamed := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " streamed"}[streamed], func(t *testing.T) {
				s := newServer(t, always(answer))
				request := chat.Request{Messages: []chat.Message{question}, Tools: []chat.Tool{countTool}}
				var heard string
				if streamed {
					request.Stream = func(d chat.Delta) {
						if text, ok := d.(chat.Text); ok {
							heard += string(text)
						}
					}
				}
				got := providertest.Generated(t, s.model(api, "gpt-4o"), request)
				want.Message.Origin = chat.Origin{Provider: "openai", Server: s.URL, Model: "gpt-4o"}
				want.RequestBytes = len(s.last(t).Raw)
				require.Empty(t, cmp.Diff(want, got))
				require.Equal(t, streamed, s.last(t).Get("stream").Bool())
				if streamed {
					require.Equal(t, want.Message.Text(), heard)
				}
			})
		}
	}
}

func TestThinkingOfAReasoningModelStreams(t *testing.T) {
	s := newServer(t, always(reply{items: []item{
		{"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA+/==", "summary": []any{
			item{"type": "summary_text", "text": "First this."}, item{"type": "summary_text", "text": "Then that."}}},
		message("msg_1", "42"),
	}}))
	m := s.model(openai.Responses, "o3")
	m.Effort, m.ReasoningSummary = "low", "auto"
	var thought, text string
	got := providertest.Generated(t, m, chat.Request{Messages: []chat.Message{question}, Stream: func(d chat.Delta) {
		switch d := d.(type) {
		case chat.Thinking:
			thought += d.Text
		case chat.Text:
			text += string(d)
		}
	}})
	require.Equal(t, "First this.\n\nThen that.", thought)
	require.Equal(t, thought, got.Message.Content[0].(chat.Thinking).Text)
	require.Equal(t, "42", text)
	require.JSONEq(t, `{"effort":"low","summary":"auto"}`, s.last(t).Get("reasoning").Raw)
	require.Equal(t, `["reasoning.encrypted_content"]`, s.last(t).Get("include").Raw)
	require.False(t, s.last(t).Get("store").Bool())
	require.True(t, s.last(t).Get("store").Exists())
}

func TestThinkingOfALocalServerIsSentBackInItsField(t *testing.T) {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		for _, streamed := range []bool{false, true} {
			s := newServer(t, always(reply{field: field, noUsage: true, items: []item{
				reasoning("", "Let me count.", ""), call("", "c1", "count", "{}")}}))
			m := s.model(openai.ChatCompletions, "qwen3")
			request := chat.Request{Messages: []chat.Message{question}, Tools: []chat.Tool{countTool}}
			if streamed {
				request.Stream = func(chat.Delta) {}
			}
			got := providertest.Generated(t, m, request)
			require.Equal(t, chat.Parts{chat.Thinking{Text: "Let me count.", Signature: field}}, got.Message.Content)
			require.Zero(t, got.Usage, "a server that sends no usage")
			request.Messages = append(request.Messages, got.Message, chat.ToolResult("c1", "42"))
			require.NoError(t, openai.Validate(request, openai.ChatCompletions))
			providertest.Generated(t, m, request)
			require.Equal(t, "Let me count.", s.last(t).Get("messages.1."+field).String())
		}
	}
}

func TestThinkingGoesBackAsItsModelNeedsIt(t *testing.T) {
	conversation := []chat.Message{
		question,
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "Let me count.", Signature: "reasoning_content"}}, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "count", Arguments: "{}"}}},
		chat.ToolResult("c1", "42"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c2", Name: "count", Arguments: "{}"}}}, // of a model that shows no thinking
		chat.ToolResult("c2", "43"),
	}
	for name, tt := range map[string]struct {
		model        string
		options      *openai.Options
		first, later string // the JSON of the field; "" if it is not sent
	}{
		"it is sent back to any server that showed it":                  {"glm-5.1", nil, `"Let me count."`, ""},
		"DeepSeek's calls have the field, empty where thinking is gone": {"deepseek/deepseek-v4-pro", nil, `"Let me count."`, `""`},
		"so have Kimi's":                    {"kimi-k2.6", nil, `"Let me count."`, `""`},
		"none is sent if the switch is off": {"deepseek-reasoner", &openai.Options{Thinking: openai.ThinkingNone}, "", ""},
		"the switch is on for any model":    {"local", &openai.Options{Thinking: openai.ThinkingOnCalls}, `"Let me count."`, `""`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, always(reply{noUsage: true, items: []item{message("", "43")}}))
			m := s.model(openai.ChatCompletions, tt.model)
			m.Options = tt.options
			providertest.Generated(t, m, chat.Request{Messages: conversation, Tools: []chat.Tool{countTool}})
			require.Equal(t, tt.first, s.last(t).Get("messages.1.reasoning_content").Raw)
			require.Equal(t, tt.later, s.last(t).Get("messages.3.reasoning_content").Raw)
			providertest.Generated(t, m, chat.Request{Messages: conversation[3:], Tools: []chat.Tool{countTool}})
			require.False(t, s.last(t).Get("messages.0.reasoning_content").Exists(), "a conversation without thinking")
		})
	}
}

func TestEachFieldOfTheRequestAndTheModelIsSent(t *testing.T) {
	s := newServer(t, always(reply{items: []item{message("msg_1", "42")}}))
	ask := func(m *openai.Model, r chat.Request) gjson.Result {
		t.Helper()
		if r.Messages == nil {
			r.Messages = []chat.Message{chat.SystemMessage("Be brief."), question}
		}
		providertest.Generated(t, m, r)
		return s.last(t)
	}
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			limit, roles, choice := "max_completion_tokens", "messages.0.role", "tool_choice"
			if api == openai.Responses {
				limit, roles = "max_output_tokens", "input.0.role"
			}
			got := ask(s.model(api, "gpt-4o"), chat.Request{Temperature: new(0.0), MaxTokens: 77})
			require.Equal(t, "0", got.Get("temperature").Raw)
			require.Equal(t, "77", got.Get(limit).Raw)
			require.Equal(t, "system", got.Get(roles).String())
			require.False(t, got.Get(choice).Exists())
			require.False(t, got.Get("include").Exists())

			got = ask(s.model(api, "gpt-5-mini"), chat.Request{Temperature: new(0.0)})
			require.False(t, got.Get("temperature").Exists(), "a reasoning model refuses a temperature")
			require.Equal(t, "developer", got.Get(roles).String())

			got = ask(s.model(api, "gpt-5.2"), chat.Request{Temperature: new(0.5)})
			require.Equal(t, "0.5", got.Get("temperature").Raw, "its default effort is none")
			m := s.model(api, "gpt-5.2")
			m.Effort, m.Options, m.CacheKey = "low", &openai.Options{}, "session-1"
			got = ask(m, chat.Request{Temperature: new(0.5)})
			require.False(t, got.Get("temperature").Exists())
			require.Equal(t, "system", got.Get(roles).String())
			require.Equal(t, "session-1", got.Get("prompt_cache_key").String())

			for asked, want := range map[chat.ToolChoice]string{chat.ToolChoiceNone: "none", chat.ToolChoiceRequired: "required"} {
				got = ask(s.model(api, "gpt-4o"), chat.Request{Tools: []chat.Tool{countTool}, Shape: chat.Shape{ToolChoice: asked}})
				require.Equal(t, want, got.Get(choice).String())
			}
			got = ask(s.model(api, "gpt-4o"), chat.Request{Shape: chat.Shape{ToolChoice: chat.ToolChoiceNone}})
			require.False(t, got.Get(choice).Exists(), "there are no tools to choose from")

			got = ask(s.model(api, "gpt-4o"), chat.Request{Tools: []chat.Tool{countTool, {Name: "now"}}})
			schema := got.Get("tools.0.function.parameters").Raw + got.Get("tools.0.parameters").Raw
			require.Equal(t, string(countTool.Parameters), schema, "the schema as it was written, properties in order")
		})
	}
	m := s.model(openai.ChatCompletions, "llama")
	m.MaxTokensField = true
	m.AdjustChat = func(_ chat.Purpose, p *sdk.ChatCompletionNewParams) { p.Seed = sdk.Int(7) }
	got := ask(m, chat.Request{MaxTokens: 5, Stream: func(chat.Delta) {}})
	require.Equal(t, "5", got.Get("max_tokens").Raw)
	require.Equal(t, "7", got.Get("seed").Raw)
	require.True(t, got.Get("stream_options.include_usage").Bool())
	m = s.model(openai.Responses, "gpt-4o")
	m.AdjustItems = func(_ chat.Purpose, p *responses.ResponseNewParams) { p.SafetyIdentifier = sdk.String("u") }
	require.Equal(t, "u", ask(m, chat.Request{}).Get("safety_identifier").String())
}

func TestWhatIsAskedOfAnAnswerIsSent(t *testing.T) {
	schema := `{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"null"}},"required":["z","a"],"additionalProperties":false}`
	format := &chat.Format{Name: "number", Schema: json.RawMessage(schema), Strict: true}
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, always(reply{items: []item{message("msg_1", `{"z":1,"a":null}`)}}))
			providertest.Generated(t, s.model(api, "gpt-5.6"), chat.Request{
				Messages: []chat.Message{question}, Tools: []chat.Tool{countTool}, Shape: chat.Shape{Tool: "count", OneCall: true, Effort: chat.EffortLow, Format: format},
			})
			body := s.last(t)
			require.Equal(t, "count", body.Get("tool_choice.function.name").String()+body.Get("tool_choice.name").String())
			require.Equal(t, "false", body.Get("parallel_tool_calls").Raw)
			require.Equal(t, "low", body.Get("reasoning_effort").String()+body.Get("reasoning.effort").String())
			sent := body.Get("response_format.json_schema")
			if api == openai.Responses {
				sent = body.Get("text.format")
			}
			require.Equal(t, "number", sent.Get("name").String())
			require.Equal(t, schema, sent.Get("schema").Raw, "as it was written")
			require.True(t, sent.Get("strict").Bool())

			format := chat.Format{Name: "number", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"object"}}}`), Strict: true}
			err := openai.Validate(chat.Request{Messages: []chat.Message{question}, Shape: chat.Shape{Format: &format}}, api)
			require.ErrorContains(t, err, `the schema of the format "number": the schema: an object needs "additionalProperties": false`)
		})
	}
	for model, want := range map[string]string{"o3": "low", "gpt-5": "minimal", "gpt-5.1": "none", "llama": "none"} {
		s := newServer(t, always(reply{items: []item{message("msg_1", "1")}}))
		providertest.Generated(t, s.model(openai.ChatCompletions, model), chat.Request{Messages: []chat.Message{question}, Shape: chat.Shape{Effort: chat.EffortNone}})
		require.Equal(t, want, s.last(t).Get("reasoning_effort").String(), model)
	}
}

func TestAServerWithoutSchemasIsAskedForAFormByATool(t *testing.T) {
	s := newServer(t, always(reply{items: []item{call("fc_1", "call_1", "number", `{"z":1}`), call("fc_2", "call_2", "number", `{"z":2}`)}}))
	m := s.model(openai.ChatCompletions, "llama") // which answers twice
	m.FormatAsTool = true
	var heard string
	got := providertest.Generated(t, m, chat.Request{
		Messages: []chat.Message{question}, Shape: chat.Shape{Format: &chat.Format{Name: "number", Schema: json.RawMessage(`{"type":"object"}`)}},
		Stream: func(d chat.Delta) { heard += string(d.(chat.Text)) },
	})
	require.Equal(t, `{"z":1}`, got.Message.Text())
	require.Equal(t, `{"z":1}`, heard)
	require.Empty(t, got.Message.ToolCalls)
	require.Equal(t, chat.StopEnd, got.StopReason)
	require.Equal(t, "number", s.last(t).Get("tool_choice.function.name").String())
}

func TestATemperatureIsSentOnlyToModelsThatAcceptIt(t *testing.T) {
	for _, tt := range []struct {
		model, effort string
		sent          bool
	}{
		{"gpt-4o", "", true}, {"gpt-4.1-mini", "", true}, {"ft:gpt-4o:team::id", "", true}, {"chatgpt-4o-latest", "", true},
		{"gpt-oss-120b", "", true}, {"qwen3", "", true}, {"o30", "", true},
		{"o1", "", false}, {"o1-mini", "", false}, {"o3-2025-04-16", "", false}, {"o4-mini", "", false}, {"codex-mini-latest", "", false},
		{"gpt-5", "", false}, {"gpt-5-nano-2025-08-07", "none", false}, {"gpt-5-chat-latest", "", true}, {"openai/gpt-5", "", false},
		{"gpt-5.1", "", true}, {"gpt-5.1", "none", true}, {"gpt-5.1", "high", false}, {"gpt-5.2-codex", "none", false}, {"gpt-5.2-pro", "", false},
		{"gpt-5.3-chat-latest", "", true}, {"gpt-5.4", "", true}, {"gpt-5.5", "", false}, {"gpt-5.5", "none", true}, {"gpt-5.6-sol", "none", false}, {"gpt-6-astra", "", false},
	} {
		t.Run(tt.model+" "+tt.effort, func(t *testing.T) {
			s := newServer(t, always(reply{items: []item{message("msg_1", "42")}}))
			m := s.model(openai.Responses, tt.model)
			m.Effort = tt.effort
			providertest.Generated(t, m, chat.Request{Messages: []chat.Message{question}, Temperature: new(0.0)})
			require.Equal(t, tt.sent, s.last(t).Get("temperature").Exists())
		})
	}
}

func TestEachEndOfAnAnswerHasItsStopReason(t *testing.T) {
	refusal := item{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
		"content": []any{item{"type": "refusal", "refusal": "I will not."}}}
	for _, tt := range []struct {
		rule  string
		api   openai.API
		reply reply
		want  chat.StopReason
	}{
		{"an ordinary end", openai.ChatCompletions, reply{items: []item{message("m", "a")}}, chat.StopEnd},
		{"an ordinary end", openai.Responses, reply{items: []item{message("m", "a")}}, chat.StopEnd},
		{"calls", openai.ChatCompletions, reply{items: []item{call("f", "c", "n", "{}")}}, chat.StopToolCalls},
		{"calls with the finish reason of an end", openai.ChatCompletions, reply{finish: "stop", items: []item{call("f", "c", "n", "{}")}}, chat.StopToolCalls},
		{"calls", openai.Responses, reply{items: []item{call("fc_1", "c", "n", "{}")}}, chat.StopToolCalls},
		{"the output limit", openai.ChatCompletions, reply{finish: "length", items: []item{message("m", "a")}}, chat.StopMaxTokens},
		{"the output limit", openai.Responses, reply{finish: "max_output_tokens", items: []item{message("m", "a")}}, chat.StopMaxTokens},
		{"the output limit before any text", openai.Responses, reply{finish: "max_output_tokens", items: []item{}}, chat.StopMaxTokens},
		{"a filter", openai.ChatCompletions, reply{finish: "content_filter", items: []item{message("m", "a")}}, chat.StopFiltered},
		{"a filter", openai.Responses, reply{finish: "content_filter", items: []item{message("m", "a")}}, chat.StopFiltered},
		{"a refusal", openai.ChatCompletions, reply{items: []item{refusal}}, chat.StopFiltered},
		{"a refusal", openai.Responses, reply{items: []item{refusal}}, chat.StopFiltered},
	} {
		for _, stream := range []func(chat.Delta){nil, func(chat.Delta) {}} {
			t.Run(tt.rule+" "+tt.api.String(), func(t *testing.T) {
				s := newServer(t, always(tt.reply))
				got := providertest.Generated(t, s.model(tt.api, "gpt-4o"), chat.Request{Messages: []chat.Message{question}, Stream: stream})
				require.Equal(t, tt.want, got.StopReason)
				if tt.rule == "a refusal" {
					require.Equal(t, `{"refusal":"I will not.","type":"refusal"}`, string(got.Message.Content[0].(chat.Opaque).Value))
					_, err := s.model(tt.api, "gpt-4o").Generate(t.Context(), chat.Request{Messages: []chat.Message{question, got.Message, question}})
					require.NoError(t, err, "a refusal is sent back")
				}
			})
		}
	}
}

func errorBody(message, kind, code string) string {
	return toJSON(item{"error": item{"message": message, "type": kind, "param": nil, "code": code}})
}

func TestARequestThatIsTooLargeIsAContextLimitError(t *testing.T) {
	for _, tt := range []struct {
		said          string
		status        int
		body          string
		limit, tokens int
	}{
		{"OpenAI in Chat Completions", 400, errorBody("This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.", "invalid_request_error", "context_length_exceeded"), 128000, 130000},
		{"OpenAI's rate limiter for one request", 429, errorBody("Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 40123. The input or output tokens must be reduced in order to run successfully.", "tokens", "rate_limit_exceeded"), 30000, 40123},
		{"GitHub", 400, errorBody("prompt token count of 130,500 exceeds the limit of 128,000", "", "model_max_prompt_tokens_exceeded"), 128000, 130500},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages.","type":"BadRequestError","code":400}`, 4096, 5000},
		{"a message beside the word of the error", 400, `{"error":"Bad Request","message":"This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens."}`, 4096, 5000},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, 4096, 5000},
		{"LM Studio", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, 4096, 5000},
		{"a server behind OpenRouter", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"prompt is too long: 5000 tokens > 4096 maximum\"}","provider_name":"x"}}}`, 4096, 5000},
		{"a proxy", 413, "<html>Request Entity Too Large</html>", 0, 0},
	} {
		for name, api := range apis {
			t.Run(tt.said+" "+name, func(t *testing.T) {
				for _, stream := range []func(chat.Delta){nil, func(chat.Delta) {}} {
					s := newServer(t, always(reply{status: tt.status, body: tt.body}))
					_, err := s.model(api, "gpt-4o").Generate(t.Context(), chat.Request{Messages: []chat.Message{question}, Stream: stream})
					limit := errtest.As[*chat.ContextLimitError](t, err)
					require.Equal(t, tt.limit, limit.Limit, limit.Error())
					require.Equal(t, tt.tokens, limit.Tokens, limit.Error())
					require.ErrorAs(t, err, new(*sdk.Error), "it wraps the SDK's error")
					require.Equal(t, 1, s.count(), "the request is not repeated")
				}
			})
		}
	}
}

func TestARefusalInTheMiddleOfAStreamIsAContextLimitError(t *testing.T) {
	const said = `{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model.","param":"input"}`
	for rule, tt := range map[string]struct {
		api   openai.API
		event string
	}{
		"chat":      {openai.ChatCompletions, "data: {\"error\":" + said + "}\n\n"},
		"a message": {openai.ChatCompletions, "event: error\ndata: " + said + "\n\n"},
		"an error":  {openai.Responses, "event: error\ndata: {\"type\":\"error\",\"error\":" + said + "}\n\n"},
		"as fields": {openai.Responses, "event: error\ndata: {\"type\":\"error\",\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window\",\"param\":null}\n\n"},
		"a failure": {openai.Responses, "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"output\":[],\"error\":" + said + "}}\n\n"},
	} {
		t.Run(rule, func(t *testing.T) {
			s := newServer(t, always(reply{items: []item{message("msg_1", "A long answer.")}, midError: tt.event}))
			_, err := s.model(tt.api, "gpt-4o").Generate(t.Context(), chat.Request{Messages: []chat.Message{question}, Stream: func(chat.Delta) {}})
			require.ErrorAs(t, err, new(*chat.ContextLimitError))
		})
	}
}

func TestErrorsThatMayPassAreTransientErrors(t *testing.T) {
	const soon = "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 1m0.5s."
	for _, tt := range []struct {
		rule  string
		reply reply
		want  time.Duration
	}{
		{"a rate limit", reply{status: 429, body: errorBody("slow down", "tokens", "rate_limit_exceeded"), header: map[string]string{"Retry-After": "7"}}, 7 * time.Second},
		{"a rate limit in milliseconds", reply{status: 429, body: errorBody("slow down", "tokens", "rate_limit_exceeded"), header: map[string]string{"Retry-After": "7", "Retry-After-Ms": "250"}}, 250 * time.Millisecond},
		{"a rate limit whose text states the wait", reply{status: 429, body: errorBody(soon, "tokens", "rate_limit_exceeded")}, 60*time.Second + 500*time.Millisecond},
		{"a rate limit that states no wait", reply{status: 429, body: "{}"}, 0},
		{"a server error", reply{status: 500, body: errorBody("The server had an error", "server_error", "")}, 0},
		{"no room at Groq", reply{status: 498, body: errorBody("capacity exceeded", "capacity_exceeded", "")}, 0},
		{"an error that is a text", reply{status: 502, body: `{"error":"bad gateway"}`}, 0},
		{"an answer without a message", reply{status: 200, body: `{"id":"x","choices":[],"output":[],"status":"completed"}`}, 0},
	} {
		for name, api := range apis {
			t.Run(tt.rule+" "+name, func(t *testing.T) {
				s := newServer(t, always(tt.reply))
				_, err := s.model(api, "gpt-4o").Generate(t.Context(), chat.Request{Messages: []chat.Message{question}})
				require.Equal(t, tt.want, errtest.As[*chat.TransientError](t, err).RetryAfter)
				require.Equal(t, 1, s.count(), "the request is not repeated")
			})
		}
	}
}

func TestOtherErrorsAreTheSDKs(t *testing.T) {
	for _, tt := range []struct {
		rule  string
		reply reply
		want  string
	}{
		{"a wrong key", reply{status: 401, body: errorBody("Incorrect API key provided.", "invalid_request_error", "invalid_api_key")}, "Incorrect API key provided. (invalid_api_key)"},
		{"an empty account", reply{status: 429, body: errorBody("You exceeded your current quota.", "insufficient_quota", "insufficient_quota")}, "You exceeded your current quota."},
		{"an empty account of Kimi", reply{status: 429, body: errorBody("Your account is suspended, please check your plan and billing details", "exceeded_current_quota_error", "")}, "Your account is suspended"},
		{"an empty account of GLM", reply{status: 429, body: errorBody("Insufficient balance or no resource package. Please recharge.", "", "1113")}, "Insufficient balance"},
		{"an answer that is too long", reply{status: 400, body: errorBody("max_tokens is too large: 9000. This model supports at most 4096 completion tokens.", "invalid_request_error", "")}, "max_tokens is too large"},
	} {
		for name, api := range apis {
			t.Run(tt.rule+" "+name, func(t *testing.T) {
				s := newServer(t, always(tt.reply))
				_, err := s.model(api, "gpt-4o").Generate(t.Context(), chat.Request{Messages: []chat.Message{question}})
				require.ErrorContains(t, err, tt.want)
				_, transient := errors.AsType[*chat.TransientError](err)
				_, limit := errors.AsType[*chat.ContextLimitError](err)
				require.False(t, transient || limit)
			})
		}
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	s := newServer(t, nil)
	ask := []chat.Message{question}
	for _, tt := range []struct {
		rule  string
		model *openai.Model
		req   chat.Request
		want  string
	}{
		{"no name", s.model(openai.ChatCompletions, ""), chat.Request{Messages: ask}, "Model.Name is not set"},
		{"an unknown API", s.model("assistants", "gpt-4o"), chat.Request{Messages: ask}, `Model.API is "assistants"`},
		{"an unknown choice", s.model(openai.ChatCompletions, "gpt-4o"), chat.Request{Messages: ask, Shape: chat.Shape{ToolChoice: "any"}}, `there is no choice "any"`},
		{"a schema that is not JSON", s.model(openai.Responses, "gpt-4o"), chat.Request{Messages: ask, Tools: []chat.Tool{{Name: "x", Parameters: []byte(`[`)}}}, `tool "x"`},
		{"no messages", s.model(openai.Responses, "gpt-4o"), chat.Request{}, "there are no messages"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			_, err := tt.model.Generate(t.Context(), tt.req)
			require.ErrorContains(t, err, tt.want)
			require.Zero(t, s.count(), "nothing was sent")
		})
	}
}

func TestANameThatTheAPIDoesNotAllowComesBackAsItWas(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(_ openai.API, r gjson.Result) reply {
				sent := r.Get("tools.0.function.name").String() + r.Get("tools.0.name").String()
				return reply{items: []item{call("fc_1", "c1", sent, `{}`)}}
			})
			for _, stream := range []func(chat.Delta){nil, func(d chat.Delta) {
				if c, is := d.(chat.CallDelta); is && c.ID != "" {
					require.Equal(t, "fs.read", c.Name)
				}
			}} {
				r := providertest.Generated(t, s.model(api, "gpt-4o"), chat.Request{Messages: []chat.Message{question}, Tools: []chat.Tool{{Name: "fs.read"}}, Stream: stream})
				require.Equal(t, "fs.read", r.Message.ToolCalls[0].Name)
			}
		})
	}
}

func TestTheSDKRetriesAsOftenAsMaxRetriesSays(t *testing.T) {
	n := 0
	s := newServer(t, func(openai.API, gjson.Result) reply {
		if n++; n < 3 {
			return reply{status: http.StatusServiceUnavailable, body: "{}", header: map[string]string{"Retry-After-Ms": "1"}}
		}
		return reply{items: []item{message("msg_1", "42")}}
	})
	m := s.model(openai.ChatCompletions, "gpt-4o")
	m.MaxRetries = 2
	require.Equal(t, "42", providertest.Generated(t, m, chat.Request{Messages: []chat.Message{question}}).Message.Text())
}

func TestCountTokensAsksTheServerForTheWholeRequest(t *testing.T) {
	var asked gjson.Result
	s := newServer(t, func(_ openai.API, request gjson.Result) reply {
		asked = request
		return reply{usage: usage{in: 321}}
	})
	form := &chat.Format{Name: "answer", Schema: json.RawMessage(`{"type":"object"}`)}
	got, err := s.model(openai.ChatCompletions, "gpt-4o").CountTokens(t.Context(), chat.Request{Messages: []chat.Message{question}, Tools: []chat.Tool{countTool}, Shape: chat.Shape{Format: form}})
	require.NoError(t, err)
	require.Equal(t, 321, got)
	require.Equal(t, "count", asked.Get("tools.0.name").String())
	require.JSONEq(t, `{"type":"object"}`, asked.Get("text.format.schema").Raw)
}

// The request for the summary begins with the agent's request, with its tools and its tool choice, in both APIs.
func TestASummaryAtTheEndOfARequestKeepsItsCachedPrefix(t *testing.T) {
	tokenizer, err := tiktoken.ForModel("gpt-5-mini")
	require.NoError(t, err)
	layouts := map[openai.API]forktest.Layout{
		openai.Responses:       {Turns: "input", Free: []string{"max_output_tokens", "temperature", "stream"}},
		openai.ChatCompletions: {Turns: "messages", Free: []string{"max_tokens", "max_completion_tokens", "temperature", "stream", "stream_options"}},
	}
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			counted := 0
			s := newServer(t, func(_ openai.API, request gjson.Result) reply {
				if strings.Contains(request.Raw, forktest.Ask) {
					return reply{items: []item{message("msg_s", "<summary>\nThe files were counted.\n</summary>")}, usage: usage{in: 1000, cached: 900, out: 20}}
				}
				if counted++; counted > 12 {
					return reply{items: []item{message(fmt.Sprint("msg", counted), "There are 42.")}, usage: usage{in: 100, out: 10}}
				}
				return reply{items: []item{
					reasoning(fmt.Sprint("rs_", counted), "", "gAAA"), call(fmt.Sprint("fc_a", counted), fmt.Sprint("a", counted), "count", `{"z":"*.go"}`),
					call(fmt.Sprint("fc_b", counted), fmt.Sprint("b", counted), "count", `{"z":"*.md"}`),
				}, usage: usage{in: 100, out: 10}}
			})
			done := forktest.Agent{
				Model: s.model(api, "gpt-5-mini"), Tokenizer: openai.Counter(api, openai.Options{}, tokenizer), Tools: []chat.Tool{countTool}, Budget: 3000,
			}.Run(t)
			bodies := make([]string, len(s.requests))
			for i, r := range s.requests {
				bodies[i] = r.Raw
			}
			require.Equal(t, len(done), layouts[api].Check(t, bodies))
			for _, e := range done {
				require.Equal(t, 1000, e.Usage.Input)
				require.Equal(t, 900, e.Usage.CacheRead, "an event says what the cache served")
			}
		})
	}
}

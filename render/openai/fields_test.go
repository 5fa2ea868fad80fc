package openai_test

import (
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
)

// What a server needs back, it gets; what it may refuse, it gets only if the model is told so.
func TestFieldsThatMustComeBackDo(t *testing.T) {
	answer := `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"I look.","annotations":[],"refusal":null,"note":{"x":1},
		"reasoning_details":[{"type":"reasoning.encrypted","data":"abc"}],
		"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}},"seen":true}]}}]}`
	r := providertest.Generated(t, saying(t, answer), chat.Request{Messages: []chat.Message{question}})
	messages := []chat.Message{question, r.Message, chat.ToolResult("a", "x")}
	requireJSON(t, `{"role":"assistant","content":"I look.","reasoning_details":[{"type":"reasoning.encrypted","data":"abc"}],
		"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}}]}`,
		openai.ChatMessages(messages, openai.Options{})[1])
	requireJSON(t, `{"role":"assistant","content":"I look.","note":{"x":1},"reasoning_details":[{"type":"reasoning.encrypted","data":"abc"}],
		"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}},"seen":true}]}`,
		openai.ChatMessages(messages, openai.Options{Fields: true})[1])
}

func TestFieldsOfACallOfFreeTextComeBackToo(t *testing.T) {
	const call = `{"id":"a","type":"custom","custom":{"name":"run","input":"ls -l"},"extra_content":{"s":"sig"}}`
	answer := `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[` + strings.TrimSuffix(call, "}") + `,"seen":true}]}}]}`
	r := providertest.Generated(t, saying(t, answer), chat.Request{Messages: []chat.Message{question}})
	messages := []chat.Message{question, r.Message, chat.ToolResult("a", "x")}
	requireJSON(t, `{"role":"assistant","tool_calls":[`+call+`]}`, openai.ChatMessages(messages, openai.Options{})[1])
	requireJSON(t, `{"type":"custom_tool_call","call_id":"a","name":"run","input":"ls -l"}`, openai.Items(messages, openai.Options{})[1])
	read, err := openai.ReadChat(sdk.ChatCompletionNewParams{Messages: openai.ChatMessages(messages, openai.Options{})})
	require.NoError(t, err)
	require.Equal(t, openai.ChatMessages(messages, openai.Options{}), openai.ChatMessages(read.Messages, openai.Options{}))
}

func TestThinkingThatCameAsAPartGoesBackAsOne(t *testing.T) {
	answer := `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Here."}]}}]}`
	r := providertest.Generated(t, saying(t, answer), chat.Request{Messages: []chat.Message{question}})
	require.Equal(t, chat.Parts{chat.Thinking{Text: "Hm.", Signature: "thinking"}, chat.Text("Here.")}, r.Message.Content)
	requireJSON(t, `[{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Here."}]}]`,
		openai.ChatMessages([]chat.Message{r.Message}, openai.Options{}))
}

func TestFieldsComeBackOnlyToTheirServerAndModel(t *testing.T) {
	answer := reply{items: []item{message("msg_1", "ok")}}
	s := newServer(t, always(answer))
	own := chat.Origin{Provider: "openai", Server: s.URL, Model: "local"}
	for _, tt := range []struct {
		rule   string
		origin chat.Origin
		back   bool
	}{
		{"the same", own, true}, {"not known", chat.Origin{}, true},
		{"another server", chat.Origin{Provider: "openai", Server: "https://other.example", Model: "local"}, false},
		{"another model", chat.Origin{Provider: "openai", Server: s.URL, Model: "other"}, false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			said := chat.Message{Role: chat.RoleAssistant, Origin: tt.origin,
				Content:   chat.Parts{chat.Text("I look."), chat.Opaque{Value: []byte(`{"type":"chat.fields","reasoning_details":[{"type":"x"}]}`)}},
				ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: "{}", Signature: `{"type":"chat.fields","extra_content":{"google":{"thought_signature":"s"}}}`}}}
			providertest.Generated(t, s.model(openai.ChatCompletions, "local"), chat.Request{Messages: []chat.Message{question, said, chat.ToolResult("a", "x")}})
			sent := s.last(t).Get("messages.1")
			require.Equal(t, tt.back, sent.Get("reasoning_details").Exists())
			require.Equal(t, tt.back, sent.Get("tool_calls.0.extra_content").Exists())
			require.Equal(t, "look", sent.Get("tool_calls.0.function.name").String())
			require.NotEmpty(t, said.ToolCalls[0].Signature, "the messages passed in are not changed")
		})
	}
}

func TestAFieldThatTheServerRefusesIsLeftOut(t *testing.T) {
	for server, words := range map[string]string{
		"Groq":    errorBody(`'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'NAME' is unsupported)]`, "invalid_request_error", ""),
		"Mistral": `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","NAME"],"msg":"Extra inputs are not permitted"}]}}`,
	} {
		for _, stream := range []func(chat.Delta){nil, func(chat.Delta) {}} {
			s := newServer(t, func(_ openai.API, request gjson.Result) reply {
				for _, name := range []string{"reasoning", "tool_calls.0.note"} { // one after the other
					if request.Get("messages.1." + name).Exists() {
						return reply{status: 422, body: strings.ReplaceAll(words, "NAME", strings.TrimPrefix(name, "tool_calls.0."))}
					}
				}
				return reply{items: []item{message("msg_1", "Done.")}}
			})
			m := s.model(openai.ChatCompletions, "local")
			m.Options = &openai.Options{Fields: true}
			req := chat.Request{Stream: stream, Messages: []chat.Message{question, {Role: chat.RoleAssistant,
				Content: chat.Parts{chat.Thinking{Text: "Hm.", Signature: "reasoning"}, chat.Opaque{Value: []byte(`{"type":"chat.fields","reasoning_details":[{"type":"x"}]}`)}},
				ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: "{}",
					Signature: `{"type":"chat.fields","extra_content":{"s":1},"chat.kept":{"note":"x"}}`}}}, chat.ToolResult("a", "x")}}
			r, err := m.Generate(t.Context(), req)
			require.NoError(t, err, server)
			require.Equal(t, "Done.", r.Message.Text())
			require.Equal(t, 3, s.count(), "once for each field")
			providertest.Generated(t, m, req)
			require.Equal(t, 4, s.count(), "it is remembered")
			require.True(t, s.last(t).Get("messages.1.reasoning_details").Exists(), "other fields are still sent")
			require.True(t, s.last(t).Get("messages.1.tool_calls.0.extra_content").Exists())
		}
	}
}

func TestAFieldIsKeptWhereTheServerMissesItOrRefusesTheRestToo(t *testing.T) {
	for _, words := range []string{"The reasoning_content is missing in message 1.", "The `reasoning_content` in the thinking mode must be passed back to the API.", "reasoning_content: no.", "Something else is wrong."} {
		s := newServer(t, always(reply{status: 400, body: errorBody(words, "invalid_request_error", "")}))
		m := s.model(openai.ChatCompletions, "local")
		said := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "Hm.", Signature: "reasoning_content"}, chat.Text("Here.")}}
		for range 2 {
			_, err := m.Generate(t.Context(), chat.Request{Messages: []chat.Message{question, said, question}})
			require.ErrorContains(t, err, words)
		}
		if strings.HasPrefix(words, "reasoning_content") {
			require.Equal(t, 4, s.count())
		} else {
			require.Equal(t, 2, s.count())
			require.Equal(t, "Hm.", s.last(t).Get("messages.1.reasoning_content").String())
		}
	}
}

// DeepSeek and Kimi refuse calls without thinking, such as those that another provider's model made.
func TestCallsOfAnotherProviderGetTheFieldThatTheServerMisses(t *testing.T) {
	for _, words := range []string{"The `reasoning_content` in the thinking mode must be passed back to the API.", "reasoning_content is missing in assistant tool call message at index 1", "messages.1.assistant.reasoning_content: Field required"} {
		s := newServer(t, func(_ openai.API, request gjson.Result) reply {
			if !request.Get("messages.1.reasoning_content").Exists() {
				return reply{status: 400, body: errorBody(words, "invalid_request_error", "")}
			}
			return reply{items: []item{message("msg_1", "Done.")}}
		})
		m := s.model(openai.ChatCompletions, "local")
		called := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "Hm.", Signature: "of Claude"}}, ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: "{}"}}}
		for n := range 2 {
			providertest.Generated(t, m, chat.Request{Messages: []chat.Message{question, called, chat.ToolResult("a", "x")}})
			require.Equal(t, 2+n, s.count(), "it is remembered")
			require.Empty(t, s.last(t).Get("messages.1.reasoning_content").String())
		}
	}
}

// llama.cpp and DashScope parse the arguments of each call in a request, and refuse what is not an object.
func TestArgumentsAreSentAsAnObjectUnlessTheyAreFreeText(t *testing.T) {
	for said, want := range map[string]string{`{"at": 1}`: `{"at": 1}`, "": "{}", `{"at":`: `{"arguments":"{\"at\":"}`, `["a"]`: `{"arguments":"[\"a\"]"}`} {
		s := newServer(t, always(reply{items: []item{message("msg_1", "Done.")}}))
		free := chat.ToolCall{ID: "b", Name: "run", Arguments: "ls", Signature: `{"type":"custom_tool_call"}`}
		providertest.Generated(t, s.model(openai.ChatCompletions, "local"), chat.Request{Messages: []chat.Message{
			question, {Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: said}, free}}, chat.ToolResult("a", "x"), chat.ToolResult("b", "y"),
		}})
		require.Equal(t, want, s.last(t).Get("messages.1.tool_calls.0.function.arguments").String())
		require.Equal(t, "ls", s.last(t).Get("messages.1.tool_calls.1.custom.input").String())
	}
}

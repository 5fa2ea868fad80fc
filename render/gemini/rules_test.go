package gemini_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/render/gemini"
)

// signature is the thought signature of the tests' calls.
const signature = "c2lnbmF0dXJlIG9mIGNhbGwgb25l"

func call(id, arguments string) chat.ToolCall {
	return chat.ToolCall{ID: id, Name: "look", Arguments: arguments}
}

func calls(calls ...chat.ToolCall) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, ToolCalls: calls}
}

func signed(c chat.ToolCall) chat.ToolCall {
	c.Signature = signature
	return c
}

// breaches are, for each rule, messages that break it, the request that they would be, and a part of the API's refusal.
var breaches = []struct {
	rule          chat.Rule
	messages      []chat.Message
	body, refusal string
}{
	{
		provider.RuleCallTurn,
		[]chat.Message{calls(signed(call("c1", `{}`))), chat.ToolResult("c1", "42")},
		`{"contents":[{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}}]}]}`,
		"comes immediately after a user turn",
	}, {
		chat.RuleAnswered,
		[]chat.Message{chat.UserMessage("Look."), calls(signed(call("c1", `{}`)), call("c2", `{}`)), chat.ToolResult("c1", "42")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},
			{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"}},{"functionCall":{"id":"c2","name":"look"}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}}]}]}`,
		"number of function response parts is equal",
	}, {
		chat.RuleAnswered,
		[]chat.Message{chat.UserMessage("Look."), calls(signed(call("c1", `{}`))), chat.UserMessage("Well?")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},
			{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"}}]},{"role":"user","parts":[{"text":"Well?"}]}]}`,
		"number of function response parts is equal",
	}, {
		chat.RuleOrphan,
		[]chat.Message{chat.UserMessage("Look."), chat.ToolResult("c1", "42")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}}]}]}`,
		"comes immediately after a function call turn",
	}, {
		chat.RuleCallID,
		[]chat.Message{chat.UserMessage("Look."), calls(signed(call("c1", `{}`)), call("c1", `{}`)), chat.ToolResult("c1", "42"), chat.ToolResult("c1", "43")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},
			{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"}},{"functionCall":{"id":"c1","name":"look"}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}},
				{"functionResponse":{"id":"c1","name":"look","response":{"output":"43"}}}]}]}`,
		"Duplicate function call id",
	}, {
		provider.RuleEmptyPart,
		[]chat.Message{chat.UserMessage("Look."), {Role: chat.RoleAssistant, Content: chat.Parts{chat.Opaque{Value: json.RawMessage(`{"thoughtSignature":"c2ln"}`)}}}, chat.UserMessage("Well?")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"text":"Well?"}]}]}`,
		"must have one initialized field",
	}, {
		chat.RuleEmpty,
		[]chat.Message{chat.UserMessage("")},
		`{"contents":[{"role":"user","parts":[{"text":""}]}]}`,
		"must have one initialized field",
	}, {
		provider.RuleMedia,
		[]chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "http://example.com/a.png"}}}},
		`{"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"http://example.com/a.png"}}]}]}`,
		"Unsupported file URI",
	}, {
		provider.RuleSignature,
		[]chat.Message{chat.UserMessage("Look."), calls(call("c1", `{}`)), chat.ToolResult("c1", "42")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}}]}]}`,
		"missing a thought_signature",
	}, {
		provider.RuleSignatureForm,
		[]chat.Message{chat.UserMessage("Look."), calls(chat.ToolCall{ID: "c1", Name: "look", Signature: "not base64!"}), chat.ToolResult("c1", "42")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"},"thoughtSignature":"not base64!"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}}]}]}`,
		"Base64 decoding failed",
	}, {
		provider.RuleArguments,
		[]chat.Message{chat.UserMessage("Look."), calls(signed(call("c1", `[1]`))), chat.ToolResult("c1", "42")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look","args":[1]},"thoughtSignature":"` + signature + `"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}}]}]}`,
		"not a Struct",
	}, {
		provider.RuleCallForm,
		[]chat.Message{chat.UserMessage("Look."), calls(chat.ToolCall{ID: "c1", Name: "look up", Signature: signature}), chat.ToolResult("c1", "42")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look up"},"thoughtSignature":"` + signature + `"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look up","response":{"output":"42"}}}]}]}`,
		"Invalid function name",
	}, {
		provider.RuleUTF8,
		[]chat.Message{chat.UserMessage("a\xff")},
		"{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"a\xff\"}]}]}",
		"Invalid JSON payload",
	}, {
		provider.RulePlace,
		[]chat.Message{{Role: chat.RoleSystem, Content: chat.Parts{chat.Text("Look."), chat.Image{URL: "gs://a"}}}, chat.UserMessage("Look.")},
		`{"systemInstruction":{"parts":[{"text":"Look."},{"fileData":{"fileUri":"gs://a"}}]},"contents":[{"role":"user","parts":[{"text":"Look."}]}]}`,
		"only text",
	}, {
		provider.RuleOpaque,
		[]chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Look."), chat.Opaque{Value: json.RawMessage(`{"type":"tool_search"}`)}}}},
		`{"contents":[{"role":"user","parts":[{"text":"Look."},{"type":"tool_search"}]}]}`,
		"must have one initialized field",
	}, {
		chat.RuleLast,
		[]chat.Message{chat.UserMessage("Look."), chat.AssistantMessage("I see.")},
		`{"contents":[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"text":"I see."}]}]}`,
		"end with a user role",
	}, {
		chat.RuleRole,
		[]chat.Message{{Role: "critic", Content: chat.Parts{chat.Text("Meh.")}}},
		`{"contents":[{"role":"critic","parts":[{"text":"Meh."}]}]}`,
		"valid role",
	}, {
		chat.RuleFields,
		[]chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Look.")}, ToolCalls: []chat.ToolCall{call("c1", `{}`)}}},
		`{"contents":[{"role":"user","parts":[{"text":"Look."},{"functionCall":{"id":"c1","name":"look"}}]}]}`,
		"comes immediately after a user turn",
	},
}

// asking returns a request with these messages and no other fields.
func asking(messages []chat.Message) chat.Request { return chat.Request{Messages: messages} }

func TestARequestThatBreaksARuleIsRefusedReportedAndRepaired(t *testing.T) {
	for _, tt := range breaches {
		t.Run(string(tt.rule), func(t *testing.T) {
			a := newAPI(t, says(`{"text":"Yes."}`))

			invalid := errtest.As[*chat.ValidationError](t, gemini.Validate(asking(tt.messages), gemini.Options{}))
			var rules []chat.Rule
			for _, v := range invalid.Violations {
				rules = append(rules, v.Rule)
			}
			require.Contains(t, rules, tt.rule)

			code, answer := a.post(t, "gemini-3-pro-preview:generateContent", tt.body)
			require.Equal(t, http.StatusBadRequest, code, answer)
			require.Contains(t, answer, tt.refusal)

			repaired, changes := gemini.Repair(asking(tt.messages), gemini.Options{})
			require.NoError(t, gemini.Validate(repaired, gemini.Options{}))
			var reported []chat.Rule
			for _, c := range changes {
				reported = append(reported, c.Rule)
			}
			require.Contains(t, reported, tt.rule)
			a.issued["c1 "+signature] = true
			_, err := a.model().Generate(t.Context(), repaired)
			require.NoError(t, err)
		})
	}
}

// These requests cannot be written as messages. They show that the test server checks the other requests too.
func TestTheTestServerRefusesWhatTheAPIRefuses(t *testing.T) {
	for _, tt := range []struct{ rule, model, body, refusal string }{
		{"contents are required", "gemini-3-pro", `{}`, "contents is not specified"},
		{"there are no unknown fields", "gemini-3-pro", `{"messages":[]}`, "Unknown name"},
		{"contents have parts", "gemini-3-pro", `{"contents":[{"role":"user"}]}`, "must not be empty"},
		{
			"a part holds one thing", "gemini-3-pro", `{"contents":[{"role":"user","parts":[{"text":"a","fileData":{"fileUri":"gs://a"}}]}]}`,
			"must have one initialized field",
		},
		{
			"signatures are unchanged", "gemini-3-pro",
			`{"contents":[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"},"thoughtSignature":"YW5vdGhlcg=="}]},
				{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}}]}]}`,
			"Thought signature is not valid",
		},
		{
			"legacy models accept no media in responses", "gemini-2.5-pro",
			`{"contents":[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":""},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}}]}]}`,
			"multimodal function responses",
		},
		{
			"a system instruction is text", "gemini-3-pro",
			`{"systemInstruction":{"parts":[{"fileData":{"fileUri":"gs://a"}}]},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`,
			"only text",
		},
		{
			"a response has the name of its call", "gemini-3-pro",
			`{"contents":[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"functionCall":{"name":"look"}}]},
				{"role":"user","parts":[{"functionResponse":{"name":"see","response":{"output":"42"}}}]}]}`,
			"name matches",
		},
		{
			"a mode requires tools", "gemini-3-pro",
			`{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`, "without function_declarations",
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			a := newAPI(t, says(`{"text":"Yes."}`))
			a.issued["c1 "+signature] = true
			code, answer := a.post(t, tt.model+":generateContent", tt.body)
			require.Equal(t, http.StatusBadRequest, code, answer)
			require.Contains(t, answer, tt.refusal)
		})
	}
}

// post sends a body as it is.
func (a *api) post(t *testing.T, method, body string) (code int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL+"/v1beta/models/"+method, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	r.Header.Set("x-goog-api-key", "a key")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(data)
}

func TestValidateReportsEveryViolationInOrder(t *testing.T) {
	err := gemini.Validate(asking([]chat.Message{
		calls(call("c1", `nonsense`)), chat.ToolResult("c1", "42"), chat.UserMessage(" "), chat.AssistantMessage("So."),
	}), gemini.Options{})
	invalid := errtest.As[*chat.ValidationError](t, err)
	require.Equal(t, []int{0, 0, 2, 3}, indices(invalid.Violations))
	require.Equal(t, "message 0: function calls follow a user or function response turn: no message of the user comes before it", invalid.Violations[1].String())
}

func indices(violations []chat.Violation) []int {
	var is []int
	for _, v := range violations {
		is = append(is, v.Index)
	}
	return is
}

func TestLegacyModelsRequireNoSignatures(t *testing.T) {
	messages := []chat.Message{chat.UserMessage("Look."), calls(call("c1", `{}`)), chat.ToolResult("c1", "42")}
	require.NoError(t, gemini.Validate(asking(messages), gemini.Options{Legacy: true}))
	require.Error(t, gemini.Validate(asking(messages), gemini.Options{}))
}

// An earlier turn may be another model's.
func TestCallsOfEarlierTurnsRequireNoSignatures(t *testing.T) {
	messages := []chat.Message{chat.UserMessage("Look."), calls(call("c1", `{}`)), chat.ToolResult("c1", "42"), chat.UserMessage("Well?")}
	require.NoError(t, gemini.Validate(asking(messages), gemini.Options{}))
}

func TestTheOldestOfTooManyImagesAreReplacedByTexts(t *testing.T) {
	picture := chat.Image{URL: "https://example.com/a.png"}
	req := chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Content: slices.Repeat(chat.Parts{picture}, 3000)}}}
	require.NoError(t, gemini.Validate(req, gemini.Options{}))
	req.Messages[0].Content = append(req.Messages[0].Content, picture)
	invalid := errtest.As[*chat.ValidationError](t, gemini.Validate(req, gemini.Options{}))
	require.Len(t, invalid.Violations, 1)
	require.Equal(t, provider.RuleImageCount, invalid.Violations[0].Rule)
	repaired, changes := gemini.Repair(req, gemini.Options{})
	require.NoError(t, gemini.Validate(repaired, gemini.Options{}))
	require.Len(t, changes, 750)
	content := repaired.Messages[0].Content
	require.Equal(t, chat.Text("[left out: an older image: a request takes at most 3000 images]"), content[749])
	require.Equal(t, chat.Part(picture), content[750])
}

func TestAnotherProvidersCompactionIsNotSent(t *testing.T) {
	for _, value := range []string{`{"id":"cmp_1","type":"compaction","encrypted_content":"gAAAA"}`, `{"type":"compaction","content":"It was counted."}`} {
		own := chat.Opaque{Value: json.RawMessage(value)}
		for _, role := range []chat.Role{chat.RoleUser, chat.RoleAssistant} {
			req := chat.Request{Messages: []chat.Message{chat.UserMessage("Look."), {Role: role, Content: chat.Parts{chat.Text("A summary."), own}}, chat.UserMessage("Well?")}}
			require.ErrorContains(t, gemini.Validate(req, gemini.Options{}), string(provider.RuleOpaque))
			repaired, changes := gemini.Repair(req, gemini.Options{})
			require.Len(t, changes, 1)
			require.NoError(t, gemini.Validate(repaired, gemini.Options{}))
			require.Equal(t, chat.Parts{chat.Text("A summary.")}, repaired.Messages[1].Content)
		}
	}
}

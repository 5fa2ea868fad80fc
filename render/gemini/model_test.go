package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/forktest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/gemini"
)

var lookTool = chat.Tool{
	Name: "look", Description: "Looks at a place.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string","description":"<where>"}},"required":["at"],"additionalProperties":false}`),
}

func TestEachFieldOfTheRequestAndTheModelIsSent(t *testing.T) {
	a := newAPI(t, says(`{"text":"Hm.","thought":true}`, `{"text":"I look."}`,
		`{"functionCall":{"id":"c1","name":"look","args":{"at":"<here>"}},"thoughtSignature":"`+signature+`"}`, `{"functionCall":{"id":"c2","name":"look"}}`))
	got := providertest.Generated(t, a.model(), chat.Request{
		Messages: []chat.Message{chat.SystemMessage("Be brief."), chat.UserMessage("Look.")},
		Tools:    []chat.Tool{lookTool}, MaxTokens: 100, Temperature: new(0.5),
	})
	require.Empty(t, cmp.Diff(chat.Response{
		Message: chat.Message{
			Role: chat.RoleAssistant, Origin: chat.Origin{Provider: "gemini", Server: a.URL, Model: "gemini-3-pro-preview"},
			Content: chat.Parts{chat.Opaque{Value: json.RawMessage(`{"text":"Hm.","thought":true}`), Tokens: 1}, chat.Text("I look.")},
			ToolCalls: []chat.ToolCall{
				{ID: "c1", Name: "look", Arguments: `{"at":"<here>"}`, Signature: signature},
				{ID: "c2", Name: "look", Arguments: `{}`},
			},
		},
		Usage:      chat.Usage{Input: 120, Output: 37, CacheRead: 80},
		StopReason: chat.StopToolCalls, RequestBytes: got.RequestBytes,
	}, got))

	var want object
	require.NoError(t, json.Unmarshal([]byte(`{
		"systemInstruction":{"parts":[{"text":"Be brief."}],"role":"user"},
		"contents":[{"role":"user","parts":[{"text":"Look."}]}],
		"tools":[{"functionDeclarations":[{"name":"look","description":"Looks at a place.","parametersJsonSchema":
			{"type":"object","properties":{"at":{"type":"string","description":"<where>"}},"required":["at"],"additionalProperties":false}}]}],
		"generationConfig":{"maxOutputTokens":100,"temperature":0.5}
	}`), &want))
	delete(a.requests[0]["systemInstruction"].(object), "role") // the SDK may set it or not
	delete(want["systemInstruction"].(object), "role")
	require.Empty(t, cmp.Diff(want, a.requests[0]))
}

func TestAToolChoiceIsSentAsAMode(t *testing.T) {
	for _, tt := range []struct {
		choice chat.ToolChoice
		tools  []chat.Tool
		want   any
	}{
		{chat.ToolChoiceAuto, []chat.Tool{lookTool}, nil},
		{chat.ToolChoiceNone, []chat.Tool{lookTool}, "NONE"},
		{chat.ToolChoiceRequired, []chat.Tool{lookTool}, "ANY"},
		{chat.ToolChoiceNone, nil, nil},
	} {
		t.Run(fmt.Sprintf("%s of %d", tt.choice, len(tt.tools)), func(t *testing.T) {
			a := newAPI(t, says(`{"text":"Yes."}`))
			providertest.Generated(t, a.model(), chat.Request{
				Messages: []chat.Message{chat.UserMessage("Look.")}, Tools: tt.tools, Shape: chat.Shape{ToolChoice: tt.choice},
			})
			var mode any
			if config, given := a.requests[0]["toolConfig"].(object); given {
				mode = config["functionCallingConfig"].(object)["mode"]
			}
			require.Equal(t, tt.want, mode)
		})
	}
}

func TestWhatIsAskedOfAnAnswerIsSent(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	format := &chat.Format{Name: "number", Schema: schema}
	for name, tt := range map[string]struct {
		model  string
		shape  chat.Shape
		at     string
		want   any
		answer string
	}{
		"a named tool":                              {"gemini-3-pro-preview", chat.Shape{Tool: "look"}, "toolConfig", object{"functionCallingConfig": object{"mode": "ANY", "allowedFunctionNames": []any{"look"}}}, ""},
		"an effort of Gemini 3":                     {"gemini-3-pro-preview", chat.Shape{Effort: chat.EffortMedium}, "generationConfig", object{"thinkingConfig": object{"thinkingLevel": "MEDIUM"}}, ""},
		"an effort of an older model":               {"gemini-2.5-flash", chat.Shape{Effort: chat.EffortLow}, "generationConfig", object{"thinkingConfig": object{"thinkingBudget": 1024.0}}, ""},
		"no effort of an older model":               {"gemini-2.5-flash", chat.Shape{Effort: chat.EffortNone}, "generationConfig", object{"thinkingConfig": object{"thinkingBudget": 0.0}}, ""},
		"a format":                                  {"gemini-3-pro-preview", chat.Shape{Format: format}, "generationConfig", object{"responseMimeType": "application/json", "responseJsonSchema": object{"type": "object", "properties": object{"n": object{"type": "integer"}}, "required": []any{"n"}}}, ""},
		"a format beside tools, for an older model": {"gemini-2.5-flash", chat.Shape{Format: format}, "toolConfig", object{"functionCallingConfig": object{"mode": "ANY"}}, `{"n":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, says(`{"text":"Yes."}`))
			if tt.answer != "" {
				a = newAPI(t, says(`{"functionCall":{"name":"number","args":`+tt.answer+`}}`))
			}
			m := a.model()
			m.Name = tt.model
			got := providertest.Generated(t, m, chat.Request{Messages: []chat.Message{chat.UserMessage("Look.")}, Tools: []chat.Tool{lookTool}, Shape: tt.shape})
			require.Equal(t, tt.want, a.requests[0][tt.at])
			if tt.answer != "" {
				require.Equal(t, tt.answer, got.Message.Text())
				require.Empty(t, got.Message.ToolCalls)
			}
		})
	}
	require.ErrorContains(t, gemini.Validate(chat.Request{Messages: []chat.Message{chat.UserMessage("Look.")}, Shape: chat.Shape{OneCall: true}}, gemini.Options{}), "no switch for parallel calls")
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	ask := []chat.Message{chat.UserMessage("Look.")}
	for _, tt := range []struct {
		rule string
		req  chat.Request
		want string
	}{
		{"an unknown choice", chat.Request{Messages: ask, Shape: chat.Shape{ToolChoice: "look"}}, `there is no choice "look"`},
		{"a schema that is none", chat.Request{Messages: ask, Tools: []chat.Tool{{Name: "look", Parameters: json.RawMessage(`{`)}}}, `the parameters of tool "look" are not a JSON object`},
		{"no messages", chat.Request{}, "there are no messages"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			a := newAPI(t, nil)
			_, err := a.model().Generate(t.Context(), tt.req)
			require.ErrorAs(t, err, new(*chat.ValidationError))
			require.ErrorContains(t, err, "gemini: nothing was sent: chat: ")
			require.ErrorContains(t, err, tt.want)
			require.Empty(t, a.requests)
		})
	}
}

func TestAdjustChangesTheRequestBeforeItIsSent(t *testing.T) {
	a := newAPI(t, says(`{"text":"Yes."}`))
	m := a.model()
	m.Adjust = func(_ chat.Purpose, config *genai.GenerateContentConfig) {
		config.ThinkingConfig, config.StopSequences = &genai.ThinkingConfig{IncludeThoughts: true}, []string{"END"}
	}
	providertest.Generated(t, m, chat.Request{Messages: []chat.Message{chat.UserMessage("Look.")}, Temperature: new(0.0)})
	require.Equal(t, object{
		"temperature": 0.0, "thinkingConfig": object{"includeThoughts": true}, "stopSequences": []any{"END"},
	}, a.requests[0]["generationConfig"])
}

func TestThinkingAndTextAreStreamedInOrder(t *testing.T) {
	a := newAPI(t, func(object) []string {
		return []string{
			piece("", `{"text":"Hm","thought":true}`), piece("", `{"text":".","thought":true}`),
			piece("", `{"text":"I "}`), piece("", `{"text":"look"}`), piece("", `{"text":"."}`),
			piece("", `{"functionCall":{"id":"c1","name":"look","args":{"at":"here"}},"thoughtSignature":"`+signature+`"}`),
			piece("", `{"text":"Well."}`), piece("STOP", `{"text":"","thoughtSignature":"c2ln"}`),
		}
	})
	var heard []chat.Delta
	got := providertest.Generated(t, a.model(), chat.Request{
		Messages: []chat.Message{chat.UserMessage("Look.")}, Tools: []chat.Tool{lookTool},
		Stream: func(d chat.Delta) { heard = append(heard, d) },
	})
	require.Equal(t, []chat.Delta{
		chat.Thinking{Text: "Hm"}, chat.Thinking{Text: "."}, chat.Text("I "), chat.Text("look"), chat.Text("."),
		chat.CallDelta{ID: "c1", Name: "look", Arguments: `{"at":"here"}`}, chat.Text("Well."),
	}, heard)
	require.Empty(t, cmp.Diff(chat.Response{
		Message: chat.Message{
			Role: chat.RoleAssistant, Origin: got.Message.Origin,
			Content: chat.Parts{
				chat.Opaque{Value: json.RawMessage(`{"text":"Hm.","thought":true}`), Tokens: 1}, chat.Text("I look."),
				chat.Opaque{Value: json.RawMessage(`{"functionCall":{"id":"c1"}}`)}, chat.Text("Well."),
				chat.Opaque{Value: json.RawMessage(`{"thoughtSignature":"c2ln"}`)},
			},
			ToolCalls: []chat.ToolCall{{ID: "c1", Name: "look", Arguments: `{"at":"here"}`, Signature: signature}},
		},
		Usage: chat.Usage{Input: 120, Output: 37, CacheRead: 80}, StopReason: chat.StopToolCalls, RequestBytes: got.RequestBytes,
	}, got))
}

func TestEachEndOfAnAnswerHasItsStopReason(t *testing.T) {
	for _, tt := range []struct {
		what, reply string
		want        chat.StopReason
		text        string
	}{
		{"an ordinary end", piece("STOP", `{"text":"Yes."}`), chat.StopEnd, "Yes."},
		{"the output limit", piece("MAX_TOKENS", `{"text":"Ye"}`), chat.StopMaxTokens, "Ye"},
		{"an answer that another request goes on with", piece("CONTINUATION", `{"text":"Ye"}`), chat.StopMaxTokens, "Ye"},
		{"a filter", piece("SAFETY", `{"text":"Y"}`), chat.StopFiltered, "Y"},
		{"a filter of the prompt", `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":3}}`, chat.StopFiltered, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			a := newAPI(t, func(object) []string { return []string{tt.reply} })
			for _, stream := range []func(chat.Delta){nil, func(chat.Delta) {}} {
				got := providertest.Generated(t, a.model(), chat.Request{Messages: []chat.Message{chat.UserMessage("Look.")}, Stream: stream})
				require.Equal(t, tt.want, got.StopReason)
				require.Equal(t, tt.text, got.Message.Text())
				require.Positive(t, got.Usage.Input)
			}
		})
	}
}

func TestAReasonThatIsNoEndIsAnError(t *testing.T) {
	for _, tt := range []struct {
		reason    string
		transient bool
	}{{"MALFORMED_FUNCTION_CALL", true}, {"UNEXPECTED_TOOL_CALL", true}, {"OTHER", false}, {"WHATEVER_IS_NEXT", false}} {
		t.Run(tt.reason, func(t *testing.T) {
			a := newAPI(t, func(object) []string { return []string{piece(tt.reason, `{"text":"Half"}`)} })
			r, err := a.model().Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("Look.")}})
			require.Equal(t, "Half", r.Message.Text(), "the error comes with what was said")
			require.Empty(t, r.StopReason)
			require.Equal(t, tt.reason, errtest.As[*chat.EndError](t, err).Reason)
			_, transient := errors.AsType[*chat.TransientError](err)
			require.Equal(t, tt.transient, transient)
		})
	}
}

// failing returns a model on a server that answers with an error.
func failing(t *testing.T, code int, status, message string, details ...object) *gemini.Model {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { refuse(w, code, status, message, details...) }))
	t.Cleanup(server.Close)
	return (&api{Server: server}).model()
}

func TestErrorsOfTheAPIHaveTheTypesOfPackageChat(t *testing.T) {
	retry := object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
	help := object{"@type": "type.googleapis.com/google.rpc.Help"}
	for _, tt := range []struct {
		what    string
		model   *gemini.Model
		limit   *chat.ContextLimitError
		retry   time.Duration
		passing bool
	}{
		{what: "a rate limit", model: failing(t, 429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", help, retry), passing: true, retry: 34500 * time.Millisecond},
		{what: "a rate limit that states no wait", model: failing(t, 429, "RESOURCE_EXHAUSTED", "Resource has been exhausted"), passing: true},
		{what: "an overload", model: failing(t, 503, "UNAVAILABLE", "The model is overloaded."), passing: true},
		{what: "a fault", model: failing(t, 500, "INTERNAL", "An internal error has occurred."), passing: true},
		{what: "a wrong key", model: failing(t, 400, "INVALID_ARGUMENT", "API key not valid.")},
		{what: "a missing permission", model: failing(t, 403, "PERMISSION_DENIED", "denied")},
		{
			what:  "the context limit",
			model: failing(t, 400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
			limit: &chat.ContextLimitError{Tokens: 1200000, Limit: 1048576},
		}, {
			what:  "the context limit without numbers",
			model: failing(t, 400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed."),
			limit: &chat.ContextLimitError{},
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			for _, stream := range []func(chat.Delta){nil, func(chat.Delta) {}} {
				_, err := tt.model.Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("Look.")}, Stream: stream})
				require.ErrorAs(t, err, new(genai.APIError), "it wraps the SDK's error: %v", err)
				limit, over := errors.AsType[*chat.ContextLimitError](err)
				require.Equal(t, tt.limit != nil, over, "%v", err)
				if over {
					require.Equal(t, *tt.limit, chat.ContextLimitError{Tokens: limit.Tokens, Limit: limit.Limit})
				}
				transient, passing := errors.AsType[*chat.TransientError](err)
				require.Equal(t, tt.passing, passing, "%v", err)
				if passing {
					require.Equal(t, tt.retry, transient.RetryAfter)
				}
			}
		})
	}
}

// torn returns a model on a server that streams a piece of an answer and then the rest. If the rest is empty, it breaks
// the connection.
func torn(t *testing.T, rest string) *gemini.Model {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\r\n\r\n", piece("", `{"text":"I "}`))
		if rest != "" {
			fmt.Fprint(w, rest)
			return
		}
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	return (&api{Server: server}).model()
}

func TestABrokenStreamIsATransientError(t *testing.T) {
	for _, tt := range []struct{ what, rest string }{
		{"the connection is lost", ""},
		{"the stream ends between two pieces", "\r\n\r\n"},
		{"the stream ends within a piece", `data: {"candidates":[{"cont`},
		{"the stream has an error", "data: " + `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}` + "\r\n\r\n"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			var heard []chat.Delta
			got, err := torn(t, tt.rest).Generate(t.Context(), chat.Request{
				Messages: []chat.Message{chat.UserMessage("Look.")}, Stream: func(d chat.Delta) { heard = append(heard, d) },
			})
			require.ErrorAs(t, err, new(*chat.TransientError))
			require.Equal(t, []chat.Delta{chat.Text("I ")}, heard)
			require.Equal(t, "gemini", got.Message.Origin.Provider)
			got.Message.Origin = chat.Origin{}
			require.Equal(t, chat.AssistantMessage("I "), got.Message)
		})
	}
}

func TestOnRepairIsCalledWithTheChangesOfARequest(t *testing.T) {
	for name, own := range map[string]bool{"the model's listener": true, "the request's if the model has none": false} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, says(`{"text":"Yes."}`))
			m := a.model()
			req := chat.Request{Messages: []chat.Message{chat.UserMessage("Look."), calls(call("c1", `{}`))}}
			var reported []chat.Repair
			listener := func(changes []chat.Repair) { reported = append(reported, changes...) }
			if req.OnRepair = listener; own {
				m.OnRepair, req.OnRepair = listener, func([]chat.Repair) { t.Error("the request's listener was called too") }
			}
			providertest.Generated(t, m, req)
			require.Len(t, reported, 2)
			require.Len(t, a.requests, 1)
		})
	}
}

func TestCountTokensAsksTheServerForTheWholeRequest(t *testing.T) {
	a := newAPI(t, nil)
	count := func(req chat.Request) int {
		n, err := a.model().CountTokens(t.Context(), req)
		require.NoError(t, err)
		return n
	}
	plain := count(chat.Request{Messages: []chat.Message{chat.UserMessage("Look at everything there is to see.")}})
	require.Equal(t, 10, plain)
	instructed := count(chat.Request{Messages: []chat.Message{chat.SystemMessage("Be very brief."), chat.UserMessage("Look at everything there is to see.")}})
	require.Greater(t, instructed, plain, "the system instruction counts")
	equipped := count(chat.Request{Messages: []chat.Message{chat.UserMessage("Look at everything there is to see.")}, Tools: []chat.Tool{lookTool}})
	require.Greater(t, equipped, plain, "tools count")
	format := &chat.Format{Name: "answer", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}}}`)}
	formed := count(chat.Request{Messages: []chat.Message{chat.UserMessage("Look at everything there is to see.")}, Shape: chat.Shape{Format: format}})
	require.Greater(t, formed, plain, "the form of the answer counts")
	_, err := failing(t, 503, "UNAVAILABLE", "overloaded").CountTokens(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("Look.")}})
	require.ErrorAs(t, err, new(*chat.TransientError))
}

func TestAModelWithoutClientOrNameIsAnError(t *testing.T) {
	_, err := (&gemini.Model{}).Generate(t.Context(), chat.Request{})
	require.EqualError(t, err, "gemini: Model.Client or Model.Name is not set")
}

// The request for the summary begins with the agent's request, with its tools and its tool choice.
func TestASummaryAtTheEndOfARequestKeepsItsCachedPrefix(t *testing.T) {
	counted := 0
	a := newAPI(t, func(request object) []string {
		if strings.Contains(fmt.Sprint(request["contents"]), forktest.Ask) {
			return []string{piece("STOP", `{"text":"<summary>\nThe files were counted.\n</summary>"}`)}
		}
		if counted++; counted > 30 {
			return []string{piece("STOP", `{"text":"There are 42.","thoughtSignature":"c2ln"}`)}
		}
		return []string{piece("STOP", fmt.Sprintf(`{"functionCall":{"id":"a%d","name":"look","args":{"at":"place"}},"thoughtSignature":"c2ln%04d"}`, counted, counted),
			fmt.Sprintf(`{"functionCall":{"id":"b%d","name":"look","args":{"at":"elsewhere"}}}`, counted))}
	})
	done := forktest.Agent{Model: a.model(), Tokenizer: gemini.Tokenizer{}, Tools: []chat.Tool{lookTool}, Budget: 2000}.Run(t)
	layout := forktest.Layout{
		Turns: "contents", Parts: "parts", Free: []string{"generationConfig.maxOutputTokens", "generationConfig.temperature"},
	}
	require.Equal(t, len(done), layout.Check(t, a.bodies))
	require.Empty(t, a.refused)
	for _, e := range done {
		require.Equal(t, 120, e.Usage.Input)
		require.Equal(t, 80, e.Usage.CacheRead, "an event says what the cache served")
	}
}

// An answer that took several requests is billed for each, and its prompt is that of the first.
func TestTheSizeOfAPromptIsNotTheBillOfAnAnswer(t *testing.T) {
	n := 0
	a := newAPI(t, nil)
	a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := strings.Replace(piece("CONTINUATION", `{"text":"one, "}`), `"index":0`, fmt.Sprintf(`"index":0,"continuationToken":"AAA%d"`, n), 1)
		if n++; n%3 == 0 {
			answer = piece("STOP", `{"text":"three"}`)
		}
		if r.URL.Query().Get("alt") == "sse" {
			answer = "data: " + answer + "\r\n\r\n"
		}
		fmt.Fprint(w, answer)
	})
	for _, stream := range []func(chat.Delta){nil, func(chat.Delta) {}} {
		r := providertest.Generated(t, a.model(), chat.Request{Messages: []chat.Message{chat.UserMessage("Count.")}, Stream: stream})
		require.Equal(t, "one, one, three", r.Message.Text())
		require.Equal(t, chat.Usage{Input: 360, Prompt: 120, Output: 111, CacheRead: 240}, r.Usage)
		require.Equal(t, 120, r.Usage.Size())
	}
}

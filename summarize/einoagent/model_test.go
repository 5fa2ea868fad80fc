package einoagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/forktest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

// asked is a model of eino that keeps its requests as a provider would receive them.
type asked struct {
	*scripted
	noting sync.Mutex
	bodies []string
}

func (a *asked) note(input []*schema.Message, opts []model.Option) {
	o := model.GetCommonOptions(nil, opts...)
	var messages []map[string]any
	for _, m := range input {
		messages = append(messages, map[string]any{"role": m.Role, "content": m.Content, "tool_calls": m.ToolCalls, "tool_call_id": m.ToolCallID})
	}
	body := map[string]any{"messages": messages}
	if o.Tools != nil {
		body["tools"] = o.Tools
	}
	if o.MaxTokens != nil {
		body["max_tokens"] = *o.MaxTokens
	}
	if o.Temperature != nil {
		body["temperature"] = *o.Temperature
	}
	if o.ToolChoice != nil {
		body["tool_choice"] = *o.ToolChoice
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	a.noting.Lock()
	defer a.noting.Unlock()
	a.bodies = append(a.bodies, string(data))
}

func (a *asked) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	a.note(input, opts)
	return a.scripted.Generate(ctx, input, opts...)
}

func (a *asked) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	a.note(input, opts)
	return a.scripted.Stream(ctx, input, opts...)
}

func TestAReasonThatIsNotKnownIsNoEnd(t *testing.T) {
	for reason, want := range map[string]chat.StopReason{"": chat.StopEnd, "stop": chat.StopEnd, "MAX_TOKENS": chat.StopMaxTokens, "SAFETY": chat.StopFiltered, "error": "error", "moved_on": "error"} {
		m := &scripted{answer: func(int, request) (*schema.Message, error) {
			answer := says("Half")
			answer.ResponseMeta = &schema.ResponseMeta{FinishReason: reason}
			return answer, nil
		}}
		got, err := einoagent.Model(m).Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("2+2?")}})
		require.Equal(t, "Half", got.Message.Text())
		_, end := errors.AsType[*chat.EndError](err)
		require.Equal(t, want == "error", end, "%q: %v", reason, err)
		if !end {
			require.Equal(t, want, got.StopReason)
		}
	}
}

func TestAModelConvertsTheRequestAndTheAnswer(t *testing.T) {
	m := &asked{scripted: &scripted{answer: func(int, request) (*schema.Message, error) {
		answer := says("four")
		answer.ReasoningContent = "two and two"
		answer.ResponseMeta = &schema.ResponseMeta{FinishReason: "length", Usage: &schema.TokenUsage{
			PromptTokens: 9, CompletionTokens: 2, PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 5, CacheWriteTokens: 3},
		}}
		return answer, nil
	}}}
	req := chat.Request{
		Messages: []chat.Message{chat.SystemMessage("Count."), chat.UserMessage("2+2?")},
		Tools: []chat.Tool{
			{Name: "add", Description: "Adds.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`)},
			{Name: "now"},
		},
		Shape: chat.Shape{ToolChoice: chat.ToolChoiceNone}, MaxTokens: 7, Temperature: new(0.5),
	}
	want := chat.Response{
		Message:    chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "two and two", Signature: "reasoning_content"}, chat.Text("four")}},
		Usage:      chat.Usage{Input: 9, Output: 2, CacheRead: 5, CacheWrite: 3},
		StopReason: chat.StopMaxTokens,
	}
	got := providertest.Generated(t, einoagent.Model(m), req)
	require.Equal(t, want, got)
	require.JSONEq(t, `{"max_tokens": 7, "temperature": 0.5, "tool_choice": "forbidden",
		"messages": [{"role":"system","content":"Count.","tool_calls":null,"tool_call_id":""}, {"role":"user","content":"2+2?","tool_calls":null,"tool_call_id":""}],
		"tools": [{"name":"add","desc":"Adds.","has_params_one_of":true,"json_schema":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}},
			{"name":"now"}]}`, m.bodies[0])

	heard, hear := providertest.Listen(t)
	req.Stream = hear
	got = providertest.Generated(t, einoagent.Model(m), req)
	require.Equal(t, want, got)
	heard.RequireWhole(t, got)
	require.Equal(t, "two and two", heard.Thinking)
	require.Equal(t, m.bodies[0], m.bodies[1])
}

func TestCallsWithoutIDsGetUniqueOnes(t *testing.T) {
	providertest.CallIDs(t, func(t *testing.T, ids []string) providertest.CallServer {
		m := &scripted{answer: func(_ int, r request) (*schema.Message, error) {
			if r.messages[len(r.messages)-1].Role == schema.Tool {
				return says("42"), nil
			}
			answer := &schema.Message{Role: schema.Assistant}
			for _, id := range ids {
				answer.ToolCalls = append(answer.ToolCalls, schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: "count", Arguments: `{"z":1}`}})
			}
			return answer, nil
		}}
		return providertest.CallServer{Model: einoagent.Model(m), Sent: func(*testing.T) (calls, results, texts []string) {
			for _, e := range m.requests[len(m.requests)-1].messages {
				for _, c := range e.ToolCalls {
					calls = append(calls, c.ID)
				}
				if e.Role == schema.Tool {
					results, texts = append(results, e.ToolCallID), append(texts, e.Content)
				}
			}
			return calls, results, texts
		}}
	})
}

func TestABrokenStreamReturnsThePartThatArrived(t *testing.T) {
	whole := reads("a.go", "b.go")
	s := &scripted{answer: func(int, request) (*schema.Message, error) { return whole, nil }}
	full := providertest.Generated(t, einoagent.Model(s), chat.Request{Messages: []chat.Message{chat.UserMessage("?")}, Stream: func(chat.Delta) {}})
	for n := range 6 {
		m := &broken{scripted: s, after: n}
		heard, hear := providertest.Listen(t)
		partial, err := einoagent.Model(m).Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("?")}, Stream: hear})
		var transient *chat.TransientError
		require.ErrorAs(t, err, &transient)
		heard.RequirePartial(t, partial, full)
	}
}

// broken is a model whose stream fails after a number of chunks.
type broken struct {
	*scripted
	after int
}

func (b *broken) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	whole, err := b.scripted.Stream(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	n := 0
	return schema.StreamReaderWithConvert(whole, func(m *schema.Message) (*schema.Message, error) {
		if n++; n > b.after {
			return nil, io.ErrUnexpectedEOF
		}
		return m, nil
	}), nil
}

// apiError is an error of the kind that clients of eino's models return.
type apiError struct {
	HTTPStatusCode int
	Message        string
}

func (e *apiError) Error() string { return e.Message }

func TestErrorsOfAModelHaveTypes(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"too large, in the text", errors.New("error, status code: 400, message: This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."), "context 8192 9000"},
		{"already a ContextLimitError", &chat.ContextLimitError{Limit: 5, Tokens: 6}, "context 5 6"},
		{"rate limit in the text", errors.New("error, status code: 429, status: 429 Too Many Requests, message: slow down"), "transient"},
		{"rate limit by a field", fmt.Errorf("asking: %w", &apiError{429, "slow down"}), "transient"},
		{"server error", &apiError{503, "overloaded"}, "transient"},
		{"lost connection", io.ErrUnexpectedEOF, "transient"},
		{"already a TransientError", &chat.TransientError{RetryAfter: time.Second, Err: errors.New("x")}, "transient"},
		{"wrong key", &apiError{401, "wrong key"}, "other"},
		{"any other error", errors.New("no"), "other"},
	} {
		for _, stream := range []func(chat.Delta){nil, func(chat.Delta) {}} {
			m := &scripted{answer: func(int, request) (*schema.Message, error) { return nil, c.err }}
			_, err := einoagent.Model(m).Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("?")}, Stream: stream})
			require.ErrorIs(t, err, c.err)
			got := "other"
			if over, ok := errors.AsType[*chat.ContextLimitError](err); ok {
				got = fmt.Sprintf("context %d %d", over.Limit, over.Tokens)
			} else if _, ok := errors.AsType[*chat.TransientError](err); ok {
				got = "transient"
			}
			require.Equal(t, c.want, got, c.name)
		}
	}
}

func TestACancelledRequestHasTheCauseOfItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	m := &scripted{answer: func(int, request) (*schema.Message, error) {
		cancel(stop)
		return nil, context.Canceled
	}}
	for range 2 { // cancelled during the request, and before it
		_, err := einoagent.Model(m).Generate(ctx, chat.Request{Messages: []chat.Message{chat.UserMessage("?")}})
		require.Equal(t, stop, err)
	}
	require.Len(t, m.requests, 1)
}

// A request for a summary continues the agent's request.
func TestAForkKeepsTheCachedPrefix(t *testing.T) {
	counted := 0
	m := &asked{scripted: &scripted{answer: func(_ int, r request) (*schema.Message, error) {
		if strings.Contains(r.messages[len(r.messages)-1].Content, forktest.Ask) {
			return says("<summary>\nThe files were counted.\n</summary>"), nil
		}
		if counted++; counted > 12 {
			return says("There are 42."), nil
		}
		answer := &schema.Message{Role: schema.Assistant}
		for _, id := range []string{"a", "b"} {
			answer.ToolCalls = append(answer.ToolCalls, schema.ToolCall{ID: fmt.Sprint(id, counted), Function: schema.FunctionCall{Name: "count", Arguments: `{"z":"*.go"}`}})
		}
		return answer, nil
	}}}
	done := forktest.Agent{
		Model: einoagent.Model(m), Tokenizer: compacttest.Estimator, Budget: 3000,
		Tools: []chat.Tool{{Name: "count", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"}}}`)}},
	}.Run(t)
	forks := forktest.Layout{Turns: "messages", Free: []string{"max_tokens", "temperature"}}.Check(t, m.bodies)
	require.Equal(t, len(done), forks)
}

func TestWhatEinoHasNoOptionForIsAskedForByAToolOrRefused(t *testing.T) {
	m := &asked{scripted: &scripted{answer: func(int, request) (*schema.Message, error) {
		return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{{ID: "a", Function: schema.FunctionCall{Name: "number", Arguments: `{"n":4}`}}}}, nil
	}}}
	req := chat.Request{Messages: []chat.Message{chat.UserMessage("2+2?")}, Shape: chat.Shape{Format: &chat.Format{Name: "number", Schema: json.RawMessage(`{"type":"object"}`)}}}
	got := providertest.Generated(t, einoagent.Model(m), req)
	require.Equal(t, `{"n":4}`, got.Message.Text())
	require.Empty(t, got.Message.ToolCalls)
	require.Contains(t, m.bodies[0], `"tool_choice":"forced"`)
	for _, shape := range []chat.Shape{{OneCall: true}, {Effort: chat.EffortLow}} {
		_, err := einoagent.Model(m).Generate(t.Context(), chat.Request{Messages: req.Messages, Shape: shape})
		require.ErrorContains(t, err, "eino's models have no option for parallel calls and effort")
	}
}

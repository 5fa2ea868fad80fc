package anthropic_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/anthropic"
)

// answering returns a model on a server that always gives the same answer.
func answering(t *testing.T, a answer) (*anthropic.Model, *server) {
	s := newServer(t, func(int, request) answer { return a })
	return &anthropic.Model{Client: s.client(), Name: "claude-test"}, s
}

func TestEachFieldOfTheRequestAndTheModelIsSent(t *testing.T) {
	half := 0.5
	counts := func(id string) map[string]any {
		return map[string]any{"role": "assistant", "content": []any{
			map[string]any{"type": "tool_use", "id": id, "name": "count", "input": map[string]any{"glob": "*.go"}}}}
	}
	is := func(id, output string) map[string]any {
		return map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "tool_result", "tool_use_id": id, "content": []any{map[string]any{"type": "text", "text": output}}}}}
	}
	counted := []any{ // without thinking
		map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "How many?"}}},
		counts("a"), is("a", "1"), counts("b"), is("b", "2"),
	}
	for _, c := range []struct {
		rule  string
		model *anthropic.Model
		req   chat.Request
		want  map[string]any // of the body's fields, nil for those that are not sent
	}{
		{"a limit for the answer is always sent", &anthropic.Model{}, chat.Request{},
			map[string]any{"max_tokens": 8192.0, "model": "claude-test", "stream": true, "temperature": nil, "thinking": nil, "tool_choice": nil, "system": nil}},
		{"the model's limit is sent if the request has none", &anthropic.Model{MaxTokens: 500}, chat.Request{}, map[string]any{"max_tokens": 500.0}},
		{"the request's limit is sent instead of the model's", &anthropic.Model{MaxTokens: 500}, chat.Request{MaxTokens: 100}, map[string]any{"max_tokens": 100.0}},
		{"the temperature is sent", &anthropic.Model{}, chat.Request{Temperature: &half}, map[string]any{"temperature": 0.5}},
		{"a temperature of 0 is sent", &anthropic.Model{}, chat.Request{Temperature: new(0.0)}, map[string]any{"temperature": 0.0}},
		{"a choice of none is sent", &anthropic.Model{}, chat.Request{Tools: counting, Shape: chat.Shape{ToolChoice: chat.ToolChoiceNone}},
			map[string]any{"tool_choice": map[string]any{"type": "none"}}},
		{"a required call is sent as any", &anthropic.Model{}, chat.Request{Tools: counting, Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}},
			map[string]any{"tool_choice": map[string]any{"type": "any"}}},
		{"a named tool is sent", &anthropic.Model{Thinking: anthropic.Thinking{Budget: 2000}}, chat.Request{Tools: counting, Shape: chat.Shape{Tool: "count", OneCall: true}},
			map[string]any{"tool_choice": map[string]any{"type": "tool", "name": "count", "disable_parallel_tool_use": true}, "thinking": nil}},
		{"no parallel calls are a choice of auto", &anthropic.Model{}, chat.Request{Tools: counting, Shape: chat.Shape{OneCall: true}},
			map[string]any{"tool_choice": map[string]any{"type": "auto", "disable_parallel_tool_use": true}}},
		{"an effort is sent", &anthropic.Model{}, chat.Request{Shape: chat.Shape{Effort: chat.EffortLow}},
			map[string]any{"output_config": map[string]any{"effort": "low"}}},
		{"without effort a model does not think", &anthropic.Model{Thinking: anthropic.Thinking{Adaptive: true}}, chat.Request{Shape: chat.Shape{Effort: chat.EffortNone}},
			map[string]any{"output_config": nil, "thinking": map[string]any{"type": "disabled"}}},
		{"a format is sent with its schema as written", &anthropic.Model{}, chat.Request{Shape: chat.Shape{Format: &chat.Format{Name: "n", Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}}},
			map[string]any{"output_config": map[string]any{"format": map[string]any{"type": "json_schema", "schema": map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}}}}},
		{"no tool choice is sent without tools", &anthropic.Model{}, chat.Request{Shape: chat.Shape{ToolChoice: chat.ToolChoiceNone}}, map[string]any{"tool_choice": nil, "tools": nil}},
		{"tools are sent in order, with an empty schema if they have none", &anthropic.Model{}, chat.Request{Tools: []chat.Tool{{Name: "now"}, counting[0]}},
			map[string]any{"tools": []any{
				map[string]any{"name": "now", "input_schema": map[string]any{"type": "object"}},
				map[string]any{"name": "count", "description": "Counts files.", "input_schema": map[string]any{"type": "object",
					"properties": map[string]any{"glob": map[string]any{"type": "string"}}}},
			}}},
		{"a thinking budget is added to the answer's tokens, and no temperature is sent with it", &anthropic.Model{Thinking: anthropic.Thinking{Budget: 2000}},
			chat.Request{MaxTokens: 100, Temperature: &half},
			map[string]any{"max_tokens": 2100.0, "thinking": map[string]any{"type": "enabled", "budget_tokens": 2000.0}, "temperature": nil}},
		{"no temperature is sent with adaptive thinking", &anthropic.Model{Thinking: anthropic.Thinking{Adaptive: true}}, chat.Request{MaxTokens: 100, Temperature: &half},
			map[string]any{"max_tokens": 100.0, "thinking": map[string]any{"type": "adaptive"}, "temperature": nil}},
		{"no thinking is sent with a required call", &anthropic.Model{Thinking: anthropic.Thinking{Budget: 2000}},
			chat.Request{MaxTokens: 100, Tools: counting, Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}, Temperature: &half},
			map[string]any{"max_tokens": 100.0, "thinking": nil, "temperature": 0.5, "tool_choice": map[string]any{"type": "any"}}},
		{"a tool loop that began without thinking goes on without", &anthropic.Model{Thinking: anthropic.Thinking{Budget: 2000}},
			chat.Request{Messages: []chat.Message{question, calls("a"), chat.ToolResult("a", "1")}, Tools: counting}, map[string]any{"thinking": nil}},
		{"a tool loop that began with thinking goes on with it", &anthropic.Model{Thinking: anthropic.Thinking{Budget: 2000}},
			chat.Request{Messages: []chat.Message{question, with(calls("a"), signed), chat.ToolResult("a", "1")}, Tools: counting},
			map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 2000.0}}},
		{"a tool loop that began with thinking goes on with it though the model did not think between its calls", &anthropic.Model{Thinking: anthropic.Thinking{Budget: 2000}},
			chat.Request{Tools: counting, Messages: []chat.Message{
				question, with(calls("a"), signed), chat.ToolResult("a", "1"), calls("b"), chat.ToolResult("b", "2")}},
			map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 2000.0}}},
		{"thinking later in a tool loop that began without it is not sent", &anthropic.Model{Thinking: anthropic.Thinking{Budget: 2000}},
			chat.Request{Tools: counting, Messages: []chat.Message{
				question, calls("a"), chat.ToolResult("a", "1"), with(calls("b"), signed), chat.ToolResult("b", "2")}},
			map[string]any{"thinking": nil, "messages": counted}},
		{"thinking of a tool loop is not sent with a required call", &anthropic.Model{Thinking: anthropic.Thinking{Budget: 2000}},
			chat.Request{Tools: counting, Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}, Messages: []chat.Message{
				question, with(calls("a"), signed), chat.ToolResult("a", "1"), calls("b"), chat.ToolResult("b", "2")}},
			map[string]any{"thinking": nil, "messages": counted}},
		{"a turn that is over does not prevent thinking", &anthropic.Model{Thinking: anthropic.Thinking{Budget: 2000}},
			chat.Request{Messages: []chat.Message{question, calls("a"), chat.ToolResult("a", "1"), chat.AssistantMessage("1"), question}, Tools: counting},
			map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 2000.0}}},
		{"system messages become the system prompt, wherever they are", &anthropic.Model{},
			chat.Request{Messages: []chat.Message{chat.SystemMessage("A"), question, chat.AssistantMessage("B"), chat.SystemMessage("C"), question}},
			map[string]any{"system": []any{map[string]any{"type": "text", "text": "A"}, map[string]any{"type": "text", "text": "C"}}}},
		{"neighbours of one role become one message, results first", &anthropic.Model{},
			chat.Request{Tools: counting, Messages: []chat.Message{
				question, question, calls("a", "b"), chat.ToolResult("a", "1"), failed(chat.ToolResult("b", "no")), chat.UserMessage("Go on.")}},
			map[string]any{"messages": []any{
				map[string]any{"role": "user", "content": []any{
					map[string]any{"type": "text", "text": "How many?"}, map[string]any{"type": "text", "text": "How many?"}}},
				map[string]any{"role": "assistant", "content": []any{
					map[string]any{"type": "tool_use", "id": "a", "name": "count", "input": map[string]any{"glob": "*.go"}},
					map[string]any{"type": "tool_use", "id": "b", "name": "count", "input": map[string]any{"glob": "*.go"}}}},
				map[string]any{"role": "user", "content": []any{
					map[string]any{"type": "tool_result", "tool_use_id": "a", "content": []any{map[string]any{"type": "text", "text": "1"}}},
					map[string]any{"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": []any{map[string]any{"type": "text", "text": "no"}}},
					map[string]any{"type": "text", "text": "Go on."}}},
			}}},
		{"images and documents are sent, in results too", &anthropic.Model{},
			chat.Request{Tools: counting, Messages: []chat.Message{
				user(chat.Image{URL: "https://example.com/a.png"}, chat.Image{URL: "data:;base64,AAAA", MediaType: "image/jpg"},
					chat.NewDocument("application/pdf", []byte("%PDF")), chat.NewDocument("text/markdown; charset=utf-8", []byte("# Hi"))),
				calls("a"), result("a", chat.Text("Here:"), pixel)}},
			map[string]any{"messages": []any{
				map[string]any{"role": "user", "content": []any{
					map[string]any{"type": "image", "source": map[string]any{"type": "url", "url": "https://example.com/a.png"}},
					map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
					map[string]any{"type": "document", "source": map[string]any{"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
					map[string]any{"type": "document", "source": map[string]any{"type": "text", "media_type": "text/plain", "data": "# Hi"}}}},
				map[string]any{"role": "assistant", "content": []any{
					map[string]any{"type": "tool_use", "id": "a", "name": "count", "input": map[string]any{"glob": "*.go"}}}},
				map[string]any{"role": "user", "content": []any{
					map[string]any{"type": "tool_result", "tool_use_id": "a", "content": []any{
						map[string]any{"type": "text", "text": "Here:"},
						map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}}}}},
			}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := newServer(t, func(int, request) answer { return say(text("42")) })
			c.model.Client, c.model.Name = s.client(), "claude-test"
			if c.req.Messages == nil {
				c.req.Messages = []chat.Message{question}
			}
			providertest.Generated(t, c.model, c.req)
			var body map[string]any
			require.NoError(t, json.Unmarshal([]byte(s.bodies[0]), &body))
			for field, want := range c.want {
				require.Empty(t, cmp.Diff(want, body[field]), field)
			}
		})
	}
}

func TestSchemasOfToolsKeepTheirOrder(t *testing.T) {
	model, s := answering(t, say(text("42")))
	schema := `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number","minimum":1.0}},"required":["z"]}`
	providertest.Generated(t, model, tools(ask(question), chat.Tool{Name: "a", Parameters: json.RawMessage(schema)}))
	require.Contains(t, s.bodies[0], schema)
}

func TestThinkingAndTextAreStreamedInOrder(t *testing.T) {
	model, _ := answering(t, say(think("I wonder what this is."), text("It is 42, for sure. 🙂"), call("a", "count", block{})))
	var heard []chat.Delta
	req := ask(question)
	req.Stream = func(d chat.Delta) { heard = append(heard, d) }
	r := providertest.Generated(t, model, req)
	require.Greater(t, len(heard), 4)
	var thought, said string
	for _, d := range heard {
		switch d := d.(type) {
		case chat.Thinking:
			require.Empty(t, said, "thinking after text")
			thought += d.Text
		case chat.Text:
			said += string(d)
		}
	}
	require.Equal(t, r.Message.Content[0].(chat.Thinking).Text, thought)
	require.Equal(t, r.Message.Text(), said)
	require.Equal(t, chat.StopToolCalls, r.StopReason)
}

func TestBetasAndAdjustChangeTheRequestBeforeItIsSent(t *testing.T) {
	model, s := answering(t, say(text("42")))
	model.Betas = []string{"context-1m-2025-08-07", "x-1"}
	model.Adjust = func(_ chat.Purpose, p *sdk.MessageNewParams) { p.Metadata.UserID = sdk.String("u") }
	providertest.Generated(t, model, ask(question))
	require.Equal(t, "context-1m-2025-08-07,x-1", s.headers[0].Get("Anthropic-Beta"))
	require.Contains(t, s.bodies[0], `"metadata":{"user_id":"u"}`)
}

func TestOnRepairIsCalledWithTheChangesOfARequest(t *testing.T) {
	model, s := answering(t, say(text("42")))
	var reported []chat.Repair
	listener := func(c []chat.Repair) { reported = append(reported, c...) }
	model.OnRepair = listener
	providertest.Generated(t, model, ask(question))
	require.Empty(t, reported)
	for range 2 {
		req := ask(question, calls("a"))
		req.OnRepair = listener // which hears if the model has no listener
		providertest.Generated(t, model, req)
		require.Len(t, reported, 1)
		require.Equal(t, `message 1: every tool call is answered: call "a" had no result: a failed one added`, reported[0].String())
		model.OnRepair, reported = nil, nil
	}
	require.Equal(t, 3, s.count())

	_, err := model.Generate(t.Context(), chat.Request{})
	require.Equal(t, chat.RuleLast, violations(t, err)[0].Rule)
	require.Equal(t, 3, s.count(), "an invalid request is not sent")
}

func TestInvalidThinkingIsAnErrorAndNothingIsSent(t *testing.T) {
	model, s := answering(t, say(text("42")))
	for _, thinking := range []anthropic.Thinking{{Budget: 500}, {Budget: -1}, {Budget: 2000, Adaptive: true}} {
		m := &anthropic.Model{Client: model.Client, Name: model.Name, Thinking: thinking}
		_, err := m.Generate(t.Context(), ask(question))
		require.ErrorContains(t, err, "anthropic: Thinking")
	}
	require.Zero(t, s.count())
}

func TestAModelThatRefusesATemperatureIsAskedAgainWithoutIt(t *testing.T) {
	s := newServer(t, func(_ int, r request) answer {
		if r.Temperature != nil {
			return refuse(400, "invalid_request_error", "`temperature` is deprecated for this model.")
		}
		return say(text("42"))
	})
	model := &anthropic.Model{Client: s.client(), Name: "claude-test"}
	req := ask(question)
	req.Temperature = new(0.0)
	for range 3 {
		providertest.Generated(t, model, req)
	}
	require.Equal(t, 4, s.count(), "only the first request is repeated")
}

func TestAModelMayBeUsedConcurrently(t *testing.T) {
	model, s := answering(t, say(text("42")))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := model.Generate(context.Background(), ask(question))
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 8, s.count())
}

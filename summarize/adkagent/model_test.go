package adkagent_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/summarize/adkagent"
)

// played is a model that yields fixed responses and then an error.
type played struct {
	responses []*model.LLMResponse
	err       error
	asked     *model.LLMRequest
}

func (p *played) Name() string { return "played" }

func (p *played) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	p.asked = req
	return func(yield func(*model.LLMResponse, error) bool) {
		for _, r := range p.responses {
			if !yield(r, nil) {
				return
			}
		}
		if p.err != nil {
			yield(nil, p.err)
		}
	}
}

func TestAModelConvertsTheRequestAndTheAnswer(t *testing.T) {
	m := &played{responses: []*model.LLMResponse{reads("a.go")}}
	m.responses[0].UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 7, CachedContentTokenCount: 3, CandidatesTokenCount: 2, ThoughtsTokenCount: 1}
	r, err := adkagent.Model(m).Generate(t.Context(), chat.Request{
		Messages: []chat.Message{chat.SystemMessage("Be brief."), chat.UserMessage("Look.")},
		Tools:    []chat.Tool{{Name: "read", Parameters: []byte(`{"type":"object"}`)}},
		Shape:    chat.Shape{ToolChoice: chat.ToolChoiceRequired}, MaxTokens: 9, Temperature: new(0.5),
	})
	require.NoError(t, err)
	require.Equal(t, chat.StopToolCalls, r.StopReason)
	require.Equal(t, chat.Usage{Input: 7, CacheRead: 3, Output: 3}, r.Usage)
	require.Equal(t, "I look.", r.Message.Text())
	require.Equal(t, `{"path":"a.go"}`, r.Message.ToolCalls[0].Arguments)
	require.NotEmpty(t, r.Message.ToolCalls[0].ID)
	require.Equal(t, "Be brief.", m.asked.Config.SystemInstruction.Parts[0].Text)
	require.Equal(t, int32(9), m.asked.Config.MaxOutputTokens)
	require.InDelta(t, 0.5, *m.asked.Config.Temperature, 1e-6)
	require.Equal(t, genai.FunctionCallingConfigModeAny, m.asked.Config.ToolConfig.FunctionCallingConfig.Mode)
	require.Equal(t, "read", m.asked.Config.Tools[0].FunctionDeclarations[0].Name)
}

func TestAnAnswerIsStreamed(t *testing.T) {
	whole := reads("a.go", "b.go")
	m := &scripted{answer: func(int, request) (*model.LLMResponse, error) { return whole, nil }}
	var deltas []chat.Delta
	r, err := adkagent.Model(m).Generate(t.Context(), chat.Request{
		Messages: []chat.Message{chat.UserMessage("Look.")}, Stream: func(d chat.Delta) { deltas = append(deltas, d) },
	})
	require.NoError(t, err)
	calls := r.Message.ToolCalls
	require.Equal(t, []chat.Delta{
		chat.Thinking{Text: "What is"}, chat.Thinking{Text: " there?"}, chat.Text("I l"), chat.Text("ook."),
		chat.CallDelta{Index: 0, ID: calls[0].ID, Name: "read", Arguments: `{"path":"a.go"}`},
		chat.CallDelta{Index: 1, ID: calls[1].ID, Name: "read", Arguments: `{"path":"b.go"}`},
	}, deltas)
	require.Equal(t, "I look.", r.Message.Text())
}

func TestTheStopReasonSaysWhyAnAnswerEnded(t *testing.T) {
	for name, c := range map[string]struct {
		response *model.LLMResponse
		want     chat.StopReason
	}{
		"to its end":        {says("x"), chat.StopEnd},
		"too long":          {&model.LLMResponse{Content: said(&genai.Part{Text: "x"}), FinishReason: genai.FinishReasonMaxTokens}, chat.StopMaxTokens},
		"filtered":          {&model.LLMResponse{Content: said(&genai.Part{Text: "x"}), FinishReason: genai.FinishReasonSafety}, chat.StopFiltered},
		"a filtered prompt": {&model.LLMResponse{ErrorCode: "SAFETY", ErrorMessage: "no"}, chat.StopFiltered},
	} {
		r, err := adkagent.Model(&played{responses: []*model.LLMResponse{c.response}}).Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("x")}})
		require.NoError(t, err, name)
		require.Equal(t, c.want, r.StopReason, name)
	}
}

func TestErrorsOfAModelHaveTypes(t *testing.T) {
	ask := func(ctx context.Context, m *played) error {
		_, err := adkagent.Model(m).Generate(ctx, chat.Request{Messages: []chat.Message{chat.UserMessage("x")}})
		return err
	}
	over := ask(t.Context(), &played{err: genai.APIError{Code: 400, Message: "The input token count (12000) exceeds the maximum number of tokens allowed (10000)."}})
	limit := errtest.As[*chat.ContextLimitError](t, over)
	require.Equal(t, 10_000, limit.Limit)
	require.Equal(t, 12_000, limit.Tokens)
	for _, passing := range []*played{{err: genai.APIError{Code: 429}}, {err: genai.APIError{Code: 503}}, {err: io.ErrUnexpectedEOF}, {}} {
		require.ErrorAs(t, ask(t.Context(), passing), new(*chat.TransientError))
	}
	err := ask(t.Context(), &played{err: genai.APIError{Code: 403, Message: "not yours"}})
	require.ErrorContains(t, err, "not yours")
	_, ok := errors.AsType[*chat.TransientError](err)
	require.False(t, ok)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	require.ErrorIs(t, ask(ctx, &played{}), gone)
}

func TestTheAgentsToolsBecomeTheTargets(t *testing.T) {
	sub := agentFrom(t, llmagent.Config{Name: "worker", Model: rounds(0)})
	c := compacttest.Offline(t, &history.Session{})
	m := rounds(0)
	finished(t, runnerOf(t, session.InMemoryService(), agentFrom(t, llmagent.Config{Model: m, Tools: []tool.Tool{readTool(t, nil), agenttool.New(sub, nil)}}), pluginOn(t, c)), false, question)
	tools := c.Current().Tools
	require.Equal(t, "read", tools[0].Name)
	require.Contains(t, string(tools[0].Parameters), "the file to read")
	require.Equal(t, "worker", tools[1].Name)
	require.JSONEq(t, `{"type":"object","properties":{"request":{"type":"string"}},"required":["request"]}`, string(tools[1].Parameters))
	require.Equal(t, genai.TypeObject, m.requests[0].tools[0].FunctionDeclarations[1].Parameters.Type, "the request's own declarations are unchanged")
}

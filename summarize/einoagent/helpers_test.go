package einoagent_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

const instruction = "You are a coding agent."

// request is a request that a scripted model received.
type request struct {
	messages []*schema.Message
	tools    []*schema.ToolInfo
}

// scripted is a model of eino whose answers a function returns. Its argument n is the number of earlier requests.
type scripted struct {
	answer func(n int, r request) (*schema.Message, error)

	mu       sync.Mutex
	requests []request
}

func (s *scripted) ask(input []*schema.Message, opts []model.Option) (*schema.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := request{input, model.GetCommonOptions(nil, opts...).Tools}
	s.requests = append(s.requests, r)
	return s.answer(len(s.requests)-1, r)
}

func (s *scripted) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.ask(input, opts)
}

// Stream streams a text and the arguments of calls in two pieces, the calls by their index.
func (s *scripted) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := s.Generate(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	half := len(answer.Content) / 2
	chunks := []*schema.Message{{Role: schema.Assistant, Content: answer.Content[:half], ReasoningContent: answer.ReasoningContent}}
	for i, c := range answer.ToolCalls {
		c.Index, c.Type = new(i), "function"
		more := schema.ToolCall{Index: new(i)}
		at := len(c.Function.Arguments) / 2
		c.Function.Arguments, more.Function.Arguments = c.Function.Arguments[:at], c.Function.Arguments[at:]
		chunks = append(chunks, &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{c}},
			&schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{more}})
	}
	chunks = append(chunks, &schema.Message{Role: schema.Assistant, Content: answer.Content[half:], ResponseMeta: answer.ResponseMeta, Extra: answer.Extra})
	return schema.StreamReaderFromArray(chunks), nil
}

func (s *scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

var _ model.ToolCallingChatModel = (*scripted)(nil)

// says returns an answer that is a text.
func says(text string) *schema.Message {
	return &schema.Message{Role: schema.Assistant, Content: text, ResponseMeta: &schema.ResponseMeta{
		FinishReason: "stop", Usage: &schema.TokenUsage{PromptTokens: 100, CompletionTokens: 10},
	}}
}

// reads returns an answer that calls the tool read for each file.
func reads(files ...string) *schema.Message {
	m := &schema.Message{Role: schema.Assistant, Content: "I look.", ReasoningContent: "What is there?", ResponseMeta: &schema.ResponseMeta{FinishReason: "tool_calls"}}
	for _, f := range files {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: "call_" + f, Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: fmt.Sprintf(`{"path":%q}`, f)}})
	}
	return m
}

type readArguments struct {
	Path string `json:"path" jsonschema:"description=the file to read"`
}

// readTool returns a tool that reads any file.
func readTool(t testing.TB, run func(ctx context.Context, path string) (string, error)) tool.InvokableTool {
	t.Helper()
	if run == nil {
		run = func(_ context.Context, path string) (string, error) { return compacttest.FileContent(path), nil }
	}
	read, err := utils.InferTool("read", "Reads a file.", func(ctx context.Context, a readArguments) (string, error) { return run(ctx, a.Path) })
	require.NoError(t, err)
	return read
}

// middlewareOn returns a middleware for a compactor's conversation.
func middlewareOn(t testing.TB, c *summarize.Compactor) adk.ChatModelAgentMiddleware {
	t.Helper()
	m, err := einoagent.New(einoagent.Options{Compactor: c})
	require.NoError(t, err)
	return m
}

// agentOf returns an agent of eino with the middleware of a compactor.
func agentOf(t testing.TB, c *summarize.Compactor, m model.BaseChatModel, tools ...tool.BaseTool) *adk.ChatModelAgent {
	t.Helper()
	return agentWith(t, "coder", m, tools, middlewareOn(t, c))
}

// agentWith returns an agent of eino with handlers.
func agentWith(t testing.TB, name string, m model.BaseChatModel, tools []tool.BaseTool, handlers ...adk.ChatModelAgentMiddleware) *adk.ChatModelAgent {
	t.Helper()
	return agentFrom(t, &adk.ChatModelAgentConfig{Name: name, Model: m, Handlers: handlers}, tools...)
}

// agentFrom returns an agent of eino with a configuration, completed by a description and an instruction.
func agentFrom(t testing.TB, config *adk.ChatModelAgentConfig, tools ...tool.BaseTool) *adk.ChatModelAgent {
	t.Helper()
	config.Description, config.Instruction, config.MaxIterations = "works", instruction, 1000
	config.ToolsConfig.Tools = tools
	a, err := adk.NewChatModelAgent(t.Context(), config)
	require.NoError(t, err)
	return a
}

// end holds the outcome of a run.
type end struct {
	said      []*schema.Message // by the agents and tools, in order
	interrupt *adk.InterruptInfo
	err       error
}

// last returns the last text.
func (e end) last() string {
	if len(e.said) == 0 {
		return ""
	}
	return e.said[len(e.said)-1].Content
}

func follow(events *adk.AsyncIterator[*adk.AgentEvent]) (e end) {
	for {
		event, ok := events.Next()
		if !ok {
			return e
		}
		if event.Err != nil {
			e.err = event.Err
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			e.interrupt = event.Action.Interrupted
		}
		if event.Output != nil && event.Output.MessageOutput != nil {
			m, err := event.Output.MessageOutput.GetMessage()
			if err != nil && err != io.EOF {
				e.err = err
				continue
			}
			e.said = append(e.said, m)
		}
	}
}

// run passes messages to an agent.
func run(t testing.TB, a adk.Agent, streaming bool, messages ...*schema.Message) end {
	t.Helper()
	return follow(adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: a, EnableStreaming: streaming}).Run(t.Context(), messages))
}

// finished is a run that goes well.
func finished(t testing.TB, a adk.Agent, streaming bool, messages ...*schema.Message) end {
	t.Helper()
	e := run(t, a, streaming, messages...)
	require.NoError(t, e.err)
	return e
}

func fromEino(t testing.TB, e *schema.Message) chat.Message {
	t.Helper()
	m, err := einoagent.FromEino(e)
	require.NoError(t, err)
	return m
}

func toEino(t testing.TB, m chat.Message) *schema.Message {
	t.Helper()
	e, err := einoagent.ToEino(m)
	require.NoError(t, err)
	return e
}

// checkRequests checks that requests are valid, fit the budget, and show the instruction and the user's words.
func checkRequests(t testing.TB, requests []request, user string) {
	t.Helper()
	for i, r := range requests {
		var ours []chat.Message
		tokens := 0
		text := ""
		for _, e := range r.messages {
			m := fromEino(t, e)
			tokens += compacttest.Estimator.CountMessage(m)
			text += m.Text() + "\n"
			ours = append(ours, m)
		}
		require.NoError(t, chat.Validate(ours), "request %d", i)
		require.LessOrEqual(t, tokens, compacttest.Budget, "request %d", i)
		require.Equal(t, schema.System, r.messages[0].Role, "request %d", i)
		require.Equal(t, instruction, r.messages[0].Content, "request %d", i)
		require.NotEqual(t, schema.System, r.messages[1].Role, "request %d", i)
		require.Contains(t, text, user, "request %d", i)
	}
}

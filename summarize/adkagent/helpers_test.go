package adkagent_test

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/adkagent"
)

const instruction = "You are a coding agent."

const question = "Why does the build fail? My name is Ada."

// request is a request that a scripted model received.
type request struct {
	contents    []*genai.Content
	instruction string
	tools       []*genai.Tool
	schema      *genai.Schema
}

// scripted is a model of adk whose answers a function returns. Its argument n is the number of earlier requests.
type scripted struct {
	answer func(n int, r request) (*model.LLMResponse, error)

	mu       sync.Mutex
	requests []request
}

func (s *scripted) Name() string { return "gemini-2.5-scripted" }

func (s *scripted) ask(ctx context.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := request{contents: req.Contents}
	if req.Config != nil {
		r.tools, r.schema = req.Config.Tools, req.Config.ResponseSchema
		if req.Config.SystemInstruction != nil {
			for _, p := range req.Config.SystemInstruction.Parts {
				r.instruction += p.Text
			}
		}
	}
	s.requests = append(s.requests, r)
	return s.answer(len(s.requests)-1, r)
}

// GenerateContent streams each text in two pieces and then the whole answer, as adk's own models do.
func (s *scripted) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		answer, err := s.ask(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		if stream {
			for _, p := range answer.Content.Parts {
				half := len(p.Text) / 2
				for _, text := range []string{p.Text[:half], p.Text[half:]} {
					piece := &model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: text, Thought: p.Thought}}}, Partial: true}
					if text != "" && !yield(piece, nil) {
						return
					}
				}
			}
		}
		yield(answer, nil)
	}
}

// says returns an answer that is a text.
func says(text string) *model.LLMResponse {
	return &model.LLMResponse{
		Content: genai.NewContentFromText(text, genai.RoleModel), FinishReason: genai.FinishReasonStop,
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 100, CandidatesTokenCount: 10},
	}
}

// reads returns an answer that calls the tool read for each file. The calls have no ids, as with most Gemini models.
func reads(files ...string) *model.LLMResponse {
	c := &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "What is there?", Thought: true}, {Text: "I look."}}}
	for i, f := range files {
		p := genai.NewPartFromFunctionCall("read", map[string]any{"path": f})
		if i == 0 {
			p.ThoughtSignature = []byte("signed " + f)
		}
		c.Parts = append(c.Parts, p)
	}
	return &model.LLMResponse{Content: c}
}

// rounds returns a model that reads a file in each of n rounds and then answers.
func rounds(n int) *scripted {
	return &scripted{answer: compacttest.Reading[request](func(i int) bool { return i >= n }, reads, says)}
}

type readArguments struct {
	Path string `json:"path" jsonschema:"the file to read"`
}

// readTool returns a tool that reads any file.
func readTool(t testing.TB, read func(ctx agent.Context, path string) (string, error)) tool.Tool {
	t.Helper()
	if read == nil {
		read = func(_ agent.Context, path string) (string, error) { return compacttest.FileContent(path), nil }
	}
	f, err := functiontool.New(functiontool.Config{Name: "read", Description: "Reads a file."}, func(ctx agent.Context, a readArguments) (string, error) { return read(ctx, a.Path) })
	require.NoError(t, err)
	return f
}

// pluginOn returns a plugin for a compactor's conversation.
func pluginOn(t testing.TB, c *summarize.Compactor) *plugin.Plugin {
	t.Helper()
	p, err := adkagent.New(adkagent.Options{Agent: "coder", Compactor: c})
	require.NoError(t, err)
	return p
}

// agentOf returns an agent of adk with a model and tools.
func agentOf(t testing.TB, m model.LLM, tools ...tool.Tool) agent.Agent {
	t.Helper()
	return agentFrom(t, llmagent.Config{Model: m, Tools: tools})
}

// agentFrom returns an agent of adk with a configuration, completed by a name, a description and an instruction.
func agentFrom(t testing.TB, config llmagent.Config) agent.Agent {
	t.Helper()
	if config.Name == "" {
		config.Name = "coder"
	}
	config.Description, config.Instruction = "works", instruction
	a, err := llmagent.New(config)
	require.NoError(t, err)
	return a
}

// runnerOf returns a runner of adk.
func runnerOf(t testing.TB, sessions session.Service, a agent.Agent, plugins ...*plugin.Plugin) *runner.Runner {
	t.Helper()
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: a, SessionService: sessions, AutoCreateSession: true, PluginConfig: runner.PluginConfig{Plugins: plugins},
	})
	require.NoError(t, err)
	return r
}

// end holds the outcome of a run.
type end struct {
	events []*session.Event // without partial ones
	err    error
}

// last returns the last text.
func (e end) last() (text string) {
	for _, event := range e.events {
		if event.Content == nil {
			continue
		}
		said := ""
		for _, p := range event.Content.Parts {
			if !p.Thought {
				said += p.Text
			}
		}
		if said != "" {
			text = said
		}
	}
	return text
}

func follow(events iter.Seq2[*session.Event, error]) (e end) {
	for event, err := range events {
		if err != nil {
			e.err = err
			continue
		}
		if !event.Partial {
			e.events = append(e.events, event)
		}
	}
	return e
}

// run asks an agent a question in adk's session "s".
func run(t testing.TB, r *runner.Runner, streaming bool, asked string) end {
	t.Helper()
	return send(t, r, streaming, genai.NewContentFromText(asked, genai.RoleUser))
}

func send(t testing.TB, r *runner.Runner, streaming bool, asked *genai.Content) end {
	t.Helper()
	config := agent.RunConfig{}
	if streaming {
		config.StreamingMode = agent.StreamingModeSSE
	}
	return follow(r.Run(t.Context(), "user", "s", asked, config))
}

// finished is a run that goes well.
func finished(t testing.TB, r *runner.Runner, streaming bool, asked string) end {
	t.Helper()
	e := run(t, r, streaming, asked)
	require.NoError(t, e.err)
	return e
}

func fromADK(t testing.TB, contents []*genai.Content) []chat.Message {
	t.Helper()
	messages, err := adkagent.FromADK(contents)
	require.NoError(t, err)
	return messages
}

// checkRequests checks that requests are valid, fit the budget, and show the instruction and the user's words.
func checkRequests(t testing.TB, requests []request, user string) {
	t.Helper()
	for i, r := range requests {
		ours := fromADK(t, r.contents)
		text := compacttest.Text(ours)
		ours = append([]chat.Message{chat.SystemMessage(r.instruction)}, ours...)
		require.NoError(t, chat.Validate(ours), "request %d", i)
		require.LessOrEqual(t, compacttest.Count(compacttest.Estimator, ours), compacttest.Budget, "request %d", i)
		require.Equal(t, 1, strings.Count(r.instruction, instruction), "request %d", i)
		require.Contains(t, text, user, "request %d", i)
	}
}

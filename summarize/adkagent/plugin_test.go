package adkagent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/loopagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sources/instructions"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/adkagent"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/mirror"
)

func TestAnAgentFinishesItsRunAcrossCompactions(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming %v", streaming), func(t *testing.T) {
			s, _ := compacttest.InFile(t)
			m := &scripted{answer: func(n int, _ request) (*model.LLMResponse, error) {
				if n == 30 {
					return says("It is the linker."), nil
				}
				return reads(fmt.Sprintf("a%d.go", n), fmt.Sprintf("b%d.go", n)), nil
			}}
			got := finished(t, runnerOf(t, session.InMemoryService(), agentOf(t, m, readTool(t, nil)), pluginOn(t, compacttest.Offline(t, s))), streaming, question)
			require.Equal(t, "It is the linker.", got.last())
			require.Len(t, m.requests, 31)
			checkRequests(t, m.requests, question)
			require.Equal(t, "1 users, 31 answers, 60 results, compacted", compacttest.Counts(t, s))
			require.Equal(t, 92, len(compacttest.Said(s)))
			usage, _, err := s.Latest(t.Context(), entry.TypeUsage)
			require.NoError(t, err)
			require.Equal(t, chat.Usage{Input: 100, Output: 10}, usage.Body.(entry.Usage).Usage)
			require.Equal(t, "read", m.requests[30].tools[0].FunctionDeclarations[0].Name)
		})
	}
}

func TestARequestRefusedAsTooLargeIsRetriedSmaller(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming %v", streaming), func(t *testing.T) {
			s, _ := compacttest.InFile(t)
			m := rounds(12)
			answer, refused := m.answer, 0
			m.answer = func(n int, r request) (*model.LLMResponse, error) {
				ours := fromADK(t, r.contents)
				if tokens := compacttest.Count(compacttest.Estimator, ours); tokens > 2500 {
					refused++
					return nil, genai.APIError{Code: 400, Message: fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (2500).", tokens)}
				}
				if last := ours[len(ours)-1]; last.Role == chat.RoleUser && last.Text() != question {
					refused++
					return says("<summary>\nAda's build fails.\n</summary>"), nil
				}
				return answer(n-refused, r)
			}
			compactor := compacttest.Offline(t, s)
			compactor.Policy = compacttest.Unjudged(copilotcli.Policy())
			compactor.Target.Model = adkagent.Model(m)
			got := finished(t, runnerOf(t, session.InMemoryService(), agentOf(t, m, readTool(t, nil)), pluginOn(t, compactor)), streaming, question)
			require.Equal(t, "done", got.last())
			require.Positive(t, refused)
			require.Equal(t, "1 users, 13 answers, 12 results, compacted", compacttest.Counts(t, s))
		})
	}
}

func TestSummariesAreAskedOfTheAgentsOwnModel(t *testing.T) {
	s, _ := compacttest.InFile(t)
	m := rounds(20)
	answer, summaries, forks := m.answer, 0, 0
	m.answer = func(n int, r request) (*model.LLMResponse, error) {
		if last := r.contents[len(r.contents)-1].Parts[0]; last.Text != "" && last.Text != question {
			summaries++
			if slices.ContainsFunc(m.requests[:n], func(before request) bool {
				k := len(before.contents)
				return k < len(r.contents) && asJSON(t, before.tools) == asJSON(t, r.tools) && asJSON(t, before.contents) == asJSON(t, r.contents[:k])
			}) {
				forks++
			}
			return says("<analysis>\nall\n</analysis>\n<summary>\nAda's build fails, and nobody knows why.\n</summary>"), nil
		}
		return answer(n-summaries, r)
	}
	compactor := compacttest.Offline(t, s)
	compactor.Target.Model = adkagent.Model(m)
	got := finished(t, runnerOf(t, session.InMemoryService(), agentOf(t, m, readTool(t, nil)), pluginOn(t, compactor)), true, question)
	require.Equal(t, "done", got.last())
	require.Positive(t, summaries)
	require.Positive(t, forks, "a request for a summary in the background continues a request of the agent, which the provider has cached")
	require.Equal(t, "1 users, 21 answers, 20 results, compacted", compacttest.Counts(t, s))
}

func TestAnAgentWithAnOutputSchemaIsCompactedLikeAnyOther(t *testing.T) {
	s, _ := compacttest.InFile(t)
	schema := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"port": {Type: genai.TypeString}}, Required: []string{"port"}}
	asked, summaries := 0, 0
	m := &scripted{answer: func(_ int, r request) (*model.LLMResponse, error) {
		if last := r.contents[len(r.contents)-1].Parts[0].Text; !strings.HasPrefix(last, "Question") {
			summaries++
			require.Nil(t, r.schema, "a summary is no answer of the agent")
			return says("<summary>\nAda asks for ports.\n</summary>"), nil
		}
		asked++
		require.Equal(t, schema, r.schema)
		return says(`{"port":"Halifax"}`), nil
	}}
	c := compacttest.Offline(t, s)
	c.Target.Model = adkagent.Model(m)
	r := runnerOf(t, session.InMemoryService(), agentFrom(t, llmagent.Config{Model: m, OutputSchema: schema}), pluginOn(t, c))
	for i := range 30 {
		got := finished(t, r, i%2 == 0, fmt.Sprintf("Question %d. %s", i, strings.Repeat("Which port is it? ", 20)))
		require.JSONEq(t, `{"port":"Halifax"}`, got.last())
	}
	require.Equal(t, 30, asked)
	require.Positive(t, summaries)
	require.Equal(t, "30 users, 30 answers, 0 results, compacted", compacttest.Counts(t, s))
}

func TestSignaturesAreSentBackUnchanged(t *testing.T) {
	m := &scripted{answer: func(n int, _ request) (*model.LLMResponse, error) {
		if n == 1 {
			return says("done"), nil
		}
		return reads("a.go", "b.go"), nil
	}}
	finished(t, runnerOf(t, session.InMemoryService(), agentOf(t, m, readTool(t, nil)), pluginOn(t, compacttest.Offline(t, &history.Session{}))), false, question)
	want := reads("a.go", "b.go").Content
	require.Equal(t, asJSON(t, want), asJSON(t, m.requests[1].contents[1]))
	results := m.requests[1].contents[2].Parts
	require.Equal(t, map[string]any{"result": compacttest.FileContent("b.go")}, results[1].FunctionResponse.Response)
	require.Empty(t, results[1].FunctionResponse.ID)
}

func TestCallsOfAnAnswerThatWasCutOffAreNotMade(t *testing.T) {
	for _, finish := range []genai.FinishReason{genai.FinishReasonMaxTokens, genai.FinishReasonSafety} {
		for _, streaming := range []bool{false, true} {
			s, _ := compacttest.InFile(t)
			m := &scripted{answer: func(int, request) (*model.LLMResponse, error) {
				answer := reads("a.go", "b.go")
				answer.FinishReason = finish
				return answer, nil
			}}
			got := finished(t, runnerOf(t, session.InMemoryService(), agentOf(t, m, readTool(t, nil)), pluginOn(t, compacttest.Offline(t, s))), streaming, question)
			require.Len(t, m.requests, 1)
			require.Contains(t, got.last(), "cut off")
			require.Equal(t, "1 users, 1 answers, 0 results, not compacted", compacttest.Counts(t, s))
		}
	}
}

func TestTheCallersPromptIsRenderedAndPruned(t *testing.T) {
	s := &history.Session{}
	compactor := compacttest.Offline(t, s)
	p, err := adkagent.New(adkagent.Options{Agent: "coder", Compactor: compactor, Prompt: elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("House rules.")}},
		elements.UserMessage{Children: elements.Nodes{&instructions.Files{FS: fstest.MapFS{"AGENTS.md": {Data: []byte("Use tabs.")}}}}},
		history.Conversation{Session: s},
		elements.UserMessage{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{elements.Text(strings.Repeat("context ", 1000))}},
		history.TurnStart{Session: s}, history.TurnRounds{Session: s},
	}})
	require.NoError(t, err)
	m := rounds(6)
	finished(t, runnerOf(t, session.InMemoryService(), agentOf(t, m, readTool(t, nil)), p), false, question)
	pruned := 0
	for _, r := range m.requests {
		require.Contains(t, r.instruction, instruction)
		require.Equal(t, 1, strings.Count(r.instruction, "House rules."))
		require.Equal(t, "<instructions path=\"AGENTS.md\">\nUse tabs.\n</instructions>", r.contents[0].Parts[0].Text)
		if !strings.Contains(asJSON(t, r.contents), "context ") {
			pruned++
		}
	}
	require.Positive(t, pruned)
	require.Contains(t, compacttest.Counts(t, s), "1 users, 7 answers, 6 results")
}

// asking returns a long-running tool whose first result is "pending".
func asking(t *testing.T) tool.Tool {
	t.Helper()
	f, err := functiontool.New(functiontool.Config{Name: "ask", Description: "Asks somebody.", IsLongRunning: true}, func(agent.Context, struct{}) (map[string]any, error) {
		return map[string]any{"status": "pending"}, nil
	})
	require.NoError(t, err)
	return f
}

func TestAnInterruptedRunIsResumedInAnotherProcess(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming %v", streaming), func(t *testing.T) {
			s, path := compacttest.InFile(t)
			before := &scripted{answer: func(n int, _ request) (*model.LLMResponse, error) {
				switch {
				case n < 12:
					return reads(fmt.Sprintf("%d.go", n)), nil
				case n == 12:
					return &model.LLMResponse{Content: said(called("", "ask", nil))}, nil
				}
				return says("I wait."), nil
			}}
			kept := session.InMemoryService() // one of adk's that keeps sessions elsewhere would be opened anew
			compactor := compacttest.Offline(t, s)
			got := finished(t, runnerOf(t, kept, agentOf(t, before, readTool(t, nil), asking(t)), pluginOn(t, compactor)), streaming, question)
			require.Equal(t, "I wait.", got.last())
			id := ""
			for _, e := range got.events {
				if len(e.LongRunningToolIDs) > 0 {
					id = e.LongRunningToolIDs[0]
				}
			}
			require.NotEmpty(t, id)
			require.NoError(t, compactor.Close())
			require.NoError(t, s.Close())

			s = sessiontest.Opened(t, path)
			after := &scripted{answer: func(_ int, r request) (*model.LLMResponse, error) {
				last := r.contents[len(r.contents)-1].Parts[0].FunctionResponse
				return says(fmt.Sprint(last.Name, " is ", last.Response["status"])), nil
			}}
			r := runnerOf(t, kept, agentOf(t, after, readTool(t, nil), asking(t)), pluginOn(t, compacttest.Offline(t, s)))
			got = send(t, r, streaming, user(returned(id, "ask", map[string]any{"status": "allowed"})))
			require.NoError(t, got.err)
			require.Equal(t, "ask is allowed", got.last())
			checkRequests(t, after.requests, question)
			require.Equal(t, "1 users, 14 answers, 13 results, compacted", compacttest.Counts(t, s))
		})
	}
}

func TestACallThatNeedsConfirmationRunsOnceConfirmed(t *testing.T) {
	s, _ := compacttest.InFile(t)
	read, err := functiontool.New(functiontool.Config{Name: "read", Description: "Reads a file.", RequireConfirmationProvider: func(a readArguments) bool { return a.Path == "secret.go" }},
		func(_ agent.Context, a readArguments) (string, error) { return compacttest.FileContent(a.Path), nil })
	require.NoError(t, err)
	m := &scripted{answer: func(n int, _ request) (*model.LLMResponse, error) {
		switch {
		case n < 12:
			return reads(fmt.Sprintf("%d.go", n)), nil
		case n == 12:
			return reads("secret.go", "open.go"), nil
		}
		return says("done"), nil
	}}
	r := runnerOf(t, session.InMemoryService(), agentOf(t, m, read), pluginOn(t, compacttest.Offline(t, s)))
	got := finished(t, r, false, question)
	id := ""
	for _, e := range got.events {
		for _, p := range e.Content.Parts {
			if p.FunctionCall != nil && p.FunctionCall.Name == toolconfirmation.FunctionCallName {
				id = p.FunctionCall.ID
			}
		}
	}
	require.NotEmpty(t, id)
	got = send(t, r, false, user(returned(id, toolconfirmation.FunctionCallName, map[string]any{"confirmed": true})))
	require.NoError(t, got.err)
	require.Equal(t, "done", got.last())
	checkRequests(t, m.requests, question)
	last := m.requests[len(m.requests)-1].contents
	results := last[len(last)-1].Parts
	require.Equal(t, map[string]any{"result": compacttest.FileContent("secret.go")}, results[0].FunctionResponse.Response)
	require.Equal(t, map[string]any{"result": compacttest.FileContent("open.go")}, results[1].FunctionResponse.Response)
	require.Equal(t, "1 users, 14 answers, 14 results, compacted", compacttest.Counts(t, s))
}

// conversationsOf returns an Options.Choose with a conversation for each agent, and a function that returns an agent's
// session.
func conversationsOf(t *testing.T) (func(agent.ReadonlyContext) (mirror.Mirrored, error), func(name string) *history.Session) {
	var mu sync.Mutex
	compactors := map[string]*summarize.Compactor{}
	of := func(name string) *summarize.Compactor {
		mu.Lock()
		defer mu.Unlock()
		if compactors[name] == nil {
			compactors[name] = compacttest.Offline(t, &history.Session{})
		}
		return compactors[name]
	}
	return func(ctx agent.ReadonlyContext) (mirror.Mirrored, error) {
			return mirror.Mirrored{Compactor: of(ctx.AgentName())}, nil
		}, func(name string) *history.Session {
			return of(name).Session
		}
}

// transfers returns an answer that transfers to another agent.
func transfers(to string) *model.LLMResponse {
	return &model.LLMResponse{Content: said(called("", "transfer_to_agent", map[string]any{"agent_name": to}))}
}

func TestATransferTargetHasItsOwnSession(t *testing.T) {
	choose, sessionOf := conversationsOf(t)
	p, err := adkagent.New(adkagent.Options{Choose: choose})
	require.NoError(t, err)
	worker := rounds(15)
	sub := agentFrom(t, llmagent.Config{Name: "worker", Model: worker, Tools: []tool.Tool{readTool(t, nil)}})
	m := &scripted{answer: func(n int, _ request) (*model.LLMResponse, error) {
		if n == 12 {
			return transfers("worker"), nil
		}
		return reads(fmt.Sprintf("o%d.go", n)), nil
	}}
	root := agentFrom(t, llmagent.Config{Model: m, Tools: []tool.Tool{readTool(t, nil)}, SubAgents: []agent.Agent{sub}})
	r := runnerOf(t, session.InMemoryService(), root, p)
	got := finished(t, r, true, question)
	require.Equal(t, "done", got.last())
	got = run(t, r, true, "And now?") // the worker answers
	require.NoError(t, got.err)
	checkRequests(t, m.requests, question)
	checkRequests(t, worker.requests, "")
	require.Equal(t, "1 users, 13 answers, 12 results, compacted", compacttest.Counts(t, sessionOf("coder")))
	require.Contains(t, compacttest.Counts(t, sessionOf("worker")), "17 answers, 15 results, compacted")
}

func TestParallelAgentsHaveTheirOwnSessions(t *testing.T) {
	choose, sessionOf := conversationsOf(t)
	p, err := adkagent.New(adkagent.Options{Choose: choose})
	require.NoError(t, err)
	var list []agent.Agent
	models := make([]*scripted, 3)
	for i := range models {
		models[i] = rounds(12)
		list = append(list, agentFrom(t, llmagent.Config{Name: fmt.Sprintf("worker%d", i), Model: models[i], Tools: []tool.Tool{readTool(t, nil)}}))
	}
	all, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "all", SubAgents: list}})
	require.NoError(t, err)
	finished(t, runnerOf(t, session.InMemoryService(), all, p), false, question)
	for i, m := range models {
		checkRequests(t, m.requests, question)
		require.Equal(t, "1 users, 13 answers, 12 results, compacted", compacttest.Counts(t, sessionOf(fmt.Sprintf("worker%d", i))))
	}
}

func TestAnAgentInALoopIsToldToContinue(t *testing.T) {
	s := &history.Session{}
	m := rounds(0)
	loop, err := loopagent.New(loopagent.Config{MaxIterations: 3, AgentConfig: agent.Config{Name: "loop", SubAgents: []agent.Agent{agentOf(t, m)}}})
	require.NoError(t, err)
	finished(t, runnerOf(t, session.InMemoryService(), loop, pluginOn(t, compacttest.Offline(t, s))), false, question)
	require.Equal(t, "1 users, 3 answers, 0 results, not compacted", compacttest.Counts(t, s))
	for _, r := range m.requests[1:] {
		last := r.contents[len(r.contents)-1]
		require.Equal(t, genai.RoleUser, last.Role)
		require.Contains(t, last.Parts[0].Text, "Continue processing")
	}
}

func TestAnAgentThatIsAToolIsLeftAlone(t *testing.T) {
	s, _ := compacttest.InFile(t)
	worker := rounds(3)
	answer := worker.answer
	worker.answer = func(n int, r request) (*model.LLMResponse, error) { return answer(n%4, r) }
	sub := agentFrom(t, llmagent.Config{Name: "worker", Model: worker, Tools: []tool.Tool{readTool(t, nil)}})
	m := &scripted{answer: func(n int, _ request) (*model.LLMResponse, error) {
		if n == 12 {
			return says("done"), nil
		}
		if n%6 == 5 {
			return &model.LLMResponse{Content: said(called("", "worker", map[string]any{"request": "work"}))}, nil
		}
		return reads(fmt.Sprintf("o%d.go", n)), nil
	}}
	finished(t, runnerOf(t, session.InMemoryService(), agentOf(t, m, readTool(t, nil), agenttool.New(sub, nil)), pluginOn(t, compacttest.Offline(t, s))), true, question)
	checkRequests(t, m.requests, question)
	require.Equal(t, "1 users, 13 answers, 12 results, compacted", compacttest.Counts(t, s))
	require.Len(t, worker.requests, 8)
}

func TestAPluginServesManyConversationsConcurrently(t *testing.T) {
	var mu sync.Mutex
	compactors := map[string]*summarize.Compactor{}
	p, err := adkagent.New(adkagent.Options{Choose: func(ctx agent.ReadonlyContext) (mirror.Mirrored, error) {
		mu.Lock()
		defer mu.Unlock()
		c := compactors[ctx.SessionID()]
		if c == nil {
			return mirror.Mirrored{}, errors.New("unknown conversation")
		}
		return mirror.Mirrored{Compactor: c}, nil
	}})
	require.NoError(t, err)
	for i := range 4 {
		compactors[fmt.Sprint(i)] = compacttest.Offline(t, &history.Session{})
	}
	m := &scripted{answer: func(_ int, r request) (*model.LLMResponse, error) {
		n := 0
		if last := r.contents[len(r.contents)-1].Parts[0]; last.FunctionResponse != nil {
			if _, err := fmt.Sscanf(last.FunctionResponse.Response["result"].(string), "content of %d.go", &n); err != nil {
				return nil, err
			}
			n++
		}
		if n == 8 {
			return says("done"), nil
		}
		return reads(fmt.Sprintf("%d.go", n)), nil
	}}
	r := runnerOf(t, session.InMemoryService(), agentOf(t, m, readTool(t, nil)), p)
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			got := follow(r.Run(t.Context(), "user", fmt.Sprint(i), genai.NewContentFromText(fmt.Sprintf("question %d", i), genai.RoleUser), agent.RunConfig{}))
			assert.NoError(t, got.err)
		})
	}
	wait.Wait()
	for i := range 4 {
		s := compactors[fmt.Sprint(i)].Session
		require.Equal(t, "1 users, 9 answers, 8 results, compacted", compacttest.Counts(t, s))
		require.Contains(t, compacttest.Text(compacttest.Said(s)), fmt.Sprintf("question %d", i))
	}
	require.ErrorContains(t, run(t, r, false, "x").err, "unknown conversation")
}

func TestInvalidOptionsAreErrors(t *testing.T) {
	c := compacttest.Offline(t, &history.Session{})
	for want, o := range map[string]adkagent.Options{
		"either Options.Compactor": {}, "set Options.Agent": {Compactor: c},
	} {
		_, err := adkagent.New(o)
		require.ErrorContains(t, err, want)
	}
}

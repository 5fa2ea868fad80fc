package einoagent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sources/instructions"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/einoagent"
	"github.com/promptree-go/promptree/summarize/mirror"
	"github.com/promptree-go/promptree/summarize/policy"
)

const question = "Why does the build fail? My name is Ada."

func TestAnAgentFinishesItsRunAcrossCompactions(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming %v", streaming), func(t *testing.T) {
			session, _ := compacttest.InFile(t)
			m := &scripted{answer: func(n int, _ request) (*schema.Message, error) {
				if n == 30 {
					return says("It is the linker."), nil
				}
				return reads(fmt.Sprintf("a%d.go", n), fmt.Sprintf("b%d.go", n)), nil
			}}
			got := finished(t, agentOf(t, compacttest.Offline(t, session), m, readTool(t, nil)), streaming, schema.UserMessage(question))
			require.Equal(t, "It is the linker.", got.last())
			require.Len(t, got.said, 31+60)
			require.Len(t, m.requests, 31)
			checkRequests(t, m.requests, question)
			require.Equal(t, "1 users, 31 answers, 60 results, compacted", compacttest.Counts(t, session))
			require.Equal(t, "read", m.requests[30].tools[0].Name)
		})
	}
}

func TestCallsOfAnAnswerThatWasCutOffAreNotMade(t *testing.T) {
	for _, finish := range []string{"length", "MAX_TOKENS", "content_filter"} {
		for _, streaming := range []bool{false, true} {
			session, _ := compacttest.InFile(t)
			m := &scripted{answer: func(int, request) (*schema.Message, error) {
				answer := reads("a.go", "b.go")
				answer.Content, answer.ResponseMeta.FinishReason = "I look.", finish
				return answer, nil
			}}
			finished(t, agentOf(t, compacttest.Offline(t, session), m, readTool(t, nil)), streaming, schema.UserMessage(question))
			require.Len(t, m.requests, 1)
			require.Equal(t, "1 users, 1 answers, 0 results, not compacted", compacttest.Counts(t, session))
			for _, m := range compacttest.Said(session) {
				require.NotEqual(t, "I look.", m.Text(), "it says that the calls were not made")
			}
		}
	}
}

// rounds returns a model that reads a file in each of n rounds and then answers.
func rounds(n int) *scripted {
	return &scripted{answer: compacttest.Reading[request](func(i int) bool { return i >= n }, reads, says)}
}

// said returns the messages of a request as text, which is the same in each process.
func said(r request) (list []string) {
	for _, m := range r.messages {
		list = append(list, m.String())
	}
	return list
}

// tools returns the tools of a request as text.
func tools(t testing.TB, r request) string {
	var list []string
	for _, info := range r.tools {
		s, err := info.ToJSONSchema()
		require.NoError(t, err)
		list = append(list, info.Name+" "+info.Desc+" "+string(sure.JSON(t, s)))
	}
	return strings.Join(list, "\n")
}

// interrupting returns a tool that reads files, and interrupts the run before it reads one of them.
func interrupting(t *testing.T, which string) tool.BaseTool {
	return readTool(t, func(ctx context.Context, path string) (string, error) {
		if path != which {
			return compacttest.FileContent(path), nil
		}
		if interrupted, _, _ := tool.GetInterruptState[any](ctx); !interrupted {
			return "", tool.Interrupt(ctx, "may I read "+path+"?")
		}
		if resumed, has, answer := tool.GetResumeContext[string](ctx); resumed && has {
			return answer + " " + compacttest.FileContent(path), nil
		}
		return "", tool.Interrupt(ctx, "may I?")
	})
}

// checkpoints keeps eino's checkpoints in memory.
type checkpoints struct{ kept map[string][]byte }

func (c *checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, ok := c.kept[id]
	return data, ok, nil
}

func (c *checkpoints) Set(_ context.Context, id string, data []byte) error {
	c.kept[id] = data
	return nil
}

func rootCause(i *adk.InterruptInfo) string {
	for _, c := range i.InterruptContexts {
		if c.IsRootCause {
			return c.ID
		}
	}
	return ""
}

func TestAnInterruptedRunIsResumedInAnotherProcess(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming %v", streaming), func(t *testing.T) {
			session, path := compacttest.InFile(t)
			answer := func(n int, _ request) (*schema.Message, error) {
				if n == 20 {
					return says("done"), nil
				}
				return reads(fmt.Sprintf("a%d.go", n), fmt.Sprintf("b%d.go", n)), nil
			}
			before := &scripted{answer: answer}
			store := &checkpoints{map[string][]byte{}}
			compactor := compacttest.Offline(t, session)
			runner := adk.NewRunner(t.Context(), adk.RunnerConfig{
				Agent: agentOf(t, compactor, before, interrupting(t, "b9.go")), EnableStreaming: streaming, CheckPointStore: store,
			})
			got := follow(runner.Query(t.Context(), question, adk.WithCheckPointID("1")))
			require.NoError(t, got.err)
			require.NotNil(t, got.interrupt)
			require.Equal(t, "1 users, 10 answers, 18 results, compacted", compacttest.Counts(t, session))
			checkpoint := store.kept["1"]
			require.NoError(t, compactor.Close())
			require.NoError(t, session.Close())

			resume := func() (*history.Session, *scripted, end) {
				session := sessiontest.Opened(t, path)
				n := len(before.requests)
				after := &scripted{answer: func(i int, r request) (*schema.Message, error) { return answer(i+n, r) }}
				runner := adk.NewRunner(t.Context(), adk.RunnerConfig{
					Agent: agentOf(t, compacttest.Offline(t, session), after, interrupting(t, "b9.go")), EnableStreaming: streaming, CheckPointStore: store,
				})
				events, err := runner.ResumeWithParams(t.Context(), "1", &adk.ResumeParams{Targets: map[string]any{rootCause(got.interrupt): "yes"}})
				require.NoError(t, err)
				return session, after, follow(events)
			}
			session, after, end := resume()
			require.NoError(t, end.err)
			require.Equal(t, "done", end.last())
			require.Equal(t, "1 users, 21 answers, 40 results, compacted", compacttest.Counts(t, session))
			require.Equal(t, 62, len(compacttest.Said(session)))
			checkRequests(t, after.requests, question)
			require.NoError(t, session.Close())

			// The same checkpoint once more: the first continuation becomes another branch, and earlier messages are
			// not repeated.
			store.kept["1"] = checkpoint
			session, after, end = resume()
			require.NoError(t, end.err)
			require.Equal(t, "1 users, 21 answers, 40 results, compacted", compacttest.Counts(t, session))
			checkRequests(t, after.requests, question)
		})
	}
}

func TestARequestRefusedAsTooLargeIsRetriedSmaller(t *testing.T) {
	refusal := errors.New("error, status code: 400, message: This model's maximum context length is 2500 tokens. However, your messages resulted in 3600 tokens.")
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming %v", streaming), func(t *testing.T) {
			session, _ := compacttest.InFile(t)
			m := rounds(12)
			answer, refused := m.answer, 0
			m.answer = func(n int, r request) (*schema.Message, error) {
				tokens := 0
				for _, e := range r.messages {
					tokens += compacttest.Estimator.CountMessage(fromEino(t, e))
				}
				if tokens > 2500 {
					refused++
					return nil, refusal
				}
				return answer(n-refused, r)
			}
			compactor := compacttest.Offline(t, session)
			compactor.Policy = copilotcli.Policy()
			got := finished(t, agentOf(t, compactor, m, readTool(t, nil)), streaming, schema.UserMessage(question))
			require.Equal(t, "done", got.last())
			require.Positive(t, refused)
			require.Equal(t, "1 users, 13 answers, 12 results, compacted", compacttest.Counts(t, session))
			checkRequests(t, m.requests, question)
		})
	}
}

func TestSummariesAreAskedOfTheAgentsOwnModel(t *testing.T) {
	session, _ := compacttest.InFile(t)
	m := rounds(20)
	answer, summaries, forks := m.answer, 0, 0
	m.answer = func(n int, r request) (*schema.Message, error) {
		if last := r.messages[len(r.messages)-1]; last.Role == schema.User && last.Content != question {
			summaries++
			if slices.ContainsFunc(m.requests[:n], func(before request) bool {
				return len(before.messages) < len(r.messages) && tools(t, before) == tools(t, r) &&
					slices.Equal(said(before), said(r)[:len(before.messages)])
			}) {
				forks++
			}
			return says("<analysis>\nall\n</analysis>\n<summary>\nAda's build fails, and nobody knows why.\n</summary>"), nil
		}
		return answer(n-summaries, r)
	}
	compactor := compacttest.Offline(t, session)
	compactor.Target.Model = einoagent.Model(m)
	got := finished(t, agentOf(t, compactor, m, readTool(t, nil)), true, schema.UserMessage(question))
	require.Equal(t, "done", got.last())
	require.Positive(t, summaries)
	require.Positive(t, forks, "a request for a summary in the background continues a request of the agent, which the provider has cached")
	require.Equal(t, "1 users, 21 answers, 20 results, compacted", compacttest.Counts(t, session))
}

func TestACallWithoutAResultIsAnsweredByANote(t *testing.T) {
	session := &history.Session{}
	broken := errors.New("disk on fire")
	m := rounds(1)
	got := run(t, agentOf(t, compacttest.Offline(t, session), m, readTool(t, func(context.Context, string) (string, error) { return "", broken })), false, schema.UserMessage(question))
	require.ErrorIs(t, got.err, broken)
	got = finished(t, agentOf(t, compacttest.Offline(t, session), m, readTool(t, nil)), false, schema.UserMessage("and now?"))
	require.Contains(t, m.requests[1].messages[3].Content, "interrupted")
	checkRequests(t, m.requests, "")
}

func TestAResultThatIsReturnedDirectlyIsRecorded(t *testing.T) {
	session := &history.Session{}
	config := &adk.ChatModelAgentConfig{Name: "a", Model: rounds(1), Handlers: []adk.ChatModelAgentMiddleware{middlewareOn(t, compacttest.Offline(t, session))}}
	config.ToolsConfig.ReturnDirectly = map[string]bool{"read": true}
	finished(t, agentFrom(t, config, readTool(t, nil)), false, schema.UserMessage(question))
	require.Equal(t, "1 users, 1 answers, 1 results, not compacted", compacttest.Counts(t, session))
}

// reminding is a handler that adds a system message before each request.
type reminding struct {
	*adk.BaseChatModelAgentMiddleware
}

func (reminding) BeforeModelRewriteState(ctx context.Context, s *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	next := *s
	next.Messages = append(slices.Clone(s.Messages), schema.SystemMessage(fmt.Sprintf("reminder %d", len(s.Messages))))
	return ctx, &next, nil
}

func TestSystemMessagesOfOtherHandlersAreRecordedInPlace(t *testing.T) {
	session := &history.Session{}
	m := rounds(3)
	a := agentWith(t, "a", m, []tool.BaseTool{readTool(t, nil)}, reminding{}, middlewareOn(t, compacttest.Offline(t, session)))
	finished(t, a, false, schema.UserMessage(question))
	checkRequests(t, m.requests, "reminder")
	require.Equal(t, said(m.requests[2]), said(m.requests[3])[:len(m.requests[2].messages)], "the prefix is unchanged")
}

func TestAMiddlewareServesManyConversationsConcurrently(t *testing.T) {
	type key struct{}
	sessions := make([]*history.Session, 4)
	compactors := make([]*summarize.Compactor, len(sessions))
	for i := range sessions {
		sessions[i], _ = compacttest.InFile(t)
		compactors[i] = compacttest.Offline(t, sessions[i])
	}
	middleware, err := einoagent.New(einoagent.Options{Choose: func(ctx context.Context) (mirror.Mirrored, error) {
		i, ok := ctx.Value(key{}).(int)
		if !ok {
			return mirror.Mirrored{}, errors.New("unknown conversation")
		}
		return mirror.Mirrored{Compactor: compactors[i]}, nil
	}})
	require.NoError(t, err)
	m := &scripted{answer: func(_ int, r request) (*schema.Message, error) {
		last := r.messages[len(r.messages)-1]
		if last.Role == schema.User {
			return reads("1.go"), nil
		}
		var n int
		if _, err := fmt.Sscanf(last.ToolCallID, "call_%d.go", &n); err != nil {
			return nil, err
		}
		if n == 8 {
			return says("done"), nil
		}
		return reads(fmt.Sprintf("%d.go", n+1)), nil
	}}
	agent := func() adk.Agent { // one each, because an agent of eino makes one run at a time
		return agentWith(t, "a", m, []tool.BaseTool{readTool(t, nil)}, middleware)
	}
	var wait sync.WaitGroup
	for i := range sessions {
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent()})
		wait.Go(func() {
			got := follow(runner.Query(context.WithValue(t.Context(), key{}, i), fmt.Sprintf("question %d", i)))
			assert.NoError(t, got.err)
		})
	}
	wait.Wait()
	for i, s := range sessions {
		require.Equal(t, "1 users, 9 answers, 8 results, compacted", compacttest.Counts(t, s))
		require.Contains(t, compacttest.PathWords(t, s), fmt.Sprintf("question %d", i))
	}
	require.ErrorContains(t, run(t, agent(), false, schema.UserMessage("x")).err, "unknown conversation")
}

func TestSubAgentsHaveTheirOwnSessions(t *testing.T) {
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprintf("with the whole history %v", whole), func(t *testing.T) {
			outer, _ := compacttest.InFile(t)
			inner, _ := compacttest.InFile(t)
			worker := rounds(10)
			answer := worker.answer
			worker.answer = func(n int, r request) (*schema.Message, error) { return answer(n%11, r) }
			var options []adk.AgentToolOption
			if whole {
				options = append(options, adk.WithFullChatHistoryAsInput())
			}
			a := agentWith(t, "worker", worker, []tool.BaseTool{readTool(t, nil)}, middlewareOn(t, compacttest.Offline(t, inner)))
			m := &scripted{answer: func(n int, _ request) (*schema.Message, error) {
				if n == 12 {
					return says("done"), nil
				}
				if n%6 == 5 {
					return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{{
						ID: fmt.Sprintf("call_%d", n), Function: schema.FunctionCall{Name: "worker", Arguments: fmt.Sprintf(`{"request":"task %d"}`, n)},
					}}}, nil
				}
				return reads(fmt.Sprintf("o%d.go", n)), nil
			}}
			got := finished(t, agentOf(t, compacttest.Offline(t, outer), m, readTool(t, nil), adk.NewAgentTool(t.Context(), a, options...)), true, schema.UserMessage(question))
			require.Equal(t, "done", got.last())
			require.Equal(t, "1 users, 13 answers, 12 results, compacted", compacttest.Counts(t, outer))
			checkRequests(t, m.requests, question)
			checkRequests(t, worker.requests, "")
			require.Len(t, worker.requests, 22)
			require.Contains(t, compacttest.Counts(t, inner), "20 results, compacted")
		})
	}
}

func TestATransferTargetHasItsOwnSession(t *testing.T) {
	outer, _ := compacttest.InFile(t)
	inner, _ := compacttest.InFile(t)
	worker := rounds(10)
	transfer := &scripted{answer: func(n int, _ request) (*schema.Message, error) {
		return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{{
			ID: "call_t", Function: schema.FunctionCall{Name: adk.TransferToAgentToolName, Arguments: `{"agent_name":"worker"}`},
		}}}, nil
	}}
	sub := agentWith(t, "worker", worker, []tool.BaseTool{readTool(t, nil)}, middlewareOn(t, compacttest.Offline(t, inner)))
	both, err := adk.SetSubAgents(t.Context(), agentOf(t, compacttest.Offline(t, outer), transfer), []adk.Agent{sub})
	require.NoError(t, err)
	require.Equal(t, "done", finished(t, both, false, schema.UserMessage(question)).last())
	require.Equal(t, "1 users, 1 answers, 1 results, not compacted", compacttest.Counts(t, outer))
	require.Contains(t, compacttest.Counts(t, inner), "11 answers, 10 results, compacted")
}

func TestInvalidOptionsAreErrors(t *testing.T) {
	_, err := einoagent.New(einoagent.Options{})
	require.ErrorContains(t, err, "Options.Choose")
	middleware, err := einoagent.New(einoagent.Options{Compactor: &summarize.Compactor{}})
	require.NoError(t, err)
	_, _, err = middleware.BeforeModelRewriteState(t.Context(), &adk.ChatModelAgentState{}, nil)
	require.ErrorContains(t, err, "Compactor.Session")
}

func TestARequestThatEinoRetriesIsRecordedOnce(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		session := &history.Session{}
		m := rounds(2)
		answer, failed := m.answer, 0
		m.answer = func(n int, r request) (*schema.Message, error) {
			if n%2 == 0 {
				failed++
				return nil, errors.New("overloaded")
			}
			return answer(n-failed, r)
		}
		config := &adk.ChatModelAgentConfig{
			Name: "a", Model: m, Handlers: []adk.ChatModelAgentMiddleware{middlewareOn(t, compacttest.Offline(t, session))},
			ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 2, BackoffFunc: func(context.Context, int) time.Duration { return 0 }},
		}
		finished(t, agentFrom(t, config, readTool(t, nil)), streaming, schema.UserMessage(question))
		require.Equal(t, "1 users, 3 answers, 2 results, not compacted", compacttest.Counts(t, session))
	}
}

func TestASubAgentWithTheSameMiddlewareStaysOutOfTheConversation(t *testing.T) {
	session, _ := compacttest.InFile(t)
	middleware := middlewareOn(t, compacttest.Offline(t, session))
	worker := &scripted{answer: func(_ int, r request) (*schema.Message, error) {
		last := r.messages[len(r.messages)-1]
		if last.Role != schema.Tool {
			return reads("0.go"), nil
		}
		var n int
		if _, err := fmt.Sscanf(last.ToolCallID, "call_%d.go", &n); err != nil || n == 9 {
			return says("worked"), err
		}
		return reads(fmt.Sprintf("%d.go", n+1)), nil
	}}
	sub := func(name string) tool.BaseTool { // one each, because an agent of eino makes one run at a time
		return adk.NewAgentTool(t.Context(), agentWith(t, name, worker, []tool.BaseTool{readTool(t, nil)}, middleware))
	}
	m := &scripted{answer: func(n int, _ request) (*schema.Message, error) {
		switch n {
		case 10:
			return says("done"), nil
		case 3:
			m := &schema.Message{Role: schema.Assistant}
			for _, name := range []string{"one", "other"} { // at once
				m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: "call_" + name, Function: schema.FunctionCall{Name: name, Arguments: `{"request":"work"}`}})
			}
			return m, nil
		}
		return reads(fmt.Sprintf("o%d.go", n)), nil
	}}
	got := finished(t, agentWith(t, "coder", m, []tool.BaseTool{readTool(t, nil), sub("one"), sub("other")}, middleware), false, schema.UserMessage(question))
	require.Equal(t, "done", got.last())
	require.Contains(t, compacttest.PathWords(t, session), "worked worked")
	require.Equal(t, "1 users, 11 answers, 11 results, compacted", compacttest.Counts(t, session))
	require.Equal(t, 23, len(compacttest.Said(session)))
	checkRequests(t, m.requests, question)
	require.Len(t, worker.requests, 22)
	checkRequests(t, worker.requests, "work")
}

func TestThePromptsOwnMessagesAppearOnceAndArePrunedFirst(t *testing.T) {
	session, _ := compacttest.InFile(t)
	compactor := compacttest.Offline(t, session)
	compactor.Policy.Trigger = policy.Trigger{{On: policy.OnBudgetExceeded}}
	middleware, err := einoagent.New(einoagent.Options{Compactor: compactor, Prompt: elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("House rules.")}},
		elements.UserMessage{Children: elements.Nodes{&instructions.Files{FS: fstest.MapFS{"AGENTS.md": {Data: []byte("Use tabs.")}}}}},
		history.Conversation{Session: session},
		elements.UserMessage{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{elements.Text("context " + compacttest.FileContent("c"))}},
		history.TurnStart{Session: session}, history.TurnRounds{Session: session},
	}})
	require.NoError(t, err)
	m := rounds(6)
	finished(t, agentWith(t, "a", m, []tool.BaseTool{readTool(t, nil)}, middleware), false, schema.UserMessage(question))
	pruned := 0
	for _, r := range m.requests {
		require.Equal(t, instruction, r.messages[0].Content)
		require.Equal(t, "House rules.", r.messages[1].Content)
		text := strings.Join(said(r), "\n")
		require.Equal(t, 1, strings.Count(text, instruction))
		require.Equal(t, 1, strings.Count(text, "House rules."))
		require.Equal(t, 1, strings.Count(text, "<instructions path=\"AGENTS.md\">\nUse tabs.\n</instructions>"))
		if !strings.Contains(text, "context ") {
			pruned++
		}
	}
	require.Positive(t, pruned)
	require.Equal(t, "1 users, 7 answers, 6 results, not compacted", compacttest.Counts(t, session))
}

func TestAnInterruptInASubAgentWithTheSameMiddlewareIsResumed(t *testing.T) {
	session, path := compacttest.InFile(t)
	store := &checkpoints{map[string][]byte{}}
	runner := func(s *history.Session) *adk.Runner {
		middleware := middlewareOn(t, compacttest.Offline(t, s))
		worker := &scripted{answer: func(_ int, r request) (*schema.Message, error) {
			if last := r.messages[len(r.messages)-1]; last.Role == schema.Tool {
				return says("worked: " + last.Content[:10]), nil
			}
			return reads("b9.go"), nil
		}}
		sub := agentWith(t, "worker", worker, []tool.BaseTool{interrupting(t, "b9.go")}, middleware)
		m := &scripted{answer: func(_ int, r request) (*schema.Message, error) {
			switch last := r.messages[len(r.messages)-1]; {
			case last.Role == schema.User:
				return reads("a.go"), nil
			case last.ToolName == "read":
				return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{{
					ID: "call_w", Function: schema.FunctionCall{Name: "worker", Arguments: `{"request":"work"}`},
				}}}, nil
			default:
				return says("done, " + last.Content), nil
			}
		}}
		a := agentWith(t, "coder", m, []tool.BaseTool{readTool(t, nil), adk.NewAgentTool(t.Context(), sub)}, middleware)
		return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: a, CheckPointStore: store})
	}
	got := follow(runner(session).Query(t.Context(), question, adk.WithCheckPointID("1")))
	require.NoError(t, got.err)
	require.NotNil(t, got.interrupt)
	require.NoError(t, session.Close())

	session = sessiontest.Opened(t, path)
	events, err := runner(session).ResumeWithParams(t.Context(), "1", &adk.ResumeParams{Targets: map[string]any{rootCause(got.interrupt): "yes"}})
	require.NoError(t, err)
	end := follow(events)
	require.NoError(t, end.err)
	require.Equal(t, "done, worked: yes conten", end.last())
	require.Equal(t, "1 users, 3 answers, 2 results, not compacted", compacttest.Counts(t, session))
}

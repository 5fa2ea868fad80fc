package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/apitest"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

// serve starts a server, and returns eino's model for it.
func serve(t *testing.T, answer func(a apitest.Asked) apitest.Answer) (*apitest.Server, *openai.ChatModel) {
	t.Helper()
	s := apitest.Serve(t, apitest.ChatCompletions{}, answer)
	s.Window, s.Rule = 9_000, apitest.Unmarked
	model, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{APIKey: apitest.Key, BaseURL: s.URL, Model: "gpt-4o"})
	require.NoError(t, err)
	return s, model
}

// handlers returns the middleware with a new session.
func handlers(t *testing.T, model *openai.ChatModel) (*history.Session, []adk.ChatModelAgentMiddleware) {
	t.Helper()
	tokenizer, err := tiktoken.ForModel("gpt-4o")
	require.NoError(t, err)
	session := &history.Session{}
	compactor := &summarize.Compactor{
		Session: session, Policy: copilotcli.Policy(),
		Target: summarize.Target{Model: einoagent.Model(model), Name: "gpt-4o", Tokenizer: tokenizer, ContextWindow: 8000, Budget: 7000},
	}
	t.Cleanup(func() { require.NoError(t, compactor.Close()) })
	middleware, err := einoagent.New(einoagent.Options{Compactor: compactor})
	require.NoError(t, err)
	return session, []adk.ChatModelAgentMiddleware{middleware}
}

func config(t *testing.T) adk.ToolsConfig {
	t.Helper()
	own, err := folderagent.NewTools(apitest.Files(t, 60), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	c := &summarize.Compactor{Session: &history.Session{}}
	tools, err := einoagent.Tools(einoagent.Options{Compactor: c, Tools: own.Toolboxes()})
	require.NoError(t, err)
	var config adk.ToolsConfig
	config.Tools = tools
	return config
}

// ends has an agent answer, streamed, and returns its output.
func ends(t *testing.T, agent adk.Agent, question string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, print(adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: true}).Query(t.Context(), question), &out))
	return out.String()
}

// count returns the number of messages and compactions in a session.
func count(s *history.Session) (roles map[chat.Role]int, compactions int) {
	roles = map[chat.Role]int{}
	for _, m := range compacttest.Said(s) {
		roles[m.Role]++
	}
	return roles, len(compacttest.Compactions(s))
}

func TestADeepAgentFinishes(t *testing.T) {
	outer, inner := 0, 0
	s, model := serve(t, func(a apitest.Asked) apitest.Answer {
		if !slices.ContainsFunc(a.Tools, func(t apitest.Tool) bool { return t.Name == "task" }) {
			if inner++; inner%13 == 0 {
				return apitest.Answer{Text: "I have looked closely."}
			}
			return apitest.Answer{Calls: []apitest.Call{apitest.Read(fmt.Sprint("in_", inner), inner)}}
		}
		switch outer++; outer {
		case 2:
			return apitest.Answer{Calls: []apitest.Call{{ID: "todos", Name: "write_todos", Arguments: `{"todos":[{"content":"look","activeForm":"looking","status":"pending"}]}`}}}
		case 5, 12:
			return apitest.Answer{Calls: []apitest.Call{{ID: fmt.Sprint("task_", outer), Name: "task", Arguments: `{"subagent_type":"general-purpose","description":"look closely"}`}}}
		case 20:
			return apitest.Answer{Text: "The password is 42."}
		}
		return apitest.Answer{Text: "I look.", Calls: []apitest.Call{apitest.Read(fmt.Sprint("out_", outer), outer)}}
	})
	session, middlewares := handlers(t, model)
	agent, err := deep.New(t.Context(), &deep.Config{
		Name: "deep", Description: "works", Instruction: "You find passwords.", ChatModel: model, ToolsConfig: config(t), MaxIteration: 100, Handlers: middlewares,
	})
	require.NoError(t, err)
	require.Contains(t, ends(t, agent, "Where is the password?"), "The password is 42.")
	require.Empty(t, s.Broken)
	require.Equal(t, 26, inner)
	roles, compactions := count(session)
	require.Equal(t, map[chat.Role]int{chat.RoleUser: 1, chat.RoleAssistant: 20, chat.RoleTool: 19}, roles)
	require.Positive(t, compactions)
}

func TestASupervisorFinishes(t *testing.T) {
	const instruction = "You supervise."
	led, worked := 0, 0
	s, model := serve(t, func(a apitest.Asked) apitest.Answer {
		if strings.HasPrefix(a.System, instruction) {
			if led++; led%2 == 0 {
				return apitest.Answer{Text: "The password is 42."}
			}
			return apitest.Answer{Calls: []apitest.Call{{ID: fmt.Sprint("transfer_", led), Name: adk.TransferToAgentToolName, Arguments: `{"agent_name":"worker"}`}}}
		}
		if worked++; worked%18 == 0 {
			return apitest.Answer{Text: "I have looked."}
		}
		return apitest.Answer{Text: "I look.", Calls: []apitest.Call{apitest.Read(fmt.Sprint("work_", worked), worked)}}
	})
	leading, lead := handlers(t, model)
	working, work := handlers(t, model)
	boss, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "boss", Description: "supervises", Instruction: instruction, Model: model, Handlers: lead,
	})
	require.NoError(t, err)
	worker, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "worker", Description: "works", Instruction: "You work.", Model: model, Handlers: work, ToolsConfig: config(t), MaxIterations: 100,
	})
	require.NoError(t, err)
	agent, err := supervisor.New(t.Context(), &supervisor.Config{Supervisor: boss, SubAgents: []adk.Agent{worker}})
	require.NoError(t, err)
	require.Contains(t, ends(t, agent, "Where is the password?"), "The password is 42.")
	require.Empty(t, s.Broken)
	roles, _ := count(leading)
	require.Equal(t, 2, roles[chat.RoleAssistant])
	roles, compactions := count(working)
	require.Equal(t, 18, roles[chat.RoleAssistant])
	require.Equal(t, 17, roles[chat.RoleTool])
	require.Positive(t, compactions)
}

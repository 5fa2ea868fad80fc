package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
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
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

// serve starts a server, and returns eino's model for it.
func serve(t *testing.T, mind func(b body) (string, []call)) (*server, *openai.ChatModel) {
	t.Helper()
	s := &server{window: 15_000, mind: mind}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	model, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{APIKey: "any", BaseURL: s.URL + "/v1", Model: "gpt-4o"})
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
	own, err := folderagent.NewTools(files(t, 60), "")
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
func count(t *testing.T, s *history.Session) (roles map[chat.Role]int, compactions int) {
	t.Helper()
	roles = map[chat.Role]int{}
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		if e.Type() == entry.TypeMessage {
			roles[e.Message().Role]++
		}
		if e.Type() == entry.TypeCompaction {
			compactions++
		}
	}
	return roles, compactions
}

// says reports whether a message of the user contains a text.
func (b body) says(text string) bool {
	for _, m := range b.Messages {
		if m.Role == "user" && m.text() == text {
			return true
		}
	}
	return false
}

func TestADeepAgentFinishes(t *testing.T) {
	const task = "look closely"
	outer, inner := 0, 0
	s, model := serve(t, func(b body) (string, []call) {
		if b.says(task) {
			if inner++; inner%13 == 0 {
				return "I have looked closely.", nil
			}
			return "", []call{calls(0, fmt.Sprint("in_", inner), "read_file", fmt.Sprintf(`{"path":"f%d.txt"}`, inner))}
		}
		switch outer++; outer {
		case 2:
			return "", []call{calls(0, "todos", "write_todos", `{"todos":[{"content":"look","activeForm":"looking","status":"pending"}]}`)}
		case 5, 12:
			return "", []call{calls(0, fmt.Sprint("task_", outer), "task", fmt.Sprintf(`{"subagent_type":"general-purpose","description":%q}`, task))}
		case 20:
			return "The password is 42.", nil
		}
		return "I look.", []call{calls(0, fmt.Sprint("out_", outer), "read_file", fmt.Sprintf(`{"path":"f%d.txt"}`, outer))}
	})
	session, middlewares := handlers(t, model)
	agent, err := deep.New(t.Context(), &deep.Config{
		Name: "deep", Description: "works", Instruction: "You find passwords.", ChatModel: model, ToolsConfig: config(t), MaxIteration: 100, Handlers: middlewares,
	})
	require.NoError(t, err)
	require.Contains(t, ends(t, agent, "Where is the password?"), "The password is 42.")
	require.Empty(t, s.broken)
	require.Equal(t, 26, inner)
	roles, compactions := count(t, session)
	require.Equal(t, map[chat.Role]int{chat.RoleUser: 1, chat.RoleAssistant: 20, chat.RoleTool: 19}, roles)
	require.Positive(t, compactions)
}

func TestASupervisorFinishes(t *testing.T) {
	const instruction = "You supervise."
	led, worked := 0, 0
	s, model := serve(t, func(b body) (string, []call) {
		if strings.HasPrefix(b.Messages[0].text(), instruction) {
			if led++; led%2 == 0 {
				return "The password is 42.", nil
			}
			return "", []call{calls(0, fmt.Sprint("transfer_", led), adk.TransferToAgentToolName, `{"agent_name":"worker"}`)}
		}
		if worked++; worked%18 == 0 {
			return "I have looked.", nil
		}
		return "I look.", []call{calls(0, fmt.Sprint("work_", worked), "read_file", fmt.Sprintf(`{"path":"f%d.txt"}`, worked))}
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
	require.Empty(t, s.broken)
	roles, _ := count(t, leading)
	require.Equal(t, 2, roles[chat.RoleAssistant])
	roles, compactions := count(t, working)
	require.Equal(t, 18, roles[chat.RoleAssistant])
	require.Equal(t, 17, roles[chat.RoleTool])
	require.Positive(t, compactions)
}

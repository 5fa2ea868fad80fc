package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/sources/mcp"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// A model works 200 steps with three servers in a window of 32,000 tokens, through compactions, restarts and the death of
// a server. What it has found stays callable and in sight, every request fits, and a server costs no more than its calls.
func TestServersLiveThroughCompactionsRestartsAndDeaths(t *testing.T) {
	t.Parallel()
	var dead atomic.Bool
	kinds := []string{"files", "mail", "maps"}
	transport := func(kind string) func() (sdk.Transport, error) {
		connect := serve(func(s *sdk.Server) {
			for i := range 100 {
				s.AddTool(&sdk.Tool{Name: fmt.Sprintf("do%d", i), Description: fmt.Sprintf("Does %s thing number%d. %s", kind, i, strings.Repeat("It helps. ", 20)), InputSchema: anything}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					return &sdk.CallToolResult{Content: []sdk.Content{
						&sdk.TextContent{Text: fmt.Sprintf("%s did %d. ", kind, i) + strings.Repeat("Much output. ", 30*i)},
						&sdk.ResourceLink{URI: fmt.Sprint("x:/", i), Name: "more"},
					}}, nil
				})
			}
			s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "any", URITemplate: "x:/{id}"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: strings.Repeat("a line\n", 5000)}}}, nil
			})
		})
		return func() (sdk.Transport, error) {
			if kind == "mail" && dead.Load() {
				return nil, errors.New("connection refused")
			}
			return connect()
		}
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	var session *history.Session
	var servers mcp.Servers
	var more *tools.Deferred
	var c *summarize.Compactor
	begin := func() {
		session = sessiontest.Open(t, path, history.Options{})
		servers = nil
		for _, kind := range kinds {
			servers = append(servers, &mcp.Server{Name: kind, Transport: transport(kind)})
		}
		more = &tools.Deferred{Session: session, Toolboxes: servers.Toolboxes()}
		c = &summarize.Compactor{Session: session, Policy: copilotcli.Policy(), Target: policy.Target{
			Model: &models.Offline{Tokenizer: sizingtest.Quarter{}}, Name: "m", Tokenizer: sizingtest.Quarter{}, Budget: 26_000, ContextWindow: 32_000,
		}}
	}
	end := func() {
		servers.Close()
		require.NoError(t, c.Close())
		require.NoError(t, session.Close())
	}
	begin()
	defer func() { end() }()
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("Begin.")))
	var declared []chat.Tool
	failures := map[string]int{}
	for step := range 200 {
		if step%50 == 49 {
			end()
			begin()
		}
		dead.Store(step >= 60 && step < 90)
		if step == 60 {
			servers[1].Close() // and what is found of it is not lost
			servers[1] = &mcp.Server{Name: "mail", Transport: transport("mail")}
			more.Toolboxes = servers.Toolboxes()
		}
		tools1, err := more.DeclaredFor(t.Context(), elements.Sizing{PromptBudget: 26_000, Tokenizer: sizingtest.Quarter{}})
		require.NoError(t, err)
		if step%50 != 49 && step > 0 && step != 60 {
			require.Equal(t, declared, tools1, "what is declared stays")
		}
		declared = tools1
		result, err := c.Render(t.Context(), el.Prompt(
			el.System(el.Text("You are an agent.")),
			el.Each(declared, func(t chat.Tool) el.Node { return el.Tool(t, el.Required) }),
			history.Compacted{Session: session}, tools.Found{Deferred: more},
			history.Conversation{Session: session, TurnsOnly: true}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
		))
		require.NoError(t, err)
		require.LessOrEqual(t, result.Tokens, 26_000)
		kind, n := kinds[step/4%3], step/4%20
		call := chat.ToolCall{ID: fmt.Sprint("c", step), Name: tools.CallTool}
		want := ""
		switch step % 4 {
		case 0:
			call.Name, call.Arguments, want = tools.SearchTool, fmt.Sprintf(`{"query":"%s thing number%d","limit":1}`, kind, n), kind+"__do"
		case 1:
			call.Arguments, want = fmt.Sprintf(`{"name":"%s__do%d","arguments":{}}`, kind, n), fmt.Sprintf("%s did %d.", kind, n)
		case 2:
			call.Arguments, want = fmt.Sprintf(`{"name":"%s__read_resource","arguments":{"uri":"x:/1"}}`, kind), kind+`__read_resource {"uri":"x:/1","from":20000}`
		case 3: // what the first step found
			call.Arguments, want = `{"name":"files__do0","arguments":{}}`, "files did 0."
			text := ""
			for _, m := range result.Messages {
				text += m.Text()
			}
			require.Contains(t, text, `<tool-definition name="files__do0">`, "step %d", step)
		}
		answer, ok, err := more.Answer(t.Context(), call)
		require.True(t, ok)
		if err != nil {
			failures[kind]++
			require.True(t, dead.Load() && kind == "mail", "%v", err)
			require.ErrorContains(t, err, "mail: cannot be reached: connection refused")
			answer = chat.FailedResult(call.ID, err.Error())
		} else if !dead.Load() || kind != "mail" {
			require.Contains(t, answer.Text(), want)
		}
		require.NoError(t, session.Append(t.Context(), chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}, answer))
	}
	require.NotZero(t, failures["mail"])
	require.Greater(t, len(compacttest.Compactions(session)), 2)
}

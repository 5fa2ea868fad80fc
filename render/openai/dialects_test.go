package openai_test

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Every call is run once with its own arguments, and the server gets back what it wants, also from a session that was
// closed and opened again in the middle of a turn.
func TestAnAgentOf40StepsGoesOnWithEachDialect(t *testing.T) {
	t.Parallel()
	const steps = 40
	names := [...]string{"look", "look_up"}
	answer := func(n int) providertest.Said {
		s := providertest.Said{Thought: fmt.Sprintf("I am at %d.", n), Text: fmt.Sprintf("Step %d.", n), Usage: chat.Usage{Input: 100 + n, Output: 7, CacheRead: 50 + n}}
		if n < steps-1 {
			for k := range n % 4 { // from none to three
				s.Calls = append(s.Calls, chat.ToolCall{ID: fmt.Sprintf("call_%d_%d", n, k), Name: names[(n+k)%2], Arguments: fmt.Sprintf(`{"at":"%d/%d","of":{"x":[%d]}}`, n, k, k)})
			}
		}
		return s
	}
	wanted := map[string]int{}
	for n := range steps {
		for _, c := range answer(n).Calls {
			wanted[c.Name+c.Arguments]++
		}
	}
	for _, d := range providertest.Dialects() {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s streamed %t", d.Name, streamed), func(t *testing.T) {
				asked := 0
				s := d.Serve(t, func(n int) providertest.Said { asked++; return answer(n) })
				name := d.Model
				if name == "" {
					name = "local"
				}
				m := &openai.Model{Client: sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("none")), Name: name}
				var mu sync.Mutex
				ran := map[string]int{}
				var tools []chat.Toolbox
				for _, name := range names {
					tool, err := agent.Tool(name, "Looks.", func(_ context.Context, in struct {
						At string `json:"at"`
						Of struct {
							X []int `json:"x"`
						} `json:"of"`
					}) (string, error) {
						mu.Lock()
						defer mu.Unlock()
						ran[name+fmt.Sprintf(`{"at":%q,"of":{"x":%v}}`, in.At, in.Of.X)]++
						return "seen " + in.At, nil
					})
					require.NoError(t, err)
					tools = append(tools, tool)
				}
				path := filepath.Join(t.TempDir(), "session.jsonl")
				for asked < steps {
					session := sessiontest.Open(t, path, history.Options{})
					worker := &agent.Agent{
						Compactor: &summarize.Compactor{Session: session, Policy: policy.Policy{}, Target: policy.Target{Model: m, Tokenizer: sizing.Estimator{}, Budget: 100_000}},
						Tools:     tools,
					}
					heard, hear := providertest.Listen(t)
					if streamed {
						worker.Stream = hear
					}
					worker.OnStep = func(_ context.Context, a agent.Answer) error {
						want := answer(asked - 1)
						require.Equal(t, want.Text, a.Message().Text())
						require.Equal(t, want.Usage, a.Response.Usage)
						require.Len(t, a.Message().ToolCalls, len(want.Calls))
						if d.Thought != "" {
							require.Equal(t, want.Thought, thoughtOf(a.Message()))
						}
						if streamed {
							heard.RequireWhole(t, a.Response)
							heard, hear = providertest.Listen(t)
							worker.Stream = hear
						}
						if asked%10 == 5 {
							return errKilled
						}
						return nil
					}
					last, err := session.Entry(t.Context(), session.Leaf())
					text := question.Text()
					if m, is := last.Body.(entry.Message); err == nil && is && m.Role == chat.RoleTool {
						text = "" // goes on in the turn
					}
					if _, err = worker.Run(t.Context(), text); err != nil {
						require.ErrorIs(t, err, errKilled)
					}
					require.NoError(t, worker.Compactor.Close())
					require.NoError(t, session.Close())
				}
				require.Equal(t, wanted, ran)
			})
		}
	}
}

var errKilled = fmt.Errorf("the process ends here")

func thoughtOf(m chat.Message) string {
	for _, p := range m.Content {
		if t, ok := p.(chat.Thinking); ok {
			return t.Text
		}
	}
	return ""
}

// harbour is a typed answer.
type harbour struct {
	Port  string   `json:"port"`
	Ships []string `json:"ships"`
	Berth *uint8   `json:"berth,omitempty"`
}

// Servers that take no schema are asked for the form by a tool.
func TestATypedAnswerIsReadFromEachDialect(t *testing.T) {
	t.Parallel()
	const answer = `{"port":"Göteborg","ships":["<Vega>","Ada \"II\""]}`
	look, err := agent.Tool("look", "Looks.", func(context.Context, struct{}) (string, error) { return "two ships", nil })
	require.NoError(t, err)
	for _, d := range providertest.Dialects() {
		for _, way := range []string{"whole", "streamed", "whole, by a tool", "streamed, by a tool"} {
			t.Run(d.Name+" "+way, func(t *testing.T) {
				byTool := strings.HasSuffix(way, "by a tool")
				s := d.Serve(t, func(n int) providertest.Said {
					out := providertest.Said{Thought: fmt.Sprintf("I am at {%d}.", n), Text: "Two ships."}
					switch {
					case n == 0:
						out.Calls = []chat.ToolCall{{ID: "call_0", Name: "look", Arguments: "{}"}}
					case n == 1: // which is no JSON
					case byTool:
						out.Calls = []chat.ToolCall{{ID: "call_2", Name: "harbour", Arguments: answer}}
					default:
						out.Text = answer
					}
					return out
				})
				m := &openai.Model{Client: sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("none")), Name: cmp.Or(d.Model, "local"), FormatAsTool: byTool}
				worker := &agent.Agent{
					Compactor: &summarize.Compactor{Session: &history.Session{}, Target: policy.Target{Model: m, Tokenizer: sizing.Estimator{}, Budget: 100_000}},
					Tools:     []chat.Toolbox{look},
				}
				if strings.HasPrefix(way, "streamed") {
					worker.Stream = func(chat.Delta) {}
				}
				got, err := agent.Ask[harbour](t.Context(), worker, "What is in the harbour?")
				require.NoError(t, err)
				require.Equal(t, harbour{Port: "Göteborg", Ships: []string{"<Vega>", `Ada "II"`}}, got)
				said := sessiontest.View(t, worker.Compactor.Session).Messages()
				require.Len(t, said, 6)
				require.Equal(t, answer, said[5].Text())
				require.Empty(t, said[5].ToolCalls)
			})
		}
	}
}

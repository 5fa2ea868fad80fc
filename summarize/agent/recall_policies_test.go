package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
)

// recallingModel calls list in each turn, except where it is asked for the key: there it searches and reads.
func recallingModel(n *int) chat.ModelFunc {
	read := regexp.MustCompile(`read_session\((\{.*?\})\)`)
	key := regexp.MustCompile(`the key is (\w-\d+)`)
	return func(ctx context.Context, req chat.Request) (chat.Response, error) {
		if len(req.Tools) == 0 || req.MaxTokens > 0 { // for a summary
			return models.Offline{Tokenizer: sizing.Estimator{}}.Generate(ctx, req)
		}
		call := func(name, arguments string) (chat.Response, error) {
			*n++
			m := chat.AssistantMessage("")
			m.ToolCalls = []chat.ToolCall{{ID: fmt.Sprint("call", *n), Name: name, Arguments: arguments}}
			return chat.Response{Message: m}, nil
		}
		last := req.Messages[len(req.Messages)-1]
		asked := ""
		for _, m := range req.Messages {
			if m.Role == chat.RoleUser {
				asked = m.Text()
			}
		}
		switch {
		case last.Role == chat.RoleUser && strings.Contains(asked, "What is the key?"):
			return call(history.SearchTool, `{"query":"\"key is\" list"}`)
		case last.Role == chat.RoleUser:
			return call("list", "{}")
		case !strings.Contains(asked, "What is the key?"):
			return chat.Response{Message: chat.AssistantMessage("I have listed what there is.")}, nil
		}
		if found := key.FindStringSubmatch(last.Text()); found != nil && strings.HasPrefix(last.Text(), "Entry ") {
			return chat.Response{Message: chat.AssistantMessage(found[1])}, nil
		}
		if next := read.FindStringSubmatch(last.Text()); next != nil {
			return call(history.ReadTool, next[1])
		}
		return chat.Response{Message: chat.AssistantMessage("I do not know: " + last.Text())}, nil
	}
}

func TestAFactIsFoundAgainUnderEveryPolicy(t *testing.T) {
	rows := make([]string, 1500)
	for i := range rows {
		rows[i] = fmt.Sprintf("row %d of the list, with nothing that is of interest to anybody", i)
	}
	rows[750] = "the key is K-7712"
	list := sure.JSON(t, rows)
	for name, p := range policies.All() {
		for store, open := range map[string]func(t *testing.T) (*history.Session, error){
			"memory": func(*testing.T) (*history.Session, error) {
				return history.New(t.Context(), &storage.Memory{}, history.Options{Recall: true})
			},
			"file": func(t *testing.T) (*history.Session, error) {
				return history.Open(filepath.Join(t.TempDir(), "s.jsonl"), history.Options{Recall: true})
			},
		} {
			t.Run(name+" "+store, func(t *testing.T) {
				session, err := open(t)
				require.NoError(t, err)
				defer session.Close()
				p.Continue, p.Ask.Judge.Off = "", true
				calls := 0
				model := recallingModel(&calls)
				compactor := &summarize.Compactor{Session: session, Policy: p, Target: summarize.Target{
					Model: model, Tokenizer: sizing.Estimator{}, Budget: 9000, Tools: []chat.Tool{{Name: "list"}},
				}}
				defer compactor.Close()
				steps := &agent.Agent{Compactor: compactor, Tools: []chat.Toolbox{recall.Tools{}}, Prompt: el.Prompt(
					el.System(el.Text("You look after lists.")),
					history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
				)}
				turn := func(question, result string) (string, int) {
					before := calls
					require.NoError(t, session.Append(t.Context(), chat.UserMessage(question)))
					for i := 0; ; i++ {
						require.Less(t, i, 6)
						answer, err := steps.Step(t.Context())
						require.NoError(t, err)
						for _, e := range answer.Results {
							require.LessOrEqual(t, sizing.Estimator{}.CountText(e.Message().Text()), 9000/8)
						}
						for _, call := range answer.Open {
							require.NoError(t, session.Append(t.Context(), chat.ToolResult(call.ID, result)))
						}
						if len(answer.Open) == 0 && !answer.GoOn {
							return answer.Message().Text(), calls - before
						}
					}
				}
				turn("What is there?", string(list))
				answer, n := turn("What is the key?", "")
				require.Equal(t, "K-7712", answer, "it was cut")
				require.LessOrEqual(t, n, 3)
				compactions := func() (n int) {
					for e, err := range session.PathTo(t.Context(), "") {
						require.NoError(t, err)
						if e.Type() == entry.TypeCompaction {
							n++
						}
					}
					return n
				}
				for i := 0; compactions() < 2; i++ {
					require.Less(t, i, 40, "the session is compacted twice")
					turn(fmt.Sprint("What else is there? ", i), strings.Repeat(fmt.Sprintf("There is item %d. ", i), 600))
				}
				answer, n = turn("What is the key?", "")
				require.Equal(t, "K-7712", answer, "it was covered twice")
				require.LessOrEqual(t, n, 3)
			})
		}
	}
}

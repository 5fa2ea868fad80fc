package gemini_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// The agent calls tools, sometimes two in parallel, and is compacted by the same model. The API refuses no request.
func TestAnAgentThatIsCompactedRunsToItsEnd(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed is %v", streamed), func(t *testing.T) {
			const steps = 30
			step := 0
			a := newAPI(t, func(request object) []string {
				if config, given := request["toolConfig"].(object); given {
					require.Equal(t, "NONE", config["functionCallingConfig"].(object)["mode"])
				}
				if asksForSummary(request) {
					return []string{piece("STOP", `{"text":"<summary>`+fmt.Sprintf("The agent has looked %d times and found nothing.", step)+`</summary>"}`)}
				}
				step++
				if step > steps {
					return []string{piece("STOP", `{"text":"There is nothing.","thoughtSignature":"c2ln"}`)}
				}
				parts := []string{
					`{"text":"Where next?","thought":true}`, fmt.Sprintf(`{"text":"Step %d."}`, step),
					fmt.Sprintf(`{"functionCall":{"id":"a%d","name":"look","args":{"at":"place %d"}},"thoughtSignature":"c2ln%04d"}`, step, step, step),
				}
				if step%3 == 0 {
					parts = append(parts, fmt.Sprintf(`{"functionCall":{"id":"b%d","name":"look","args":{"at":"elsewhere"}}}`, step))
				}
				if !streamed {
					return []string{piece("STOP", parts...)}
				}
				var pieces []string
				for i, p := range parts {
					pieces = append(pieces, piece([]string{"", "STOP"}[(i+1)/len(parts)], p))
				}
				return pieces
			})
			const budget = 2_000
			a.limit = 2 * budget // the test server counts tokens in another way
			model := a.model()
			session := numbered.Session()
			compactions := 0
			compactor := &summarize.Compactor{
				Session: session,
				Policy:  policy.Policy{Ask: policy.Ask{Judge: policy.Judge{Off: true}}},
				Target:  policy.Target{Model: model, Tokenizer: gemini.Tokenizer{}, Budget: budget, Tools: []chat.Tool{lookTool}},
				Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
					require.NotEqual(t, event.Refused, e.Kind, "%v", e.Err)
					if e.Kind == event.Done {
						compactions++
					}
				})},
			}
			prompt := elements.Nodes{
				elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You look for things.")}},
				history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
			}
			require.NoError(t, session.Append(t.Context(), chat.UserMessage("Find it.")))
			answer := ""
			for answer == "" {
				rendered, err := compactor.Render(t.Context(), prompt)
				require.NoError(t, err)
				req := chat.Request{Messages: rendered.Messages, Tools: []chat.Tool{lookTool}}
				var heard strings.Builder
				if streamed {
					req.Stream = func(d chat.Delta) {
						if text, ok := d.(chat.Text); ok {
							heard.WriteString(string(text))
						}
					}
				}
				response, err := model.Generate(t.Context(), req)
				require.NoError(t, err)
				if streamed {
					require.Equal(t, response.Message.Text(), heard.String())
				}
				require.NoError(t, session.Append(t.Context(), response.Message))
				for _, c := range response.Message.ToolCalls {
					require.NoError(t, session.Append(t.Context(), chat.ToolResult(c.ID, strings.Repeat("Nothing to be seen. ", 20))))
				}
				if len(response.Message.ToolCalls) == 0 {
					answer = response.Message.Text()
				}
			}
			require.Equal(t, "There is nothing.", answer)
			require.Equal(t, steps+1, step)
			require.Greater(t, compactions, 1)
			require.Empty(t, a.refused)
		})
	}
}

func asksForSummary(request object) bool {
	contents := list(request["contents"])
	text := fmt.Sprint(contents[len(contents)-1])
	return strings.Contains(text, "Write") && strings.Contains(text, "summar") || strings.Contains(text, "<summary>")
}

func TestARequestThatIsTooLargeIsAContextLimitError(t *testing.T) {
	a := newAPI(t, says(`{"text":"Yes."}`))
	a.limit = 100
	_, err := a.model().Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage(strings.Repeat("word", 200))}})
	limit, ok := errors.AsType[*chat.ContextLimitError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 100, limit.Limit)
	require.Equal(t, 201, limit.Tokens)
}

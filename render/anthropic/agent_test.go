package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/forktest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/render/anthropic"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// quarter is a tokenizer of a token for 4 bytes that counts parts other than text by their JSON.
type quarter struct{ sizingtest.Quarter }

var _ chat.Tokenizer = quarter{}

func (q quarter) CountPart(p chat.Part) int {
	raw, err := json.Marshal(chat.Parts{p})
	if err != nil {
		return 0
	}
	if t, ok := p.(chat.Text); ok {
		raw = []byte(t)
	}
	return q.CountText(string(raw))
}

func (q quarter) CountMessage(m chat.Message) int { return sizingtest.CountMessage(q, m) }

// claude returns the answers of a model that makes rounds of two calls, thinking before and between them, then answers,
// and writes a summary when asked for one.
func claude(rounds int) func(int, request) answer {
	counted := 0
	return func(_ int, r request) answer {
		lastTurn := r.Messages[len(r.Messages)-1]
		lastBlock := lastTurn.Content[len(lastTurn.Content)-1]
		if s, _ := lastBlock["text"].(string); strings.Contains(s, "<summary> block") {
			if r.ToolChoice["type"] != "none" && len(r.Tools) > 0 {
				return refuse(400, "invalid_request_error", "a summary with tools to call")
			}
			return say(text("<analysis>\nIt counted.\n</analysis>\n<summary>\nThe files were counted; all is well.\n</summary>"))
		}
		if counted == rounds {
			return say(think("enough"), text("There are 42."))
		}
		counted++
		return say(
			think(fmt.Sprint("round ", counted)), text(fmt.Sprintf("Counting, step %d.", counted)),
			call(fmt.Sprint("toolu_a", counted), "count", block{"glob": "*.go", "step": counted}), think(fmt.Sprint("more in round ", counted)),
			call(fmt.Sprint("toolu_b", counted), "count", block{"glob": "*.md", "step": counted}),
		)
	}
}

func TestAnAgentThatIsCompactedRunsToItsEnd(t *testing.T) {
	for _, thinking := range []anthropic.Thinking{{}, {Adaptive: true}, {Budget: 2000}} {
		t.Run(fmt.Sprintf("%+v", thinking), func(t *testing.T) {
			const rounds, budget = 12, 1500
			s := newServer(t, claude(rounds))
			s.window = 4 * budget
			model := &anthropic.Model{Client: s.client(), Name: "claude-test", Thinking: thinking}
			model.OnRepair = func(changes []chat.Repair) { t.Errorf("repaired: %v", changes) }
			done, answer := forktest.Agent{Model: model, Tokenizer: quarter{}, Budget: budget, Tools: counting}.RunUnder(t, policy.Policy{}, false)
			require.Equal(t, "There are 42.", answer)
			for _, e := range done {
				require.Equal(t, policy.ModeFull, e.Mode)
			}
			require.GreaterOrEqual(t, len(done), 2)
			require.Equal(t, 1+rounds+len(done), s.count(), "no request was refused")
		})
	}
}

// The model thinks only at the start of a turn. After a compaction within the turn, the tail begins with that thinking,
// no request is refused for it, and each prompt begins with the one before it until the next compaction.
func TestAnAgentGoesOnThinkingAfterACompaction(t *testing.T) {
	const rounds, budget = 14, 1500
	counted, without := 0, 0
	s := newServer(t, func(_ int, r request) answer {
		last := r.Messages[len(r.Messages)-1].Content
		said, _ := last[len(last)-1]["text"].(string)
		switch {
		case strings.Contains(said, "<summary> block"):
			return say(text("<analysis>\nIt counted.\n</analysis>\n<summary>\nThe files were counted; all is well.\n</summary>"))
		case r.Thinking["type"] != "enabled":
			without++
		}
		counted++
		switch id := fmt.Sprint("toolu_", counted); {
		case counted%rounds == 0:
			return say(text("There are 42."))
		case counted%rounds == 1:
			return say(think(fmt.Sprint("turn at ", counted)), text("I count."), call(id, "count", block{"glob": "*.go"}))
		default:
			return say(call(id, "count", block{"glob": "*.go"}))
		}
	})
	s.window = 4 * budget
	model := &anthropic.Model{Client: s.client(), Name: "claude-test", Thinking: anthropic.Thinking{Budget: 2000}}
	model.OnRepair = func(changes []chat.Repair) { t.Errorf("repaired: %v", changes) }
	session := numbered.Session()
	compactions := 0
	compactor := &summarize.Compactor{
		Session: session,
		Target:  policy.Target{Model: model, Name: model.Name, Tokenizer: quarter{}, Budget: budget, ContextWindow: 2 * budget, Tools: counting},
		Policy:  policy.Policy{Ask: policy.Ask{Quirks: copilotchat.Policy().Ask.Quirks, Judge: policy.Judge{Off: true}}},
		Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
			require.NoError(t, e.Err)
			if e.Kind == event.Done {
				compactions++
			}
		})},
	}
	prompt := elements.Nodes{
		history.Conversation{Session: session},
		history.TurnStart{Session: session},
		history.TurnRounds{Session: session},
	}
	var before []chat.Message
	for range 3 {
		require.NoError(t, session.Append(t.Context(), chat.UserMessage("How many files are there?")))
		for {
			made := compactions
			rendered, err := compactor.Render(t.Context(), prompt)
			require.NoError(t, err)
			require.LessOrEqual(t, rendered.Tokens, budget)
			tokens := 0
			for _, m := range rendered.Messages {
				tokens += quarter{}.CountMessage(m)
			}
			require.Equal(t, rendered.Tokens, tokens)
			request := chat.Request{Messages: rendered.Messages, Tools: counting, MaxTokens: 500}
			require.NoError(t, anthropic.Validate(request))
			if compactions == made && len(before) > 0 {
				require.Equal(t, before, rendered.Messages[:len(before)])
			}
			before = rendered.Messages
			answer, err := model.Generate(t.Context(), request)
			require.NoError(t, err)
			require.NoError(t, session.Append(t.Context(), answer.Message))
			if answer.StopReason != chat.StopToolCalls {
				break
			}
			require.NoError(t, session.Append(t.Context(), chat.ToolResult(answer.Message.ToolCalls[0].ID, strings.Repeat("a.go b.go ", 60))))
		}
	}
	require.GreaterOrEqual(t, compactions, 4)
	require.Equal(t, 3*rounds, counted)
	require.Zero(t, without, "requests in which the model could not think")
}

package anthropic_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/anthropic"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/policy"
)

// binding returns answers that first check thinking as the newest models do: a block is valid only after exactly the
// content that preceded it when the model wrote it, without a gap in the thinking before it.
func binding(respond func(call int, r request) answer) func(call int, r request) answer {
	var mu sync.Mutex
	preceding := map[string]string{} // the content before each thinking
	thoughts := map[string]string{}  // the thinking before it
	return func(n int, r request) answer {
		mu.Lock()
		defer mu.Unlock()
		before, thought := sure.Encoded(r.System)+sure.Encoded(r.Tools), ""
		drops := strings.Contains(sure.Encoded(r.Thinking), `"prefix_mismatch_behavior":"drop_block"`)
		for i, turn := range r.Messages {
			for k, b := range turn.Content {
				if b["type"] != "thinking" {
					delete(b, "cache_control")
					before += turn.Role + sure.Encoded(b)
					continue
				}
				text := b["thinking"].(string)
				was, known := preceding[text]
				gap := !strings.HasSuffix(thoughts[text], thought)
				thought += text
				if known && (was != before || gap) && !drops {
					return refuse(400, "invalid_request_error", fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block. The block is bound to a "+
						"different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".", i, k))
				}
			}
		}
		a := respond(n, r)
		for _, b := range a.blocks {
			if b["type"] == "thinking" {
				text := b["thinking"].(string)
				preceding[text], thoughts[text] = before, thought
				thought += text
			} else {
				before += "assistant" + sure.Encoded(b)
			}
		}
		return a
	}
}

// Copilot Chat's policy keeps the thinking that a turn had before it was cut. The model refuses thinking after a
// summary.
func TestThinkingAfterASummaryIsDroppedIfTheModelRefusesIt(t *testing.T) {
	for _, c := range []struct {
		name    string
		drop    bool
		refused int // requests after each summary
	}{
		{"by default the compactor leaves it out", false, 1},
		{"with DropStale the API drops it", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			const rounds = 14
			foreground := copilotchat.Policy()
			foreground.Ask.Judge.Off = true             // the server says little
			foreground.Trigger = foreground.Trigger[1:] // a fork would be a request of the agent
			refused := 0
			respond := binding(claude(rounds))
			s := newServer(t, func(n int, r request) answer {
				a := respond(n, r)
				if a.status == 400 {
					refused++
				}
				return a
			})
			model := &anthropic.Model{Client: s.client(), Name: "claude-test", Thinking: anthropic.Thinking{Adaptive: true, DropStale: c.drop}}
			session := sessiontest.Open(t, filepath.Join(t.TempDir(), "session.jsonl"), history.Options{})
			defer session.Close()
			compactor := &summarize.Compactor{
				Session: session, Policy: foreground,
				Target: policy.Target{Model: model, Name: "claude-test", Tokenizer: quarter{}, Budget: 1500, ContextWindow: 3000, Tools: counting},
			}
			defer compactor.Close()
			steps := &agent.Agent{Compactor: compactor, Prompt: elements.Nodes{
				elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You count files.")}},
				history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
			}}
			require.NoError(t, session.Append(t.Context(), chat.UserMessage("How many files are there?")))
			for {
				answer, err := steps.Step(t.Context())
				require.NoError(t, err)
				require.NoError(t, compactor.Wait(t.Context()))
				if len(answer.Message().ToolCalls) == 0 {
					require.Equal(t, "There are 42.", answer.Message().Text())
					break
				}
				for _, call := range answer.Message().ToolCalls {
					require.NoError(t, session.Append(t.Context(), chat.ToolResult(call.ID, strings.Repeat("a.go b.go ", 30))))
				}
			}
			summaries := 0
			for e, err := range session.PathTo(t.Context(), session.Leaf()) {
				require.NoError(t, err)
				if e.Type() == entry.TypeCompaction {
					summaries++
				}
			}
			require.Greater(t, summaries, 1)
			require.Equal(t, c.refused*summaries, refused)
			told := strings.Contains(s.bodies[len(s.bodies)-1], `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`)
			require.Equal(t, c.drop, told)
			require.Equal(t, told, strings.Contains(s.headers[len(s.headers)-1].Get("Anthropic-Beta"), "thinking-binding-controls"))
		})
	}
}

func TestARefusalOfThinkingIsAnErrorOfItsOwn(t *testing.T) {
	model, _ := answering(t, refuse(400, "invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block"))
	_, err := model.Generate(t.Context(), ask(question))
	require.ErrorAs(t, err, new(*chat.ContentError))
}

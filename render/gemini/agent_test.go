package gemini_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/forktest"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/summarize/policy"
)

// The agent calls tools, sometimes two in parallel, and is compacted by the same model. The API refuses no request.
func TestAnAgentThatIsCompactedRunsToItsEnd(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed is %v", streamed), func(t *testing.T) {
			const steps = 45
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
			done, answer := forktest.Agent{Model: a.model(), Tokenizer: gemini.Tokenizer{}, Budget: budget, Tools: []chat.Tool{lookTool}}.RunUnder(t, policy.Policy{}, streamed)
			require.Equal(t, "There is nothing.", answer)
			require.Equal(t, steps+1, step)
			require.Greater(t, len(done), 1)
			require.Empty(t, a.refused)
		})
	}
}

func asksForSummary(request object) bool {
	contents := list(request["contents"])
	text := fmt.Sprint(contents[len(contents)-1])
	return strings.Contains(text, "Write") && strings.Contains(text, "summar") || strings.Contains(text, "<summary>")
}

package compacttest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/policy"
)

// WindowTools is the size of the tools in [Windows], in tokens.
const WindowTools = 10_000

// Window is a model's window with the budget that [sizing.Window] computes for an answer and [WindowTools], in tokens.
type Window struct{ Tokens, Answer, Budget int }

// Windows returns windows from 32,000 to a million tokens, with answers from 4,000 to 64,000, at most half of the window.
func Windows(t testing.TB) (list []Window) {
	for _, tokens := range []int{32_000, 64_000, 128_000, 200_000, 400_000, 1_000_000} {
		for _, answer := range []int{4_000, 16_000, 32_000, 64_000} {
			if answer <= tokens/2 {
				budget, err := sizing.Window{Tokens: tokens, Answer: answer}.Budget(WindowTools)
				require.NoError(t, err)
				list = append(list, Window{tokens, answer, budget})
			}
		}
	}
	return list
}

// WindowTable returns a table of [Windows] for a policy: what its columns say of a prompt at each, and where the prompt
// overflows, in thousands of tokens. A column gets the measurement of a short prompt whose turn has completed a round of tool calls.
func WindowTable(t testing.TB, policy policy.Policy, titles []string, columns func(policy.Decision) []int) string {
	var b strings.Builder
	row := func(cells ...string) {
		for i, cell := range cells {
			fmt.Fprintf(&b, "%*s", []int{6, 8, 11}[min(i, 2)], cell)
		}
		b.WriteString("\n")
	}
	row(append(append([]string{"window", "answer"}, titles...), "overflows")...)
	for _, w := range Windows(t) {
		d := New(t, chat.UserMessage(Task), chat.AssistantMessage("Good."), chat.UserMessage("Go on."))
		d.Say(Round(1, 300)...)
		d.Policy, d.Target.Budget, d.Target.ContextWindow = policy, w.Budget, w.Tokens
		d.Target.Tools = []chat.Tool{{Name: "read", Description: Words(WindowTools - 1)}}
		require.Equal(t, WindowTools, d.Target.Tokenizer.CountTools(d.Target.Tools))
		d.Messages()
		decision := d.Explain(t.Context()).Decision
		cells := []string{strconv.Itoa(w.Tokens / 1000), strconv.Itoa(w.Answer / 1000)}
		for _, tokens := range columns(decision) {
			cells = append(cells, inThousands(tokens))
		}
		row(append(cells, inThousands(decision.Measurement.Budget+WindowTools))...)
	}
	return b.String()
}

// inThousands returns a number of tokens in thousands.
func inThousands(tokens int) string { return fmt.Sprintf("%.1f", float64(tokens)/1000) }

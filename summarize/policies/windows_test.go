package policies_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestThePageOfCopilotChatShowsWhereSummariesAreBegun(t *testing.T) {
	p := copilotchat.Policy()
	p.Trigger[0].Jitter = 0 // the middle of the range
	golden.Table(t, "../copilotchat/doc.go", windowTable(t, p, []string{"warm", "cold"}, func(d policy.Decision) []int {
		cold := d.Measurement
		cold.ToolRounds = false
		return []int{d.Findings[0].At, p.Decide(cold).Findings[0].At}
	}))
}

func TestThePageOfCopilotCLIShowsWhereSummariesAreBegun(t *testing.T) {
	p := copilotcli.Policy()
	golden.Table(t, "../copilotcli/doc.go", windowTable(t, p, []string{"begins", "waits"}, func(d policy.Decision) []int {
		return []int{d.Findings[0].At, int(p.Background.Wait * float64(d.Measurement.Base))}
	}))
}

// windowTable returns a table of [compacttest.Windows] for a policy: what its columns say of a prompt at each, and where the prompt
// overflows, in thousands of tokens. A column gets the measurement of a short prompt whose turn has completed a round of tool calls.
func windowTable(t testing.TB, policy policy.Policy, titles []string, columns func(policy.Decision) []int) string {
	var b strings.Builder
	row := func(cells ...string) {
		for i, cell := range cells {
			fmt.Fprintf(&b, "%*s", []int{6, 8, 11}[min(i, 2)], cell)
		}
		b.WriteString("\n")
	}
	row(append(append([]string{"window", "answer"}, titles...), "overflows")...)
	for _, w := range compacttest.Windows(t) {
		d := compacttest.New(t, chat.UserMessage(compacttest.Task), chat.AssistantMessage("Good."), chat.UserMessage("Go on."))
		d.Say(compacttest.Round(1, 300)...)
		d.Policy, d.Target.Budget, d.Target.ContextWindow = policy, w.Budget, w.Tokens
		d.Target.Tools = []chat.Tool{{Name: "read", Description: compacttest.Words(compacttest.WindowTools - 1)}}
		require.Equal(t, compacttest.WindowTools, d.Target.Tokenizer.CountTools(d.Target.Tools))
		d.Messages()
		decision := d.Explain(t.Context()).Decision
		cells := []string{strconv.Itoa(w.Tokens / 1000), strconv.Itoa(w.Answer / 1000)}
		for _, tokens := range columns(decision) {
			cells = append(cells, inThousands(tokens))
		}
		row(append(cells, inThousands(decision.Measurement.Budget+compacttest.WindowTools))...)
	}
	return b.String()
}

// inThousands returns a number of tokens in thousands.
func inThousands(tokens int) string { return fmt.Sprintf("%.1f", float64(tokens)/1000) }

package a3s_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/statements"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// fixture returns a fixture under the policy in a window of that many tokens, which is the budget too.
func fixture(t *testing.T, window int, messages ...chat.Message) compacttest.Fixture {
	d := compacttest.New(t, messages...)
	d.Policy, d.Target.Budget, d.Target.ContextWindow = a3s.Policy(), window, window
	return d
}

// filled returns a fixture whose prompt takes that many tokens.
func filled(t *testing.T, tokens, window int) compacttest.Fixture {
	d := fixture(t, window)
	d.Fill(tokens)
	return d
}

// tools returns a fixture with rounds whose output takes that many tokens each.
func tools(t *testing.T, window, rounds, tokens int) compacttest.Fixture {
	d := fixture(t, window, chat.UserMessage(compacttest.Task))
	for n := 1; n <= rounds; n++ {
		m := chat.AssistantMessage("I look.")
		m.ToolCalls = []chat.ToolCall{{ID: string(rune('a' + n)), Name: "bash", Arguments: "{}"}}
		d.Say(m, chat.ToolResult(m.ToolCalls[0].ID, compacttest.Output(n, tokens)))
	}
	return d
}

const (
	policyFile = "summarize/a3s/policy.go"
	engine     = "summarize/"
)

func TestStatements(t *testing.T) {
	statements.Run(t, []statements.Statement{
		{
			Says: "it compacts when the tokens used reach 80% of the window",
			Check: func(t *testing.T) {
				d := filled(t, 7999, 10_000)
				d.Messages()
				require.Empty(t, d.Requests())
				d = filled(t, 8000, 10_000)
				d.Always(models.Say("What was done."))
				require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
			},
			Mutants: []statements.Mutant{
				{File: policyFile, Old: "Ratio: 0.80", New: "Ratio: 0.81"},
				{File: policyFile, Old: "Ratio: 0.80", New: "Ratio: 0.79"},
				{File: policyFile, Old: "{Ratio: 0.80}", New: "{Ratio: 0.80, Above: true}"},
			},
		},
		{
			Says: "the threshold can be set",
			Check: func(t *testing.T) {
				d := filled(t, 5000, 10_000)
				d.Policy.Trigger[0].Ratio = 0.5
				d.Always(models.Say("What was done."))
				require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
			},
			Mutants: []statements.Mutant{{File: policyFile, Old: "{Ratio: 0.80}", New: "{Ratio: 0.80, Messages: 1000}"}},
		},
		{
			Says: "the tokens used are those that the provider reported",
			Check: func(t *testing.T) {
				d := filled(t, 5000, 10_000)
				d.Say(chat.AssistantMessage("Yes."))
				_, err := d.Session.Add(t.Context(), entry.Entry{Body: entry.Usage{Usage: chat.Usage{Input: 8500}, Counted: 5000}})
				require.NoError(t, err)
				d.Say(chat.UserMessage("And now?"))
				d.Always(models.Say("What was done."))
				require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
			},
			Mutants: []statements.Mutant{{File: policyFile, Old: "By: policy.ByReport", New: "By: policy.ByCount"}},
		},
		{
			Says: "old tool output goes first, and no model is asked",
			Check: func(t *testing.T) {
				d := tools(t, 100_000, 30, 2900)
				got := compacttest.Text(d.Messages())
				require.Empty(t, d.Requests())
				require.Equal(t, "cleared", compacttest.Kinds(*d.Heard))
				require.Equal(t, 30, compacttest.Outputs(got)[len(compacttest.Outputs(got))-1])
			},
			Mutants: []statements.Mutant{{File: policyFile, Old: "40_000", New: "400_000"}},
		},
		{
			Says: "tool output older than the most recent 40,000 tokens goes",
			Check: func(t *testing.T) {
				d := tools(t, 100_000, 33, 2600)
				list := compacttest.Outputs(compacttest.Text(d.Messages()))
				require.Len(t, list, 16, "15 of 2,600 tokens, and one that is only partly older")
			},
			Mutants: []statements.Mutant{
				{File: policyFile, Old: "40_000", New: "37_000"},
				{File: policyFile, Old: "40_000", New: "43_000"},
			},
		},
		{
			Says: "it is replaced by a placeholder",
			Check: func(t *testing.T) {
				d := tools(t, 100_000, 30, 2900)
				require.Contains(t, compacttest.Text(d.Messages()), "\n[output pruned — re-read file or re-run command if needed]\n")
			},
			Mutants: []statements.Mutant{{File: policyFile, Old: "[output pruned — re-read", New: "[output pruned - re-read"}},
		},
		{
			Says: "if the prompt is still over the threshold a model summarises old turns",
			Check: func(t *testing.T) {
				d := fixture(t, 100_000)
				for range 80 {
					d.Say(chat.UserMessage(compacttest.Words(500)), chat.AssistantMessage(compacttest.Words(494)))
				}
				d.Say(chat.UserMessage("Go on."))
				d.Say(compacttest.Rounds(1, 2, 900)...)
				d.Always(models.Say("What was done."))
				require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
				require.NotEmpty(t, d.Requests())
			},
			Mutants: []statements.Mutant{{File: policyFile, Old: "{Ratio: 0.80}", New: "{On: policy.OnDemand}"}},
		},
		{
			Says: "the first 2 messages are kept, then comes the summary, then the last 20 messages",
			Check: func(t *testing.T) {
				d := fixture(t, 10_000)
				for n := range 40 {
					d.Say(chat.UserMessage("Ask "+compacttest.Output(2*n, 97)), chat.AssistantMessage(compacttest.Output(2*n+1, 98)))
				}
				d.Say(chat.UserMessage("Go on."), chat.UserMessage("Please."))
				d.Always(models.Say("What was done."))
				got := d.Messages()
				require.Contains(t, got[1].Text(), "Ask [output 000]")
				require.Contains(t, got[2].Text(), "[output 001]")
				require.Contains(t, got[2].Text(), "What was done.")
				require.Less(t, strings.Index(got[2].Text(), "[output 001]"), strings.Index(got[2].Text(), "What was done."))
				require.Equal(t, 3+20, len(got))
				require.Contains(t, got[3].Text(), "[output 062]")
			},
			Mutants: []statements.Mutant{
				{File: policyFile, Old: "First: 2", New: "First: 1"},
				{File: policyFile, Old: "First: 2", New: "First: 3"},
				{File: policyFile, Old: "Messages: 20", New: "Messages: 18"},
				{File: policyFile, Old: "Messages: 20", New: "Messages: 22"},
			},
		},
		{
			Says: "the model is shown the turns between and the summary before them",
			Check: func(t *testing.T) {
				d := filled(t, 8000, 10_000)
				d.Always(models.Say("What was done."))
				d.Messages()
				asked := len(d.Requests())
				d.Always(models.Say("And after it."))
				for range 80 {
					d.Say(chat.UserMessage(compacttest.Words(50)), chat.AssistantMessage(compacttest.Words(47)))
				}
				d.Say(chat.UserMessage("Go on."))
				require.Contains(t, compacttest.Text(d.Messages()), "And after it.")
				require.Contains(t, compacttest.Text(d.Requests()[asked].Messages), "<previous-summary>\nWhat was done.\n</previous-summary>")
				require.Contains(t, compacttest.Text(d.Requests()[asked].Messages), "user: abc abc")
			},
			Mutants: []statements.Mutant{
				{File: "summarize/a3s/prompt.go", Old: "		prompts.EarlierBlock(m),\n", New: ""},
				{File: "summarize/a3s/prompt.go", Old: "Messages: m.Covered", New: "Messages: nil"},
			},
		},
		{
			Says: "an event has the number of messages before and after",
			Check: func(t *testing.T) {
				d := filled(t, 8000, 10_000)
				d.Always(models.Say("What was done."))
				before := len(compacttest.Said(d.Session)) + 1
				after := len(d.Messages())
				heard := *d.Heard
				done := heard[len(heard)-1]
				require.Equal(t, event.Done, done.Kind)
				require.Equal(t, before, done.MessagesBefore)
				require.Equal(t, after, done.MessagesAfter)
			},
			Mutants: []statements.Mutant{{File: engine + "internal/place/place.go", Old: "at.Messages, len(result.Messages)", New: "at.Messages, at.Messages"}},
		},
		{
			Says: "it is off unless the policy is used",
			Check: func(t *testing.T) {
				d := filled(t, 9000, 10_000)
				d.Policy.Off = true
				d.Messages()
				require.Empty(t, d.Requests())
				d = filled(t, 9000, 10_000)
				d.Policy = policy.Policy{} // any other policy
				d.Messages()
				require.Empty(t, d.Requests())
			},
			Mutants: []statements.Mutant{{File: engine + "policy/decide.go", Old: "case p.Off &&", New: "case false &&"}},
		},
	})
}

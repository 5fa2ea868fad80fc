package a3s_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
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
		statements.That("it compacts when the tokens used reach 80% of the window", func(t *testing.T) {
			d := filled(t, 7999, 10_000)
			d.Messages()
			require.Empty(t, d.Requests())
			d = filled(t, 8000, 10_000)
			d.Always(models.Say("What was done."))
			require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
		},
			statements.Change(policyFile, "Ratio: 0.80", "Ratio: 0.81"),
			statements.Change(policyFile, "Ratio: 0.80", "Ratio: 0.79"),
			statements.Change(policyFile, "{Ratio: 0.80}", "{Ratio: 0.80, Above: true}")),
		statements.That("the threshold can be set", func(t *testing.T) {
			d := filled(t, 5000, 10_000)
			d.Policy.Trigger[0].Ratio = 0.5
			d.Always(models.Say("What was done."))
			require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
		}, statements.Change(policyFile, "{Ratio: 0.80}", "{Ratio: 0.80, Messages: 1000}")),
		statements.That("the tokens used are those that the provider reported", func(t *testing.T) {
			d := filled(t, 5000, 10_000)
			d.Say(chat.AssistantMessage("Yes."))
			sessiontest.Add(t, d.Session, entry.Entry{Body: entry.Usage{Usage: chat.Usage{Input: 8500}, Counted: 5000}})
			d.Say(chat.UserMessage("And now?"))
			d.Always(models.Say("What was done."))
			require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
		}, statements.Change(policyFile, "By: policy.ByReport", "By: policy.ByCount")),
		statements.That("old tool output goes first, and no model is asked", func(t *testing.T) {
			d := tools(t, 100_000, 30, 2900)
			got := compacttest.Text(d.Messages())
			require.Empty(t, d.Requests())
			require.Equal(t, "cleared", compacttest.Kinds(*d.Heard))
			require.Equal(t, 30, compacttest.Outputs(got)[len(compacttest.Outputs(got))-1])
		}, statements.Change(policyFile, "40_000", "400_000")),
		statements.That("tool output older than the most recent 40,000 tokens goes", func(t *testing.T) {
			list := compacttest.Outputs(compacttest.Text(tools(t, 100_000, 33, 2600).Messages()))
			require.Len(t, list, 16, "15 of 2,600 tokens, and one that is only partly older")
		},
			statements.Change(policyFile, "40_000", "37_000"),
			statements.Change(policyFile, "40_000", "43_000")),
		statements.That("it is replaced by a placeholder", func(t *testing.T) {
			d := tools(t, 100_000, 30, 2900)
			require.Contains(t, compacttest.Text(d.Messages()), "\n[output pruned — re-read file or re-run command if needed]\n")
		}, statements.Change(policyFile, "[output pruned — re-read", "[output pruned - re-read")),
		statements.That("if the prompt is still over the threshold a model summarises old turns", func(t *testing.T) {
			d := fixture(t, 100_000)
			for range 80 {
				d.Say(chat.UserMessage(compacttest.Words(500)), chat.AssistantMessage(compacttest.Words(494)))
			}
			d.Say(chat.UserMessage("Go on."))
			d.Say(compacttest.Rounds(1, 2, 900)...)
			d.Always(models.Say("What was done."))
			require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
			require.NotEmpty(t, d.Requests())
		}, statements.Change(policyFile, "{Ratio: 0.80}", "{On: policy.OnDemand}")),
		statements.That("the first 2 messages are kept, then comes the summary, then the last 20 messages", func(t *testing.T) {
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
			statements.Change(policyFile, "First: 2", "First: 1"),
			statements.Change(policyFile, "First: 2", "First: 3"),
			statements.Change(policyFile, "Messages: 20", "Messages: 18"),
			statements.Change(policyFile, "Messages: 20", "Messages: 22")),
		statements.That("the model is shown the turns between and the summary before them", func(t *testing.T) {
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
			statements.Change(policyFile, "		prompts.EarlierBlock(m),\n", ""),
			statements.Change(policyFile, "Messages: m.Covered", "Messages: nil")),
		statements.That("an event has the number of messages before and after", func(t *testing.T) {
			d := filled(t, 8000, 10_000)
			d.Always(models.Say("What was done."))
			before := len(compacttest.Said(d.Session)) + 1
			after := len(d.Messages())
			heard := *d.Heard
			done := heard[len(heard)-1]
			require.Equal(t, event.Done, done.Kind)
			require.Equal(t, before, done.MessagesBefore)
			require.Equal(t, after, done.MessagesAfter)
		}, statements.Change(engine+"internal/place/place.go", "at.Messages, len(result.Messages)", "at.Messages, at.Messages")),
		statements.That("it is off unless the policy is used", func(t *testing.T) {
			d := filled(t, 9000, 10_000)
			d.Policy.Off = true
			d.Messages()
			require.Empty(t, d.Requests())
			d = filled(t, 9000, 10_000)
			d.Policy = policy.Policy{} // any other policy
			d.Messages()
			require.Empty(t, d.Requests())
		}, statements.Change(engine+"policy/decide.go", "case p.Off &&", "case false &&")),
	})
}

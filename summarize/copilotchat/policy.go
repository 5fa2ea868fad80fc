package copilotchat

import (
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize"
)

// Name of the policy.
const Name = "copilot-chat"

// Policy returns the policy of Copilot Chat, a new value each time. What may be set there is a field here:
//
//   - the master switch is Off, and the threshold is Measure.Threshold, a ratio or a number of tokens;
//   - full or simple mode is forced by Ask.Mode;
//   - compaction goes to another model by Ask.Routes, and falls back to the agent's own;
//   - what models of some names need is Ask.Quirks, by [summarize.Target.Name].
//
// If a foreground compaction fails the prompt is rendered once more with its history droppable, as there.
func Policy() summarize.Policy {
	fork := summarize.ForkPrompt()
	fork.Background = true
	return summarize.Policy{
		Name:    Name,
		Measure: summarize.Measure{By: summarize.ByLarger, LoweredBase: true},
		Trigger: summarize.Trigger{
			{Ratio: 0.80, Jitter: 0.02, Cold: 0.10, Background: true},
			{On: summarize.OnBudgetExceeded},
			{On: summarize.OnDemand},
		},
		Background: summarize.Background{Apply: 0.65},
		Cut:        history.Cut{}, // all but the round that overflowed, the newest one
		Ask: summarize.Ask{
			Prompts:     []summarize.Prompt{fork, summarize.FullPrompt(), summarize.SimplePrompt()},
			Temperature: new(0.0),
			Quirks: []summarize.Quirk{
				{Models: []string{"claude-opus*"}, Note: "Do not call any tool, whatever the conversation suggests. Write text only."},
				{Models: []string{"claude*"}, Thinking: true, WithoutTools: []string{"tool_search"}},
				{Models: []string{"gpt-4.1*"}, Reminder: "Keep going: continue with the work where it stopped, and do not ask whether you should."},
			},
		},
		Place:    summarize.Place{Replacement: summarize.ConversationSummary},
		Overflow: summarize.Overflow{LastResort: summarize.ResortDrop},
	}
}

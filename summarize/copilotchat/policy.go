package copilotchat

import (
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Policy returns the policy of Copilot Chat, a new value each time. The settings of Copilot Chat are fields:
//
//   - Off is the master switch, and Counting.Threshold the threshold, a ratio or a number of tokens.
//   - Ask.Mode forces full or simple mode.
//   - Ask.Routes sends compactions to another model, with the agent's own as the fallback.
//   - Ask.Quirks has what some models need, by [policy.Target.Name].
//
// If a foreground compaction fails, the prompt is rendered once more with its history droppable, as in Copilot Chat.
func Policy() policy.Policy {
	fork := prompts.ForkPrompt()
	fork.Background = true
	return policy.Policy{
		Name:     "copilot-chat",
		Counting: policy.Counting{By: policy.ByLarger, LoweredBase: true},
		Trigger: policy.Trigger{
			{Ratio: 0.80, Jitter: 0.02, Cold: 0.10, Background: true},
			{On: policy.OnBudgetExceeded},
			{On: policy.OnDemand},
		},
		Background: policy.Background{Apply: 0.65, OncePerTurn: true},
		Cut:        history.Cut{}, // all but the round that overflowed, the newest one
		Ask: policy.Ask{
			Prompts:     []policy.Prompt{fork, prompts.FullPrompt(), prompts.PackedPrompt()},
			Temperature: new(0.0),
			Quirks: []policy.Quirk{
				{Models: []string{"claude-opus*"}, Note: "Do not call any tool, whatever the conversation suggests. Write text only."},
				{Models: []string{"claude*"}, Thinking: true, WithoutTools: []string{"tool_search"}},
				{Models: []string{"gpt-4.1*"}, Reminder: "Keep going: continue with the work where it stopped, and do not ask whether you should."},
			},
		},
		Replace:    policy.Replace{With: prompts.ConversationSummary},
		Overflow:   policy.Overflow{LastResort: policy.ResortDrop},
		StandsBack: true,
	}
}

package summarize

import "github.com/promptree-go/promptree/history"

// CopilotChat is the policy of Copilot Chat. What may be set there is a field here:
//
//   - the master switch is Off, and the threshold is Threshold, a ratio or a number of tokens;
//   - full or simple mode is forced by Mode;
//   - compaction goes to another model by Models.Routes, and falls back to the agent's own;
//   - what models of some names need is Quirks, by [Compactor.ModelName].
//
// A hook before compaction is [Hooks.BeforeCompact]; where it fails nothing is blocked.
func CopilotChat() Policy {
	fork := ForkPrompt()
	fork.Background = true
	return Policy{
		Name: "copilot-chat",
		Trigger: Trigger{
			{Ratio: 0.80, Jitter: 0.02, Cold: 0.90, Background: true},
			{On: OnBudgetExceeded},
			{On: OnDemand},
		},
		Background:  Background{Wait: 0.95, Apply: 0.65},
		Cut:         history.CopilotChatCut(),
		Prompts:     []Prompt{fork, FullPrompt(), SimplePrompt()},
		Temperature: new(0.0),
		Quirks: []Quirk{
			{Models: []string{"claude-opus*"}, Note: "Do not call any tool, whatever the conversation suggests. Write text only."},
			{Models: []string{"claude*"}, Thinking: true, WithoutTools: []string{"tool_search"}},
			{Models: []string{"gpt-4.1*"}, Reminder: "Keep going: continue with the work where it stopped, and do not ask whether you should."},
		},
		Replacement: ConversationSummary,
	}
}

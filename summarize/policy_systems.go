package summarize

import (
	"time"

	"github.com/promptree-go/promptree/history"
)

// CopilotChat is the policy of Copilot Chat. What may be set there is a field here:
//
//   - the master switch is Off, and the threshold is Measure.Threshold, a ratio or a number of tokens;
//   - full or simple mode is forced by Ask.Mode;
//   - compaction goes to another model by Ask.Routes, and falls back to the agent's own;
//   - what models of some names need is Ask.Quirks, by [Target.Name].
//
// If a foreground compaction fails the prompt is rendered once more with its history droppable, as there.
func CopilotChat() Policy {
	fork := ForkPrompt()
	fork.Background = true
	return Policy{
		Name:    "copilot-chat",
		Measure: Measure{By: ByLarger, LoweredBase: true},
		Trigger: Trigger{
			{Ratio: 0.80, Jitter: 0.02, Cold: 0.10, Background: true},
			{On: OnBudgetExceeded},
			{On: OnDemand},
		},
		Background: Background{Wait: 0.95, Apply: 0.65},
		Cut:        history.CopilotChatCut(),
		Ask: Ask{
			Prompts:     []Prompt{fork, FullPrompt(), SimplePrompt()},
			Temperature: new(0.0),
			Quirks: []Quirk{
				{Models: []string{"claude-opus*"}, Note: "Do not call any tool, whatever the conversation suggests. Write text only."},
				{Models: []string{"claude*"}, Thinking: true, WithoutTools: []string{"tool_search"}},
				{Models: []string{"gpt-4.1*"}, Reminder: "Keep going: continue with the work where it stopped, and do not ask whether you should."},
			},
		},
		Place:    Place{Replacement: ConversationSummary},
		Overflow: Overflow{LastResort: ResortDrop},
	}
}

// A3S is the policy of A3S. There it is off unless somebody asks for it; to take this value is to ask. Messages before and
// after are told by [EventDone] and, if leaving out old tool output sufficed, by [EventCleared].
func A3S() Policy {
	return Policy{
		Name:    "a3s",
		Measure: Measure{By: ByReport},
		Trigger: Trigger{{Ratio: 0.80}},
		Clear:   Clear{Rule: history.A3SClear()},
		Cut:     history.A3SCut(),
		Ask:     Ask{Prompts: []Prompt{TurnsPrompt()}},
		Place:   Place{Replacement: TurnsSummary},
	}
}

// CopilotCLI is the policy of Copilot CLI. Its two environment variables count once [Policy.WithEnv] has read them:
//
//	policy, err := summarize.CopilotCLI().WithEnv(os.LookupEnv)
//
// Its checkpoints are written if [Compactor.Checkpoints] is set.
func CopilotCLI() Policy {
	return Policy{
		Name:    "copilot-cli",
		Measure: Measure{LoweredBase: true},
		Trigger: Trigger{
			{Ratio: 0.80, Messages: 4, Background: true, Env: "COPILOT_BACKGROUND_COMPACTION_THRESHOLD"},
			{On: OnContextLimit},
			{On: OnDemand, Messages: 2},
			{On: OnModelSwitch, Ratio: 1, Above: true},
			{On: OnMemoryPressure, Messages: 4},
		},
		Background: Background{Wait: 0.95, WaitEnv: "COPILOT_BUFFER_EXHAUSTION_THRESHOLD"},
		Cut:        history.CopilotCLICut(),
		Ask:        Ask{Prompts: []Prompt{ConversationCompactionPrompt()}},
		Place:      Place{Replacement: CompactedSession{}.Replacement, Checkpoints: true},
		Overflow:   Overflow{LastResort: ResortTruncate},
	}
}

// Stagewise is the policy of stagewise. Its chat agent compacts earlier:
//
//	policy.Trigger[0].Ratio = 0.5
//
// The models that it asks are resolved by [Compactor.Models]; the agent's own is asked last. If none gives a briefing events
// tell of it, and the work goes on.
func Stagewise() Policy {
	return Policy{
		Name:    "stagewise",
		Measure: Measure{By: ByReport},
		Trigger: Trigger{{Ratio: 0.65, Cap: 200_000, Above: true, Background: true}},
		Cut:     history.StagewiseCut(),
		Ask: Ask{
			Prompts: []Prompt{Briefing{}.Prompt()},
			Names:   []string{"gemini-3.1-flash-lite", "gpt-5.4-nano", "claude-haiku-4.5"},
			Timeout: 30 * time.Second, MinChars: 30, MaxTokens: 20_000,
			Temperature: new(0.1),
		},
		Place: Place{Replacement: ChatBriefing, Max: 20_000},
	}
}

// OhMyPi is the policy of oh-my-pi. What may be set there is a field here: whether it is on (Off), the reserve
// (Trigger[0].Reserve), how much is kept (Cut.Tokens), what is said afterwards (Continue), and whether branches that are left
// are summarised (Branch). A remote endpoint is a models.Remote in place of the model.
func OhMyPi() Policy {
	cut := history.OhMyPiCut()
	cut.Share = 1.0 / 3 // in a small window what is kept would be more than what the reserve leaves
	return Policy{
		Name:    "oh-my-pi",
		Measure: Measure{By: ByReport},
		Trigger: Trigger{
			{Reserve: 16_384, Above: true},
			{On: OnContextLimit},
			{On: OnDemand},
		},
		Clear:    Clear{Rule: history.OhMyPiClear(), Always: true},
		Cut:      cut,
		Ask:      Ask{Prompts: []Prompt{Handoff{}.Prompt()}, Attempts: 4},
		Place:    Place{Replacement: SummaryWithFiles},
		Overflow: Overflow{Attempts: 1},
		Continue: "Continue if you have next steps.",
		Branch:   BranchPolicy{Reserve: 16_384, Prompt: BranchPrompt()},
	}
}

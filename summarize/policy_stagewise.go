package summarize

import (
	"time"

	"github.com/promptree-go/promptree/history"
)

// Stagewise is the policy of stagewise. Its chat agent compacts earlier:
//
//	policy.Trigger[0].Ratio = 0.5
//
// The models that it asks are resolved by [Compactor.Models]; the agent's own is asked last. Where none gives a briefing
// events tell, and the work goes on.
func Stagewise() Policy {
	return Policy{
		Name:       "stagewise",
		Trigger:    Trigger{{Ratio: 0.65, Cap: 200_000, Above: true, Background: true}},
		Reported:   true,
		Cut:        history.StagewiseCut(),
		SummaryMax: 20_000,
		Prompts:    []Prompt{Briefing{}.Prompt()},
		Models: Models{
			Names:   []string{"gemini-3.1-flash-lite", "gpt-5.4-nano", "claude-haiku-4.5"},
			Timeout: 30 * time.Second, MinChars: 30, MaxTokens: 20_000,
		},
		Temperature: new(0.1),
		Checks:      []Check{AtLeast(30)},
		Replacement: ChatBriefing,
	}
}

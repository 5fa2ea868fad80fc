package policies_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
)

// Agents on models with long answers do not wait for compactions: the budget leaves the answer's room free, and the
// limits of the policies are of the largest prompt.
func TestSummariesAreMadeInTheBackgroundWhateverTheAnswer(t *testing.T) {
	for _, name := range []string{"copilot-chat", "copilot-cli"} {
		for _, w := range compacttest.Windows(t) {
			if w.Tokens > 200_000 {
				break
			}
			t.Run(fmt.Sprintf("%s, %d of %d", name, w.Answer, w.Tokens), func(t *testing.T) {
				t.Parallel()
				d := compacttest.New(t, chat.UserMessage(compacttest.Task))
				var err error
				d.Policy, err = policies.Named(name)
				require.NoError(t, err)
				d.Target.Budget, d.Target.ContextWindow = w.Budget, w.Tokens
				d.Target.Tools = []chat.Tool{{Name: "read", Description: compacttest.Words(compacttest.WindowTools - 1)}}
				d.Always(models.Say("# Work\n\n<summary>It was done.</summary>"))
				for n := range 80 {
					d.Say(compacttest.Round(n, w.Budget/20)...)
					d.Messages()
					require.NoError(t, d.Wait(t.Context()))
				}
				background := 0
				for _, e := range *d.Heard {
					if e.Kind == event.Done {
						require.True(t, e.Background, "%s", e.Why)
						background++
					}
				}
				require.GreaterOrEqual(t, background, 3)
			})
		}
	}
}

package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// A policy may keep more than a small window has, such as 20,000 tokens. In that case less is kept, so that the session
// is compacted at the policy's threshold and not once nothing fits any more.
func TestASmallWindowIsCompactedAtThePolicysThreshold(t *testing.T) {
	windows := []int{4000}
	if extremes.All() {
		windows = append(windows, 8000, 16_000)
	}
	for _, window := range windows {
		eachPolicy(t, func(t *testing.T, p policy.Policy) {
			t.Run(fmt.Sprint(window), func(t *testing.T) {
				t.Parallel()
				d := newFixture(t)
				d.Policy, d.Target.Budget, d.Target.ContextWindow = p, window, window
				d.Policy.Ask.Names = nil
				d.Target.Model = models.Offline{Tokenizer: quarter{}}
				for n := range 3 * window / 100 {
					d.Say(chat.UserMessage(strings.Repeat("abc ", 47)), chat.AssistantMessage(strings.Repeat("abc ", 47)))
					d.Say(chat.UserMessage(fmt.Sprint("And now? ", n)))
					r, err := d.Render(t.Context(), prompt(d.Session))
					require.NoError(t, err)
					require.LessOrEqual(t, r.Tokens, window)
					require.NoError(t, d.Wait(t.Context()))
				}
				require.NotContains(t, kinds(*d.Heard), "failed")
				require.NotContains(t, kinds(*d.Heard), "truncated")
				require.GreaterOrEqual(t, len(compactions(d.Session)), 2)
			})
		})
	}
}

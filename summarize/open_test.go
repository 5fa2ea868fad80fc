package summarize_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

func TestAPromptThatDoesNotFitIsCompactedByEveryPolicy(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, overflowing()...)
		d.Policy = p
		d.Policy.Cut = history.Cut{} // some policies' cut keeps more than the budget
		d.Target.ContextWindow = 2 * budget
		d.Target.Model = models.Offline{Tokenizer: quarter{}}
		_, err := d.Render(t.Context(), prompt(d.Session))
		require.NoError(t, err)
		require.Len(t, compactions(d.Session), 1)
	})
}

func TestACompactionOnDemandIsTriedAgainAfterAFailure(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 5, 500)...)
	d.Messages()
	d.Answers(models.Say("no"), models.Say("no"), models.SaySummary("Now it works."))
	_, err := d.Compact(t.Context(), "")
	require.Error(t, err)
	_, err = d.Compact(t.Context(), "")
	require.NoError(t, err)
}

func TestAPolicyThatOnlyForksFailsInTheForegroundWithTheReason(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Policy = copilotchat.Policy()
	d.Policy.Overflow.LastResort = policy.ResortError
	d.Policy.Ask.Mode = prompts.ModeFork
	require.ErrorContains(t, d.Fails(), "no prompt for a summary outside the background")
}

func TestASessionThatIsOnlyReadIsNotCompacted(t *testing.T) {
	d := newFileFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 4, 840)...)...)
	again := fixtureOf(t, read(t, d.Session.Path()))
	again.Policy.Trigger = policy.Trigger{{Ratio: 0.5}}
	for range 3 {
		again.Messages()
	}
	require.Empty(t, *again.Heard)
	require.Equal(t, "the session is open for reading only", again.Explain(t.Context()).Why)
}

func TestAPlanIsNotExplainedAsPlacedIfItsCompactionWasNotWritten(t *testing.T) {
	d := newFileFixture(t, overflowing()...)
	d.Answers(models.SaySummary("short"))
	d.Messages()
	require.Equal(t, policy.OutcomePlaced, anotherFixture(t, d, d.Script).Explain(t.Context()).Outcome)
	whole := content(t, d.Session.Path())
	last := strings.LastIndex(strings.TrimSuffix(whole, "\n"), "\n") + 1
	path := filepath.Join(t.TempDir(), "session.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(whole[:last+30]), 0o600)) // the process was killed while it wrote
	again := fixtureOf(t, opened(t, path))
	require.Empty(t, compactions(again.Session))
	require.NotEqual(t, policy.OutcomePlaced, again.Explain(t.Context()).Outcome)
}

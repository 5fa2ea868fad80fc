package summarize_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
)

func TestASummaryOfABranchLeavesOutWhatItsModelRefuses(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 3, 200)...)
	d.Say(chat.UserMessage(forbidden))
	d.Policy.Branch = ohmypi.Policy().Branch
	d.Note(entry.Refusal{
		Model: d.Target.Name, Unit: entry.UnitHeld, Held: []entry.Held{{Entry: "e8", Part: -1, State: entry.HeldRefused}},
	})
	d.Answers(models.Say("It led nowhere."))
	_, err := d.Navigate(t.Context(), "e3", summarize.Navigation{Summarize: true})
	require.NoError(t, err)
	require.Contains(t, text(d.Request().Messages), "[message left out: ")
	require.NotContains(t, text(d.Request().Messages), forbidden)
}

func TestACheckpointThatCannotBeWrittenDoesNotStopTheCompaction(t *testing.T) {
	d := newFixture(t, overflowing()...)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	d.Checkpoints = &checkpoints.Folder{Dir: file}
	d.Policy.Replace.Checkpoints = true
	d.Answers(models.SaySummary("short"))
	d.Messages()
	require.Equal(t, "started hook failed done/full", kinds(*d.Heard))
}

func TestANewConversationBeginsWithTheSummaryOfTheOneBefore(t *testing.T) {
	d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 2, 100)...)...)
	d.Answers(models.Say("The build was fixed."))
	branch, err := d.Navigate(t.Context(), "", summarize.Navigation{Summarize: true})
	require.NoError(t, err)
	require.Equal(t, entry.Files{Read: []string{"file-1.go", "file-2.go"}}, branch.Files)
	require.Equal(t, []int{1, 2}, outputs(text(d.Request().Messages)))
	shown := d.Messages()
	require.Len(t, shown, 2)
	require.Contains(t, shown[1].Text(), "The build was fixed.")
}

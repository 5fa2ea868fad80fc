package summarize_test

import (
	"context"
	"errors"
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
	_, err := d.Navigate(t.Context(), "e3", summarize.Navigation{Summarise: true})
	require.NoError(t, err)
	require.Contains(t, text(d.Request().Messages), "[message left out: ")
	require.NotContains(t, text(d.Request().Messages), forbidden)
}

func TestBranchThatIsLeftIsSummarised(t *testing.T) {
	for _, c := range []struct {
		name    string
		on      bool
		hook    *entry.Summary
		answer  models.Step
		asked   int
		summary string // "" for none
		err     bool
	}{
		{"not unless the policy or the caller says so", false, nil, nil, 0, "", false},
		{"if the caller says so", false, nil, models.Say("It led nowhere."), 1, "It led nowhere.", false},
		{"if the policy says so", true, nil, models.Say("It led nowhere."), 1, "It led nowhere.", false},
		{"by a hook", true, &entry.Summary{Text: "The hook's."}, nil, 0, "The hook's.", false},
		{"if the model fails the session stays where it is", true, nil, models.Fail(errors.New("down")), 1, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t, chat.UserMessage(task))
			d.Say(rounds(1, 3, 200)...)
			d.Policy.Branch = ohmypi.Policy().Branch
			d.Policy.Branch.On = c.on
			d.Hooks.BeforeBranch = func(context.Context, string, string) (summarize.Intervention, error) {
				return summarize.Intervention{Summary: c.hook}, nil
			}
			var after *entry.BranchSummary
			d.Hooks.AfterBranch = func(_ context.Context, from, to string, s *entry.BranchSummary) error {
				require.Equal(t, []string{"e7", "e3"}, []string{from, to})
				after = s
				return nil
			}
			if c.answer != nil {
				d.Answers(c.answer)
			}
			got, err := d.Navigate(t.Context(), "e3", summarize.Navigation{Summarise: c.answer != nil && !c.on})
			require.Len(t, d.Requests(), c.asked)
			if c.err {
				require.Error(t, err)
				require.Equal(t, "e7", d.Session.Leaf())
				return
			}
			require.NoError(t, err)
			require.Equal(t, got, after)
			messages := viewOf(t, d.Session).Messages()
			if c.summary == "" {
				require.Nil(t, got)
				require.Len(t, messages, 3)
				return
			}
			require.Len(t, messages, 4)
			require.Contains(t, messages[3].Text(), c.summary)
			if c.asked > 0 {
				require.Equal(t, []string{"file-2.go", "file-3.go"}, got.Files.Read)
				require.Contains(t, messages[3].Text(), "file-3.go")
				require.Equal(t, []int{2, 3}, outputs(text(d.Request().Messages)))
			}
		})
	}
}

func TestCheckpointsAreWrittenAndIndexed(t *testing.T) {
	d := newFixture(t, overflowing()...)
	dir := filepath.Join(t.TempDir(), "checkpoints")
	d.Checkpoints = &checkpoints.Folder{Dir: dir}
	d.Policy.Replace.Checkpoints = true
	d.Answers(models.SaySummary("# First"), models.SaySummary("Second."))
	d.Messages()
	d.Say(rounds(7, 11, roundTokens)...)
	d.Target.ContextWindow = 2 * budget
	d.Messages()

	list, err := d.Checkpoints.List()
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{"First", "Second."}, []string{list[0].Title, list[1].Title})
	require.Equal(t, list[1], (*d.Heard)[len(*d.Heard)-1].Checkpoint)
	index := content(t, filepath.Join(dir, "index.md"))
	require.Contains(t, index, "2 made")

	_, err = d.Navigate(t.Context(), list[0].Compaction, summarize.Navigation{})
	require.NoError(t, err)
	require.Contains(t, content(t, filepath.Join(dir, "index.md")), "\n1 more where the conversation has gone another way since.\n", "checkpoints of the branch that was left are counted separately")
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

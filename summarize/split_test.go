package summarize_test

import (
	"context"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
)

var roomFor = regexp.MustCompile(`room for (\d+) tokens`)

// newSplitFixture returns a fixture whose history is cut within its second turn.
func newSplitFixture(t testing.TB) fixture {
	t.Helper()
	d := newFixture(t, chat.UserMessage("The first question."))
	d.Say(rounds(1, 2, roundTokens)...)
	d.Say(chat.AssistantMessage("Done."), chat.UserMessage(task))
	d.Say(rounds(3, 6, roundTokens)...)
	d.Target.ContextWindow = 2 * budget
	d.Policy = ohmypi.Policy()
	d.Policy.Trigger, d.Policy.Clear.Rule, d.Policy.Cut = nil, history.ClearRule{}, history.Cut{}
	return d
}

// Each request names its part of the room, and answers that fill their parts are taken.
func TestTheTwoSummariesOfASplitTurnShareTheRoomOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSplitFixture(t)
		var mu sync.Mutex
		var rooms []int
		d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			told := roomFor.FindStringSubmatch(text(r.Messages))
			if told == nil { // the title
				return models.Say("I did it.")(ctx, r)
			}
			room, err := strconv.Atoi(told[1])
			if err != nil {
				return chat.Response{}, err
			}
			mu.Lock()
			defer mu.Unlock()
			rooms = append(rooms, room)
			return models.Say(words(room))(ctx, r)
		})
		d.Messages()
		synctest.Wait() // for the title
		require.Len(t, rooms, 2)
		require.Equal(t, "started done/handoff titled", kinds(*d.Heard))
		took := count(quarter{}, compactions(d.Session)[0].Messages)
		require.Less(t, rooms[0]+rooms[1], took)
		require.LessOrEqual(t, took, budget/5)

		// When the turn continues, one summary replaces both.
		rooms = nil
		d.Say(rounds(7, 11, roundTokens)...)
		d.Messages()
		synctest.Wait() // for the title
		require.Len(t, rooms, 1)
		require.Len(t, compactions(d.Session), 2)
		require.Equal(t, "started done/handoff titled started done/handoff titled", kinds(*d.Heard))
	})
}

// In little room two summaries would be too short to be of use.
func TestASplitTurnHasOneSummaryInLittleRoom(t *testing.T) {
	d := newSplitFixture(t)
	d.Policy.Replace.Max = 250
	d.Answers(models.Say("Of all."), models.Say("I did it."))
	require.Contains(t, d.Messages()[1].Text(), "<conversation-summary>\nOf all.\n</conversation-summary>")
	require.Equal(t, []int{1, 2, 3, 4, 5}, outputs(text(d.Requests()[0].Messages)))
}

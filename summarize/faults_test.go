package summarize_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/policy"
)

// fullStore is a store whose disk may be full.
type fullStore struct {
	storage.Memory
	mu   sync.Mutex
	full bool
}

func (s *fullStore) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return nil, syscall.ENOSPC
	}
	return s.Memory.Append(ctx, at, lines...)
}

func (s *fullStore) fill(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

func TestAFullDiskLosesNothingAndTheNextRenderWorks(t *testing.T) {
	open := func(t *testing.T) (*fullStore, *history.Session) {
		store := &fullStore{}
		s, err := history.New(t.Context(), store, history.Options{IDs: numbered.IDs()})
		require.NoError(t, err)
		return store, s
	}
	t.Run("in the foreground", func(t *testing.T) {
		store, s := open(t)
		d := fixtureOf(t, s, overflowing()...)
		store.fill(true)
		d.Answers(models.SaySummary("one"), models.SaySummary("two"))
		require.ErrorIs(t, d.Fails(), syscall.ENOSPC)
		require.Empty(t, compactions(s))
		store.fill(false)
		d.Say(chat.UserMessage("There is room again."))
		d.Target.ContextWindow = 2 * budget
		d.Answers(models.SaySummary("three"))
		require.Contains(t, d.Messages()[1].Text(), "three")
	})
	t.Run("in the background", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store, s := open(t)
			d := fixtureOf(t, s, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 4, 840)...)...)
			d.Policy.Trigger = policy.Trigger{{Ratio: 0.8, Background: true}}
			d.Answers(models.SaySummary("one"))
			before := d.Messages()
			synctest.Wait()
			store.fill(true)
			equal(t, before, d.Messages())
			require.Equal(t, policy.PendingNone, d.PendingNow())
			require.Contains(t, kinds(*d.Heard), "failed")
			store.fill(false)
			d.Say(round(5, 50)...)
			d.Answers(models.SaySummary("two"))
			d.Messages()
			synctest.Wait()
			require.Contains(t, d.Messages()[1].Text(), "two")
		})
	})
}

func TestTheTwoSummariesOfASplitTurnAreMadeConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, chat.UserMessage("The first question."))
		d.Say(rounds(1, 2, 700)...)
		d.Say(chat.AssistantMessage("Done."), chat.UserMessage(task))
		d.Say(rounds(3, 6, 700)...)
		d.Target.ContextWindow = 2 * budget
		d.Policy = ohmypi.Policy()
		d.Policy.Trigger, d.Policy.Clear.Rule = nil, history.ClearRule{}
		d.Policy.Cut = history.Cut{}
		start := time.Now()
		d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			said := outputs(text(r.Messages))
			if len(said) == 0 {
				time.Sleep(time.Second)
				return models.Say("I did it.")(ctx, r)
			}
			time.Sleep(time.Minute / 2)
			switch {
			case said[0] == 1:
				require.Equal(t, []int{1, 2}, said)
				return models.Say("Of the history.")(ctx, r)
			}
			require.Equal(t, []int{3, 4, 5}, said)
			return models.Say("Of the turn.")(ctx, r)
		})
		require.Contains(t, d.Messages()[1].Text(), "Of the history.\n\n---\n\n**Turn Context (split turn):**\n\nOf the turn.")
		require.Equal(t, time.Minute/2, time.Since(start), "both summaries at once, and the title does not delay them")
		time.Sleep(time.Minute)
		synctest.Wait()
		label, ok := d.Latest(entry.TypeLabel)
		require.True(t, ok)
		made, _ := d.Latest(entry.TypeCompaction)
		require.Equal(t, entry.Label{Target: made.ID, Text: "I did it."}, label.Body)
		require.Equal(t, "started done/handoff titled", kinds(*d.Heard))
	})
}

package summarize_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
)

func TestRenderThatWaitsForAnotherIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, overflowing()...)
		enough := errors.New("enough of this")
		d.Answers(func(_ context.Context, r chat.Request) (chat.Response, error) {
			ctx, cancel := context.WithCancelCause(t.Context())
			second := make(chan error, 1)
			go func() {
				_, err := d.Render(ctx, prompt(d.Session))
				second <- err
			}()
			synctest.Wait()
			cancel(enough)
			if err := <-second; !errors.Is(err, enough) { // it does not wait for this answer
				t.Errorf("got %v", err)
			}
			return models.SaySummary("All the same.")(t.Context(), r)
		})
		d.Messages()
		require.Len(t, d.Requests(), 1)
	})
}

func TestManyConcurrentRendersCompactOnce(t *testing.T) {
	d := newFileFixture(t, overflowing()...)
	var asked atomic.Int32
	d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		asked.Add(1)
		return models.Offline{Tokenizer: quarter{}}.Generate(ctx, r)
	})
	var results [8][]chat.Message
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			<-start
			r, err := d.Render(t.Context(), prompt(d.Session))
			if err != nil {
				t.Error(err)
				return
			}
			results[i] = r.Messages
		})
	}
	close(start)
	group.Wait()
	for _, messages := range results {
		equal(t, results[0], messages)
	}
	require.EqualValues(t, 1, asked.Load())
	require.Len(t, compactions(d.Session), 1)
}

func TestConcurrentRendersAskAModelThatIsDownUntilItsPause(t *testing.T) {
	synctest.Test(t, concurrentRendersOfAModelThatIsDown)
}

func concurrentRendersOfAModelThatIsDown(t *testing.T) {
	d := newFixture(t, overflowing()...)
	var asked atomic.Int32
	d.Target.Model = chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		asked.Add(1)
		return chat.Response{}, errors.New("down")
	})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, err := d.Render(t.Context(), prompt(d.Session))
			if _, ok := errors.AsType[*summarize.FailedError](err); !ok {
				t.Errorf("got %v", err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 2, asked.Load(), "the second at once, the third two seconds later")
	require.Empty(t, compactions(d.Session))
}

func TestMessagesAppendedByAfterCompactMayNotFit(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Hooks.AfterCompact = func(context.Context, entry.Entry) error {
		return d.Session.Append(t.Context(), rounds(50, 55, roundTokens)...)
	}
	d.Answers(numberedSummaries(3)...)
	require.ErrorContains(t, d.Fails(), "the messages said meanwhile do not fit")
	require.Len(t, d.Requests(), 1, "it is tried once a render")
}

package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/jobs"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
)

// compactedAt plays a conversation and returns the steps at which the prompt first shows another compaction.
func compactedAt(d compacttest.Fixture, settle func()) []int {
	d.T.Helper()
	var steps []int
	known := 0
	d.Say(chat.UserMessage(compacttest.Task))
	for step := range 24 {
		result, err := d.Render(d.T.Context(), compacttest.Prompt(d.Session))
		require.NoError(d.T, err)
		require.LessOrEqual(d.T, result.Tokens, compacttest.Budget)
		require.NoError(d.T, chat.Validate(result.Messages))
		if n := len(compacttest.Compactions(d.Session)); n > known {
			known, steps = n, append(steps, step)
		}
		settle()
		d.Say(compacttest.Rounds(step, step, 330)...)
	}
	return steps
}

func TestEachPolicyCompactsAtTheSameStepsWithJobsAndGoroutines(t *testing.T) {
	model := models.Offline{Tokenizer: compacttest.Quarter{}}
	enqueued := 0
	for name, p := range policies.All() {
		t.Run(name, func(t *testing.T) {
			for i := range p.Trigger {
				p.Trigger[i].Jitter = 0 // the jitter depends on the session's id
			}
			own := compacttest.New(t)
			own.Policy, own.Target.Model, own.Target.Name = p, model, "offline"
			want := compactedAt(own, func() { require.NoError(t, own.Wait(context.Background())) })
			require.NotEmpty(t, want)

			s := newService(t, migrated(t))
			d := s.replica("42")
			d.Policy, d.Target = p, own.Target
			w := s.worker(model)
			w.Compactor = func(_ context.Context, _ jobs.Args, session *history.Session) (*summarize.Compactor, error) {
				return &summarize.Compactor{Session: session, Policy: p, Target: own.Target}, nil
			}
			s.start(w)
			require.Equal(t, want, compactedAt(d, func() {
				require.Eventually(t, func() bool {
					list := s.jobs()
					return len(list) == 0 || list[len(list)-1].State == rivertype.JobStateCompleted
				}, 20*time.Second, 10*time.Millisecond)
				require.NoError(t, d.Session.Refresh(t.Context()))
			}))
			enqueued += len(s.jobs())
		})
	}
	require.Positive(t, enqueued)
}

package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/summarize"
)

// Worker carries plans out. Add it to the workers of a River client by [river.AddWorker].
//
// A job that ends well is completed in the transaction that appends the compaction. A failure that may pass is River's to try
// again, as long as the plan has time; the plan stays pending, and what was summarised of it in parts is kept. Any other failure
// ends the plan, and the job is cancelled with it. A job whose plan is not pending any more is completed without asking anybody,
// one whose session is gone is cancelled. When a client stops, what its jobs were doing is left to another's.
type Worker struct {
	// Sessions that are worked on, of all tenants: Tenant is not looked at. Required.
	Sessions *postgres.Sessions
	// Options with which sessions are opened.
	Options history.Options
	// Compactor returns the compactor of a session, with the target, policy and models by which its replicas plan. The worker
	// closes it. Required.
	Compactor func(ctx context.Context, job Args, s *history.Session) (*summarize.Compactor, error)
	// Attempt is the longest that one attempt takes. Defaults to what the plan's time is, 5 minutes unless its policy says
	// otherwise (summarize.Ask.TimeLimit). A job whose process was killed is not tried again before.
	Attempt time.Duration
	// Retry says when a job is tried again. Defaults to River's own policy: after 1 s, 16 s, 81 s and so on. If a provider asks to
	// wait for longer, that is waited.
	Retry river.ClientRetryPolicy
}

var _ river.Worker[Args] = (*Worker)(nil)

// leastAttempt is how long an attempt may take that begins when the plan's time is over, but nobody has given it up.
const leastAttempt = time.Minute

// Middleware returns none.
func (w *Worker) Middleware(*rivertype.JobRow) []rivertype.WorkerMiddleware { return nil }

// Timeout returns how long an attempt may take.
func (w *Worker) Timeout(job *river.Job[Args]) time.Duration {
	begun := time.Now()
	if job.AttemptedAt != nil {
		begun = *job.AttemptedAt
	}
	left := max(leastAttempt, job.Args.Until.Sub(begun))
	if w.Attempt > 0 {
		left = min(left, w.Attempt)
	}
	return left
}

// NextRetry returns when a job that failed is tried again.
func (w *Worker) NextRetry(job *river.Job[Args]) time.Time {
	if w.Retry != nil {
		return w.Retry.NextRetry(job.JobRow)
	}
	return (&river.DefaultClientRetryPolicy{}).NextRetry(job.JobRow)
}

// Work carries out the plan of a job.
func (w *Worker) Work(ctx context.Context, job *river.Job[Args]) error {
	if w.Sessions == nil || w.Compactor == nil {
		return errors.New("jobs: Worker.Sessions or Worker.Compactor is not set")
	}
	sessions := *w.Sessions
	sessions.Tenant = job.Args.Tenant
	sessions.Hooks = append(slices.Clone(sessions.Hooks), completing(job))
	session, err := sessions.Reopen(ctx, job.Args.Session, w.Options)
	if errors.Is(err, postgres.ErrNoSession) {
		return river.JobCancel(err)
	} else if err != nil {
		return err
	}
	defer session.Close() // the session's store only gives it up
	compactor, err := w.Compactor(ctx, job.Args, session)
	if err != nil {
		return fmt.Errorf("jobs: Worker.Compactor: %w", err)
	}
	compactor.Session = session
	defer compactor.Close() // its listeners hear what goes wrong

	next := never
	err = compactor.CarryOut(ctx, job.Args.Plan, func(err error) bool {
		next = w.next(ctx, job, err)
		return next.again
	})
	_, failed := errors.AsType[*summarize.FailedError](err)
	switch {
	case errors.Is(err, summarize.ErrPlanEnded):
		return nil
	case errors.Is(err, postgres.ErrNoSession), failed && !next.again:
		return river.JobCancel(err)
	case next.wait > 0:
		return river.JobSnooze(next.wait)
	}
	return err
}

// attempt says whether there is another attempt, and how long a provider asked to wait for it if that is longer than River waits.
type attempt struct {
	again bool
	wait  time.Duration
}

var never = attempt{}

// next returns what comes after an attempt that failed.
func (w *Worker) next(ctx context.Context, job *river.Job[Args], err error) attempt {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, river.ErrJobCancelledRemotely):
		return never
	case cause != nil && !errors.Is(cause, context.DeadlineExceeded):
		return attempt{again: true} // the client stops
	case job.Attempt >= job.MaxAttempts:
		return never
	}
	a, at := attempt{again: true}, w.NextRetry(job)
	if transient, ok := errors.AsType[*chat.TransientError](err); ok {
		if asked := time.Now().Add(transient.RetryAfter); asked.After(at) {
			a.wait, at = transient.RetryAfter, asked
		}
	}
	if at.After(job.Args.Until) {
		return never
	}
	return a
}

// completing returns the hook that completes a job in the transaction in which the compaction of its plan is appended.
func completing(job *river.Job[Args]) postgres.Hook {
	compacts := func(l storage.Line) bool { return l.Kind == string(history.TypeCompaction) }
	return postgres.Hook{
		Wants: func(lines []storage.Line) bool { return slices.ContainsFunc(lines, compacts) },
		Do: func(ctx context.Context, tx pgx.Tx, a postgres.Appended) error {
			for _, l := range a.Lines {
				if !compacts(l) {
					continue
				}
				e, err := history.ParseEntry(l)
				if err != nil {
					return err
				}
				if c, ok := e.Body.(history.Compaction); !ok || c.Plan != job.Args.Plan {
					continue
				}
				_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
				if err != nil && !errors.Is(err, rivertype.ErrNotFound) { // it was rescued meanwhile: the other attempt finds the plan ended
					return fmt.Errorf("jobs: completing job %d: %w", job.ID, err)
				}
			}
			return nil
		},
	}
}

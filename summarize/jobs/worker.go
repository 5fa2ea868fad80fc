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
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/summarize"
)

// Worker runs plans. Add it to the workers of a River client with [river.AddWorker].
//
// If all goes well, the job is completed in the transaction that appends the compaction. After a transient failure
// River retries the job, as long as the plan has time. Until then the plan stays pending, and summaries of parts are
// kept. Any other failure ends the plan and cancels the job. If the plan is not pending, the job is completed without a
// request to a model. If the session no longer exists, the job is cancelled. When a client stops, its jobs are left to
// other clients.
type Worker struct {
	// Sessions opens the sessions of all tenants; its Tenant is ignored. Required.
	Sessions *postgres.Sessions
	// Options of the opened sessions.
	Options history.Options
	// Compactor returns a compactor for a session, with the target, policy and models of the replicas that plan. The
	// worker closes it. Required.
	Compactor func(ctx context.Context, job Args, s *history.Session) (*summarize.Compactor, error)
	// Attempt is the time limit of an attempt. Defaults to the time that the plan has left, or a minute if that is
	// longer. A plan has twice its policy's time for a request (policy.Ask.Timeout). If the worker's process
	// is killed, the job is not retried before this time is over.
	Attempt time.Duration
	// Retry decides when a failed job is retried. Defaults to River's own policy: after 1 s, 16 s, 81 s and so on. If a
	// provider asks for a longer wait, the worker waits that long.
	Retry river.ClientRetryPolicy
}

var _ river.Worker[Args] = (*Worker)(nil)

// minAttempt is the least time that an attempt gets by default, even if its plan has less or has expired.
const minAttempt = time.Minute

// busyWait is the time after which a job is tried again whose plan another worker runs. That is as long as a worker's
// lease, so that a plan whose worker died is not tried for nothing.
const busyWait = 9 * time.Second

// Middleware implements [river.Worker]. It returns nil.
func (w *Worker) Middleware(*rivertype.JobRow) []rivertype.WorkerMiddleware { return nil }

// Timeout implements [river.Worker]. It returns the time limit of an attempt.
func (w *Worker) Timeout(job *river.Job[Args]) time.Duration {
	start := time.Now()
	if job.AttemptedAt != nil {
		start = *job.AttemptedAt
	}
	left := max(minAttempt, job.Args.Until.Sub(start))
	if w.Attempt > 0 {
		left = min(left, w.Attempt)
	}
	return left
}

// NextRetry implements [river.Worker]. It returns the time at which a failed job is retried.
func (w *Worker) NextRetry(job *river.Job[Args]) time.Time {
	if w.Retry != nil {
		return w.Retry.NextRetry(job.JobRow)
	}
	return (&river.DefaultClientRetryPolicy{}).NextRetry(job.JobRow)
}

// Work implements [river.Worker]. It runs the plan of a job.
func (w *Worker) Work(ctx context.Context, job *river.Job[Args]) error {
	if w.Sessions == nil || w.Compactor == nil {
		return errors.New("jobs: set both Worker.Sessions and Worker.Compactor")
	}
	sessions := *w.Sessions
	sessions.Tenant = job.Args.Tenant
	sessions.Hooks = append(slices.Clone(sessions.Hooks), completionHook(job))
	session, err := sessions.Reopen(ctx, job.Args.Session, w.Options)
	if errors.Is(err, postgres.ErrNoSession) {
		return river.JobCancel(err)
	} else if err != nil {
		return err
	}
	defer session.Close() // only releases the session; its error says nothing about the job
	compactor, err := w.Compactor(ctx, job.Args, session)
	if err != nil {
		return fmt.Errorf("jobs: Worker.Compactor: %w", err)
	}
	compactor.Session = session
	defer compactor.Close() // its error does not concern the job

	var again bool
	var wait time.Duration
	err = compactor.RunPlan(ctx, job.Args.Plan, func(err error, until time.Time) bool {
		again, wait = w.next(ctx, job, err, until)
		return again
	})
	_, failed := errors.AsType[*summarize.FailedError](err)
	switch {
	case errors.Is(err, summarize.ErrPlanEnded):
		return nil
	case errors.Is(err, summarize.ErrBusy):
		return river.JobSnooze(busyWait)
	case errors.Is(err, postgres.ErrNoSession), failed && !again:
		return river.JobCancel(err)
	case wait > 0:
		return river.JobSnooze(wait)
	}
	return err
}

// next reports whether a job gets another attempt after a failed one of a plan that expires at until. If the provider asked
// for a longer wait than River's, wait is that time.
func (w *Worker) next(ctx context.Context, job *river.Job[Args], err error, until time.Time) (again bool, wait time.Duration) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, river.ErrJobCancelledRemotely):
		return false, 0
	case cause != nil && !errors.Is(cause, context.DeadlineExceeded):
		return true, 0 // the client is stopping
	case job.Attempt >= job.MaxAttempts:
		return false, 0
	}
	at := w.NextRetry(job)
	if transient, ok := errors.AsType[*chat.TransientError](err); ok {
		if asked := time.Now().Add(transient.RetryAfter); asked.After(at) {
			wait, at = transient.RetryAfter, asked
		}
	}
	if at.After(until) {
		return false, 0
	}
	return true, wait
}

// completionHook returns a hook that completes a job in the transaction that appends the compaction of its plan.
func completionHook(job *river.Job[Args]) postgres.Hook {
	return postgres.Hook{
		Wants: func(lines []storage.Line) bool {
			return slices.ContainsFunc(lines, func(l storage.Line) bool { return l.Kind == string(entry.TypeCompaction) })
		},
		Do: func(ctx context.Context, tx pgx.Tx, a postgres.Appended) error {
			for _, l := range a.Lines {
				c, err := bodyOf[entry.Compaction](l)
				if err != nil {
					return err
				}
				if c.Plan != job.Args.Plan {
					continue
				}
				_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
				// ErrNotFound: the job was rescued meanwhile. Its other attempt will find that the plan has ended.
				if err != nil && !errors.Is(err, rivertype.ErrNotFound) {
					return fmt.Errorf("jobs: completing job %d: %w", job.ID, err)
				}
			}
			return nil
		},
	}
}

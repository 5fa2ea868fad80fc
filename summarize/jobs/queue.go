package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/summarize"
)

// Args are the arguments of a job: a plan of a session.
type Args struct {
	// Tenant and Session name the session.
	Tenant  string `json:"tenant" river:"unique"`
	Session string `json:"session" river:"unique"`
	// Plan is the id of the plan's entry, which is the leaf of the session when the job is enqueued.
	Plan string `json:"plan" river:"unique"`
	// Until is the time at which the plan is given up ([history.Plan.Until]).
	Until time.Time `json:"until"`
}

// Kind returns the kind of the jobs.
func (Args) Kind() string { return "promptree_compaction" }

// InsertOpts makes the jobs unique: a plan has one, ever.
func (Args) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

// Queue enqueues a job for each plan that need not be waited for. Its hook writes the job in the transaction in which the plan is
// appended, so that there is never one without the other; the queue itself is the [summarize.Runner] of the compactor that
// plans, which then leaves the plan to the workers:
//
//	queue := &jobs.Queue{Client: client}
//	sessions := &postgres.Sessions{Pool: pool, Hooks: []postgres.Hook{queue.Hook()}}
//	compactor := &summarize.Compactor{Runner: queue, …}
type Queue struct {
	// Client that inserts the jobs. It need not work any. Its database is that of the sessions. Required.
	Client *river.Client[pgx.Tx]
	// Opts of the jobs, such as their queue and priority, and how often they are attempted. Defaults to those of the client.
	Opts *river.InsertOpts

	hooked atomic.Bool
}

var _ summarize.Runner = (*Queue)(nil)

var errNoHook = errors.New("jobs: nothing enqueues the plan: add Queue.Hook to postgres.Sessions.Hooks")

// Hook returns the hook for [postgres.Sessions.Hooks] of the replicas.
func (q *Queue) Hook() postgres.Hook {
	q.hooked.Store(true)
	return postgres.Hook{Wants: plans, Do: q.enqueue}
}

// Run leaves a plan to the job that was enqueued with it. The error is that [Queue.Hook] was never called.
func (q *Queue) Run(context.Context, *history.Session, string) error {
	if !q.hooked.Load() {
		return errNoHook
	}
	return nil
}

// plans reports whether there is a plan to enqueue a job for. One that cannot be read is for enqueue to refuse.
func plans(lines []storage.Line) bool {
	for _, l := range lines {
		if p, err := planOf(l); err != nil || p.Background {
			return true
		}
	}
	return false
}

// planOf returns the plan that a line holds, the zero value if it holds something else.
func planOf(l storage.Line) (history.Plan, error) {
	if l.Kind != string(history.TypePlan) {
		return history.Plan{}, nil
	}
	e, err := history.ParseEntry(l)
	if err != nil {
		return history.Plan{}, err
	}
	p, _ := e.Body.(history.Plan)
	return p, nil
}

func (q *Queue) enqueue(ctx context.Context, tx pgx.Tx, a postgres.Appended) error {
	for _, l := range a.Lines {
		p, err := planOf(l)
		if err != nil {
			return err
		}
		if !p.Background {
			continue
		}
		if _, err := q.Client.InsertTx(ctx, tx, Args{a.Tenant, a.Name, l.ID, p.Until}, q.Opts); err != nil {
			return fmt.Errorf("jobs: enqueueing plan %q: %w", l.ID, err)
		}
	}
	return nil
}

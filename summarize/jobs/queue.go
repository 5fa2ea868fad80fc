package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/history/storage"
)

// Args holds the arguments of a job, which identify a plan of a session.
type Args struct {
	// Tenant and Session name the session.
	Tenant  string `json:"tenant" river:"unique"`
	Session string `json:"session" river:"unique"`
	// Plan is the id of the plan's entry, which is the leaf of the session when the job is enqueued.
	Plan string `json:"plan" river:"unique"`
	// Until is the time at which the plan expires ([entry.Plan.Until]).
	Until time.Time `json:"until"`
}

// Kind returns the kind of the jobs, promptree_compaction.
func (Args) Kind() string { return "promptree_compaction" }

// InsertOpts makes the jobs unique, so that a plan never has a second one.
func (Args) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

// Queue enqueues a job for each plan of a background compaction. Its hook inserts the job in the transaction that
// appends the plan, so that neither exists without the other. [Queue.Run] is the [summarize.Runner] of the
// compactor that plans, and leaves the plan to the workers:
//
//	queue := &jobs.Queue{Client: client}
//	sessions := &postgres.Sessions{Pool: pool, Hooks: []postgres.Hook{queue.Hook()}}
//	compactor := &summarize.Compactor{Runner: queue.Run, …}
type Queue struct {
	// Client inserts the jobs. It need not work them. It must use the database of the sessions. Required.
	Client *river.Client[pgx.Tx]
	// Opts holds the jobs' queue, priority, number of attempts and so on. Defaults to those of the client.
	Opts *river.InsertOpts

	hooked atomic.Bool
}

// Hook returns the hook for [postgres.Sessions.Hooks] of the replicas.
func (q *Queue) Hook() postgres.Hook {
	q.hooked.Store(true)
	return postgres.Hook{Wants: hasPlan, Do: q.enqueue}
}

// Run is the [summarize.Runner]. It does nothing, because the hook has enqueued the job. If [Queue.Hook] was never
// called, it returns an error.
func (q *Queue) Run(context.Context, *history.Session, string) error {
	if !q.hooked.Load() {
		return errors.New("jobs: the plan has no job: add Queue.Hook to postgres.Sessions.Hooks")
	}
	return nil
}

// hasPlan reports whether lines hold a plan that needs a job. It also returns true for a plan that cannot be read, for
// which enqueue returns the error.
func hasPlan(lines []storage.Line) bool {
	return slices.ContainsFunc(lines, func(l storage.Line) bool {
		p, err := bodyOf[entry.Plan](l)
		return err != nil || p.Background
	})
}

// bodyOf returns the body of the entry that a line holds, or the zero value if the entry is of another type.
func bodyOf[B entry.Body](l storage.Line) (body B, err error) {
	if l.Kind != string(entry.Entry{Body: body}.Type()) {
		return body, nil
	}
	var e entry.Entry
	if err := e.UnmarshalJSON(l.Data); err != nil {
		return body, fmt.Errorf("jobs: the line of entry %q: %w", l.ID, err)
	}
	body, _ = e.Body.(B)
	return body, nil
}

// enqueue inserts a job for each plan of a background compaction among the appended lines.
func (q *Queue) enqueue(ctx context.Context, tx pgx.Tx, a postgres.Appended) error {
	for _, l := range a.Lines {
		p, err := bodyOf[entry.Plan](l)
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

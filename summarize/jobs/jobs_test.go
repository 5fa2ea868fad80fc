package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/postgrestest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/jobs"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

var cluster *postgrestest.Cluster // nil if PostgreSQL is not installed

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(func(c *postgrestest.Cluster) { cluster = c }, m.Run))
}

// connected returns a pool of connections to an address. The function set changes its configuration.
func connected(t *testing.T, address string, set func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(address)
	require.NoError(t, err)
	config.MaxConns = 10
	set(config)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// migrated returns a pool of connections to a new schema with the tables of sessions and jobs.
func migrated(t *testing.T) *pgxpool.Pool {
	t.Helper()
	postgrestest.Needs(t, cluster)
	schema := postgrestest.Name()
	pool := connected(t, cluster.URL, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = schema })
	_, err := pool.Exec(t.Context(), "CREATE SCHEMA "+schema)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE")
		require.NoError(t, err)
	})
	migrate(t, pool)
	return pool
}

func migrate(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	require.NoError(t, postgres.Migrate(t.Context(), pool))
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
}

// service is a database on which tests start replicas and workers.
type service struct {
	t      *testing.T
	pool   *pgxpool.Pool
	queue  *jobs.Queue
	config river.Config
}

func newService(t *testing.T, pool *pgxpool.Pool) *service {
	t.Helper()
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return &service{t: t, pool: pool, queue: &jobs.Queue{Client: client}, config: river.Config{
		Logger: slog.New(slog.DiscardHandler), FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 50 * time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
	}}
}

// replica returns a fixture on a session of the database. Its policy summarises in the background, with jobs.
func (s *service) replica(name string) compacttest.Fixture {
	s.t.Helper()
	sessions := &postgres.Sessions{Pool: s.pool, Tenant: "acme", Hooks: []postgres.Hook{s.queue.Hook()}}
	session, err := sessions.Open(s.t.Context(), name, history.Options{})
	require.NoError(s.t, err)
	d := compacttest.Of(s.t, session)
	d.Policy, d.Runner = policyFile(), s.queue.Run
	return d
}

// planned returns a replica whose session is long enough that a plan is pending.
func (s *service) planned(name string) compacttest.Fixture {
	s.t.Helper()
	d := s.replica(name)
	d.Say(append([]chat.Message{chat.UserMessage(compacttest.Task)}, compacttest.Rounds(1, 5, 660)...)...)
	d.Messages()
	require.Equal(s.t, policy.PendingElsewhere, d.PendingNow())
	require.Empty(s.t, d.Requests())
	return d
}

func policyFile() policy.Policy {
	p := copilotchat.Policy()
	p.Overflow.LastResort, p.Ask.Judge.Off = policy.ResortError, true
	return p
}

// worker returns a worker that asks a model and retries soon.
func (s *service) worker(model chat.Model) *jobs.Worker {
	return &jobs.Worker{
		Sessions: &postgres.Sessions{Pool: s.pool}, Retry: retrySoon{},
		Compactor: func(_ context.Context, _ jobs.Args, session *history.Session) (*summarize.Compactor, error) {
			return &summarize.Compactor{
				Session: session, Policy: policyFile(),
				Target: policy.Target{Model: model, Tokenizer: compacttest.Quarter{}, Budget: compacttest.Budget},
			}, nil
		},
	}
}

// retrySoon retries after 10 ms.
type retrySoon struct{}

func (retrySoon) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(10 * time.Millisecond) }

// start starts a client with a worker.
func (s *service) start(w *jobs.Worker) *river.Client[pgx.Tx] {
	s.t.Helper()
	config := s.config
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, w)
	client, err := river.NewClient(riverpgxv5.New(s.pool), &config)
	require.NoError(s.t, err)
	require.NoError(s.t, client.Start(context.Background()))
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(s.t, client.StopAndCancel(ctx))
	})
	return client
}

// jobs returns all jobs, oldest first.
func (s *service) jobs() []*rivertype.JobRow {
	s.t.Helper()
	list, err := s.queue.Client.JobList(context.Background(), river.NewJobListParams().OrderBy(river.JobListOrderByID, river.SortOrderAsc))
	require.NoError(s.t, err)
	return list.Jobs
}

// becomes waits until the only job is in a state, and returns the job.
func (s *service) becomes(state rivertype.JobState) *rivertype.JobRow {
	s.t.Helper()
	var job *rivertype.JobRow
	require.Eventually(s.t, func() bool {
		list := s.jobs()
		require.Len(s.t, list, 1)
		job = list[0]
		return job.State == state
	}, 30*time.Second, 10*time.Millisecond, "the job becomes %s", state)
	return job
}

// ending returns how the newest plan of a session ended, read by a new replica.
func (s *service) ending(name string) entry.PlanEnd {
	s.t.Helper()
	e, ok, err := s.replica(name).Session.Latest(s.t.Context(), entry.TypePlanEnd)
	require.NoError(s.t, err)
	require.True(s.t, ok)
	return e.Body.(entry.PlanEnd)
}

// modelFunc returns a model that calls f with the number of the request, from 1.
func modelFunc(f func(ctx context.Context, n int, r chat.Request) (chat.Response, error)) chat.Model {
	var asked atomic.Int32
	return chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) { return f(ctx, int(asked.Add(1)), r) })
}

func saying(text string) chat.Model { return chat.ModelFunc(models.SaySummary(text)) }

func TestAPlanAndItsJobAreWrittenTogether(t *testing.T) {
	s := newService(t, migrated(t))
	plan, _ := sessiontest.Latest(t, s.planned("42").Session, entry.TypePlan)
	list := s.jobs()
	require.Len(t, list, 1)
	require.Equal(t, "promptree_compaction", list[0].Kind)
	require.JSONEq(t, fmt.Sprintf(`{"tenant": "acme", "session": "42", "plan": %q, "until": %q}`, plan.ID, plan.Body.(entry.Plan).Until.Format(time.RFC3339Nano)), string(list[0].EncodedArgs))
	var together bool
	require.NoError(t, s.pool.QueryRow(t.Context(), `
		SELECT l.xmin = j.xmin FROM promptree_lines l, river_job j WHERE l.kind = 'plan'`).Scan(&together))
	require.True(t, together)
}

func TestAPlanWhoseJobCannotBeEnqueuedIsNotWritten(t *testing.T) {
	s := newService(t, migrated(t))
	d := s.replica("42")
	d.Say(append([]chat.Message{chat.UserMessage(compacttest.Task)}, compacttest.Rounds(1, 5, 660)...)...)
	_, err := s.pool.Exec(t.Context(), "ALTER TABLE river_job RENAME TO elsewhere")
	require.NoError(t, err)
	d.Messages() // they fit without a summary
	_, err = s.pool.Exec(t.Context(), "ALTER TABLE elsewhere RENAME TO river_job")
	require.NoError(t, err)
	require.Contains(t, compacttest.Kinds(*d.Heard), "failed")
	_, there := sessiontest.Latest(t, d.Session, entry.TypePlan)
	require.False(t, there)
	require.Empty(t, s.jobs())
}

func TestAWorkerPlacesTheCompactionAndCompletesTheJobInOneTransaction(t *testing.T) {
	s := newService(t, migrated(t))
	d := s.planned("42")
	s.start(s.worker(chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		for open := 1; open > 0; { // River's own transactions end soon; one that waits for this answer would never end
			if err := s.pool.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'").Scan(&open); err != nil {
				return chat.Response{}, err
			}
		}
		return models.SaySummary("Made by a worker.")(ctx, r)
	})))
	job := s.becomes(rivertype.JobStateCompleted)
	require.Empty(t, job.Errors)
	require.Equal(t, 1, job.Attempt)
	var together bool
	require.NoError(t, s.pool.QueryRow(t.Context(), `
		SELECT l.xmin = j.xmin FROM promptree_lines l, river_job j WHERE l.kind = 'compaction'`).Scan(&together))
	require.True(t, together)
	require.Contains(t, compacttest.Text(s.replica("42").Messages()), "Made by a worker.")

	d.Say(compacttest.Rounds(10, 10, 60)...) // said meanwhile; it comes after the summary
	require.Contains(t, compacttest.Text(d.Messages()), "Made by a worker.", "a session that was open all along sees it too")
}

func TestReplicasContinueWhileAWorkerSummarises(t *testing.T) {
	s := newService(t, migrated(t))
	d := s.planned("42")
	release := make(chan struct{})
	s.start(s.worker(chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		select {
		case <-release:
		case <-ctx.Done():
			return chat.Response{}, ctx.Err()
		}
		return models.SaySummary("Made meanwhile.")(ctx, r)
	})))
	s.becomes(rivertype.JobStateRunning)
	other := s.replica("42")
	require.Equal(t, d.Messages(), other.Messages())
	require.Empty(t, *other.Heard, "it starts nothing")

	other.Say(compacttest.Rounds(10, 11, 600)...) // now it no longer fits
	time.AfterFunc(200*time.Millisecond, func() { close(release) })
	require.Contains(t, compacttest.Text(other.Messages()), "Made meanwhile.")
	require.Contains(t, compacttest.Kinds(*other.Heard), "waiting")
	require.Empty(t, other.Requests())
	require.Len(t, s.jobs(), 1)
}

func TestATransientFailureIsRetried(t *testing.T) {
	s := newService(t, migrated(t))
	s.planned("42")
	s.start(s.worker(modelFunc(func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
		if n < 3 {
			return chat.Response{}, &chat.TransientError{Err: errors.New("the model is busy")}
		}
		return models.SaySummary("At the third attempt.")(ctx, r)
	})))
	job := s.becomes(rivertype.JobStateCompleted)
	require.Equal(t, 3, job.Attempt)
	require.Len(t, job.Errors, 2)
	require.Contains(t, job.Errors[0].Error, "the model is busy")
	require.Contains(t, compacttest.Text(s.replica("42").Messages()), "At the third attempt.")
}

func TestAPermanentFailureEndsThePlanAndTheJob(t *testing.T) {
	for _, c := range []struct {
		name     string
		attempts int
		answer   models.Reply
		says     string
	}{
		{"an unusable answer", 25, models.Say(""), "empty"},
		{"the last attempt", 2, models.Fail(&chat.TransientError{Err: errors.New("the model is busy")}), "busy"},
		{"a provider that asks for a longer wait than the plan has time", 25, models.Fail(&chat.TransientError{Err: errors.New("the model is busy"), RetryAfter: time.Hour}), "busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t, migrated(t))
			s.queue.Opts = &river.InsertOpts{MaxAttempts: c.attempts}
			s.planned("42")
			s.start(s.worker(chat.ModelFunc(c.answer)))
			job := s.becomes(rivertype.JobStateCancelled)
			require.Contains(t, job.Errors[len(job.Errors)-1].Error, c.says)
			end := s.ending("42")
			require.Equal(t, entry.PlanFailed, end.Outcome)
			require.Contains(t, end.Error, c.says)
			require.Equal(t, policy.PendingNone, s.replica("42").PendingNow())
		})
	}
}

func TestAProviderIsNotAskedAgainBeforeItsRetryTime(t *testing.T) {
	s := newService(t, migrated(t))
	s.planned("42")
	var first time.Time
	s.start(s.worker(modelFunc(func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
		if n == 1 {
			first = time.Now()
			return chat.Response{}, &chat.TransientError{Err: errors.New("the model is busy"), RetryAfter: time.Second}
		}
		if time.Since(first) < time.Second {
			return chat.Response{}, errors.New("too early")
		}
		return models.SaySummary("In time.")(ctx, r)
	})))
	require.Empty(t, s.becomes(rivertype.JobStateCompleted).Errors, "waiting for the provider does not count as an attempt")
}

func TestAClientThatStopsLeavesItsJobsToAnother(t *testing.T) {
	s := newService(t, migrated(t))
	s.planned("42")
	asked := make(chan struct{})
	var once sync.Once
	first := s.start(s.worker(chat.ModelFunc(func(ctx context.Context, _ chat.Request) (chat.Response, error) {
		once.Do(func() { close(asked) })
		<-ctx.Done()
		return chat.Response{}, ctx.Err()
	})))
	<-asked
	require.NoError(t, first.StopAndCancel(t.Context()))
	require.Empty(t, s.becomes(rivertype.JobStateAvailable).Errors)
	require.Equal(t, policy.PendingElsewhere, s.replica("42").PendingNow())
	s.start(s.worker(saying("Made by another.")))
	require.Equal(t, 1, s.becomes(rivertype.JobStateCompleted).Attempt)
	require.Contains(t, compacttest.Text(s.replica("42").Messages()), "Made by another.")
}

func TestCancellingAJobEndsItsPlan(t *testing.T) {
	for _, poll := range []bool{false, true} {
		s := newService(t, migrated(t))
		s.config.PollOnly = poll
		s.planned("42")
		asked := make(chan struct{})
		client := s.start(s.worker(chat.ModelFunc(func(ctx context.Context, _ chat.Request) (chat.Response, error) {
			close(asked)
			<-ctx.Done()
			return chat.Response{}, ctx.Err()
		})))
		<-asked
		_, err := client.JobCancel(t.Context(), s.jobs()[0].ID)
		require.NoError(t, err)
		s.becomes(rivertype.JobStateCancelled)
		end := s.ending("42")
		require.Equal(t, entry.PlanDropped, end.Outcome)
		require.Equal(t, "cancelled", end.ErrorType)
	}
}

func TestAJobWhosePlanHasEndedAsksNoModel(t *testing.T) {
	s := newService(t, migrated(t))
	d := s.planned("42")
	sessiontest.Add(t, d.Session, entry.Entry{Body: entry.PlanEnd{Plan: d.Session.Leaf(), Outcome: entry.PlanDropped}})
	s.start(s.worker(chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{}, errors.New("the model was asked")
	})))
	require.Empty(t, s.becomes(rivertype.JobStateCompleted).Errors)
}

func TestAJobDoesNotRecreateARemovedSession(t *testing.T) {
	s := newService(t, migrated(t))
	require.NoError(t, s.planned("42").Session.Remove(t.Context()))
	s.start(s.worker(saying("For nobody.")))
	require.Contains(t, s.becomes(rivertype.JobStateCancelled).Errors[0].Error, "the session does not exist or was removed")
	var sessions int
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM promptree_sessions").Scan(&sessions))
	require.Zero(t, sessions)
}

// River rescues a job that it believes stuck. If the first worker's lease has expired too, two workers run one plan.
func TestTwoAttemptsAtOnePlanHaveOneEffect(t *testing.T) {
	s := newService(t, migrated(t))
	s.planned("42")
	asked, answer, ended := make(chan struct{}, 2), make(chan struct{}), make(chan event.Kind, 2)
	w := s.worker(chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		asked <- struct{}{}
		<-answer
		return models.SaySummary("Made twice.")(ctx, r)
	}))
	compactor := w.Compactor
	w.Compactor = func(ctx context.Context, args jobs.Args, session *history.Session) (*summarize.Compactor, error) {
		c, err := compactor(ctx, args, session)
		c.Observers = []summarize.Observer{summarize.OnEvent(func(e event.Event) {
			if e.Kind == event.Done || e.Kind == event.Dropped {
				ended <- e.Kind
			}
		})}
		return c, err
	}
	s.start(w)
	<-asked
	for second := false; !second; {
		_, err := s.pool.Exec(t.Context(), "DELETE FROM promptree_leases")
		require.NoError(t, err)
		_, err = s.pool.Exec(t.Context(), "UPDATE river_job SET state = 'available', scheduled_at = now()")
		require.NoError(t, err)
		select {
		case <-asked:
			second = true
		case <-time.After(time.Second): // the first worker has renewed its lease in between
		}
	}
	close(answer)
	require.ElementsMatch(t, []event.Kind{event.Done, event.Dropped}, []event.Kind{<-ended, <-ended})
	s.becomes(rivertype.JobStateCompleted)
	require.Len(t, compacttest.Compactions(s.replica("42").Session), 1)
	_, otherwise := sessiontest.Latest(t, s.replica("42").Session, entry.TypePlanEnd)
	require.False(t, otherwise, "a plan ends once")
}

func TestAJobWhosePlanAnotherWorkerRunsWaits(t *testing.T) {
	s := newService(t, migrated(t))
	s.planned("42")
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	s.start(s.worker(chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		asked <- struct{}{}
		<-answer
		return models.SaySummary("Made once.")(ctx, r)
	})))
	<-asked
	_, err := s.pool.Exec(t.Context(), "UPDATE river_job SET state = 'available'")
	require.NoError(t, err)
	require.Empty(t, s.becomes(rivertype.JobStateScheduled).Errors)
	close(answer)
	require.Eventually(t, func() bool { return len(compacttest.Compactions(s.replica("42").Session)) == 1 }, 30*time.Second, 10*time.Millisecond)
	require.Empty(t, asked)
}

func TestAPlanWhoseWorkerDiedIsMadeAgainWithinTenSeconds(t *testing.T) {
	s := newService(t, migrated(t))
	d := s.planned("42")
	plan := d.Session.Leaf()
	dead, err := (&postgres.Sessions{Pool: s.pool, Tenant: "acme"}).Store("42").Lease(t.Context(), plan, "a worker", 9*time.Second)
	require.NoError(t, err)
	require.True(t, dead)
	died := time.Now()                        // right after a renewal
	d.Say(compacttest.Rounds(10, 11, 600)...) // now it no longer fits
	d.Target.Model = saying("Made here.")
	require.Contains(t, compacttest.Text(d.Messages()), "Made here.")
	took := time.Since(died)
	t.Logf("taken up after %v", took)
	require.Greater(t, took, 8*time.Second)
	require.Less(t, took, 10*time.Second)
	require.Contains(t, compacttest.Kinds(*d.Heard), "waiting")
}

func TestAPlanHasOneJob(t *testing.T) {
	s := newService(t, migrated(t))
	s.planned("42")
	line := storage.Line{Kind: string(entry.TypePlan)}
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT convert_from(id, 'UTF8'), data FROM promptree_lines WHERE kind = 'plan'").Scan(&line.ID, &line.Data))
	require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		return s.queue.Hook().Do(t.Context(), tx, postgres.Appended{Tenant: "acme", Name: "42", Lines: []storage.Line{line}})
	}))
	require.Len(t, s.jobs(), 1)
}

func TestAQueueWithoutItsHookReturnsAnError(t *testing.T) {
	s := newService(t, migrated(t))
	sessions := &postgres.Sessions{Pool: s.pool}
	session, err := sessions.Open(t.Context(), "42", history.Options{})
	require.NoError(t, err)
	d := compacttest.Of(t, session, append([]chat.Message{chat.UserMessage(compacttest.Task)}, compacttest.Rounds(1, 5, 660)...)...)
	d.Policy, d.Runner = policyFile(), s.queue.Run
	d.Messages()
	end, ok := sessiontest.Latest(t, session, entry.TypePlanEnd)
	require.True(t, ok)
	require.Contains(t, end.Body.(entry.PlanEnd).Error, "Queue.Hook")
}

func TestAPlanThatARenderWaitsForHasNoJob(t *testing.T) {
	s := newService(t, migrated(t))
	d := s.replica("42")
	d.Say(compacttest.Overflowing()...)
	d.Answers(models.SaySummary("At once."))
	require.Contains(t, compacttest.Text(d.Messages()), "At once.")
	require.Empty(t, s.jobs())
}

func TestAPoolMayUseAnyQueryExecMode(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			own := migrated(t).Config()
			pool := connected(t, cluster.URL, func(c *pgxpool.Config) {
				c.ConnConfig.RuntimeParams, c.ConnConfig.DefaultQueryExecMode = own.ConnConfig.RuntimeParams, mode
			})
			s := newService(t, pool)
			s.planned("42")
			s.start(s.worker(saying("Made by a worker.")))
			s.becomes(rivertype.JobStateCompleted)
			require.Contains(t, compacttest.Text(s.replica("42").Messages()), "Made by a worker.")
		})
	}
}

func TestJobsAreWorkedBehindATransactionPooler(t *testing.T) {
	postgrestest.Needs(t, cluster)
	pool := connected(t, cluster.Pooler(t, 4), func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec })
	migrate(t, pool) // in the default schema, which no other test uses
	s := newService(t, pool)
	s.config.PollOnly = true
	s.start(s.worker(saying("Made behind a pooler.")))
	var names []string
	for i := range 8 {
		name := fmt.Sprint("pooled", i)
		s.planned(name)
		names = append(names, name)
	}
	require.Eventually(t, func() bool {
		for _, job := range s.jobs() {
			if job.State != rivertype.JobStateCompleted {
				return false
			}
		}
		return true
	}, 30*time.Second, 20*time.Millisecond)
	for _, name := range names {
		require.Contains(t, compacttest.Text(s.replica(name).Messages()), "Made behind a pooler.")
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/jobs"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// fetchEvery is the interval at which River looks for jobs. With its default of 100 ms, a client starts at most ten
// jobs a second for each worker.
const fetchEvery = 10 * time.Millisecond

// compact measures the compactions per second of workers. Each compacts a session of the rotation to half of its
// rounds.
func compact(ctx context.Context, o options, url string) (rows []row, err error) {
	return rows, part{compactions, promptree{}}.in(ctx, url, func(place *place) error {
		r := row{Part: compactions, Contestant: "summarize/jobs", Size: o.jobs}
		if err := (promptree{}).fill(ctx, place, 1, o.jobs, 2*rounds); err != nil {
			return err
		}
		pool, err := place.connect(ctx, o.clients, &wire{})
		if err != nil {
			return err
		}
		defer pool.Close()
		migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
		if err == nil {
			_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		}
		if err != nil {
			return err
		}
		queue := &jobs.Queue{}
		compactor := func(s *history.Session) *summarize.Compactor {
			c := promptree{}.compactor(s)
			c.Target.Model, c.Runner = models.Offline{Tokenizer: counter}, queue
			c.Policy = policy.Policy{
				Name: "scale", Trigger: policy.Trigger{{On: policy.OnRender, Messages: 2 * rounds, Background: true}}, Cut: history.Cut{Rounds: rounds / 2},
			}
			return c
		}
		workers := river.NewWorkers()
		river.AddWorker(workers, &jobs.Worker{
			Sessions: &postgres.Sessions{Pool: pool},
			Compactor: func(_ context.Context, _ jobs.Args, s *history.Session) (*summarize.Compactor, error) {
				return compactor(s), nil
			},
		})
		queue.Client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
			Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: o.clients}},
			FetchCooldown: fetchEvery, FetchPollInterval: fetchEvery, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		if err := place.settle(ctx); err != nil {
			return err
		}
		stop := watchMemory()
		defer func() {
			if stop != nil {
				stop()
			}
		}()

		sessions := &postgres.Sessions{Pool: pool, Hooks: []postgres.Hook{queue.Hook()}}
		var took []time.Duration
		for i := range o.jobs {
			begun := time.Now()
			if err := plan(ctx, sessions, sessionName(i+1), compactor); err != nil {
				return err
			}
			took = append(took, time.Since(begun))
		}
		r.Steps, r.P50 = len(took), quantile(took, 0.5)

		begun, used := time.Now(), cpu()
		if err := queue.Client.Start(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, queue.Client.StopAndCancel(context.WithoutCancel(ctx))) }()
		for done := 0; done < o.jobs; {
			time.Sleep(20 * time.Millisecond)
			var failed int
			err := place.QueryRow(ctx, "SELECT count(*) FILTER (WHERE state = 'completed'), count(*) FILTER (WHERE errors IS NOT NULL) FROM river_job").Scan(&done, &failed)
			if err != nil {
				return err
			}
			if failed > 0 {
				return fmt.Errorf("%d of %d jobs failed", failed, o.jobs)
			}
		}
		passed := time.Since(begun)
		r.ClientSteps, r.PerSecond, r.CPU = o.jobs, float64(o.jobs)/passed.Seconds(), (cpu()-used)/time.Duration(o.jobs)
		r.Memory = stop()
		stop = nil
		s, err := sessions.Open(ctx, sessionName(o.jobs), history.Options{})
		if err != nil {
			return err
		}
		defer s.Close()
		view, err := s.View(ctx)
		if err == nil && (len(view.Compacted) == 0 || len(view.Turns) != rounds/2) {
			err = fmt.Errorf("session %s shows %d messages of a compaction and %d turns after its job: it should show %d turns",
				sessionName(o.jobs), len(view.Compacted), len(view.Turns), rounds/2)
		}
		rows = append(rows, r)
		return err
	})
}

// plan opens a session and renders its prompt, which enqueues a job.
func plan(ctx context.Context, sessions *postgres.Sessions, name string, compactor func(*history.Session) *summarize.Compactor) (err error) {
	s, err := sessions.Open(ctx, name, history.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	c := compactor(s)
	defer func() { err = errors.Join(err, c.Close()) }()
	_, err = c.Render(ctx, prompt(s))
	return err
}

package jobs_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/jobs"
	"github.com/promptree-go/promptree/summarize/models"
)

// A process that answers requests and runs plans. Any number of such processes may share a database.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	if err := prepare(ctx, pool); err != nil {
		fmt.Println(err)
		return
	}

	tokenizer, err := tiktoken.ForModel("gpt-4o")
	if err != nil {
		fmt.Println(err)
		return
	}
	queue := &jobs.Queue{}
	newCompactor := func(s *history.Session) *summarize.Compactor {
		return &summarize.Compactor{
			Session: s, Policy: copilotchat.Policy(), Runner: queue.Run,
			Target: summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 100_000},
		}
	}

	workers := river.NewWorkers()
	river.AddWorker(workers, &jobs.Worker{
		Sessions: &postgres.Sessions{Pool: pool},
		Attempt:  90 * time.Second,
		Compactor: func(_ context.Context, _ jobs.Args, s *history.Session) (*summarize.Compactor, error) {
			return newCompactor(s), nil
		},
	})
	queue.Client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
		RescueStuckJobsAfter: 2 * time.Minute,
	})
	if err == nil {
		err = queue.Client.Start(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer queue.Client.Stop(ctx)

	sessions := &postgres.Sessions{Pool: pool, Tenant: "acme", Hooks: []postgres.Hook{queue.Hook()}}
	session, err := sessions.Open(ctx, "42", history.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	if err := session.Append(ctx, chat.UserMessage("Why does the build fail?")); err != nil {
		fmt.Println(err)
		return
	}
	compactor := newCompactor(session)
	defer compactor.Close()
	step := agent.Agent{Compactor: compactor, Prompt: el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		history.All{Session: session},
	)}
	answer, err := step.Step(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Message().Text())
}

// prepare creates or updates the tables of sessions and of jobs.
func prepare(ctx context.Context, pool *pgxpool.Pool) error {
	if err := postgres.Migrate(ctx, pool); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	return err
}

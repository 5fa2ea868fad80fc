// Package jobs carries compactions out as River jobs, for services whose sessions are in PostgreSQL: a summary that takes forty
// seconds is made by a worker, in whatever process, and survives that process.
//
// A replica that decides to compact in the background appends a plan to the session; a [Queue] enqueues a job for it in the same
// transaction. A [Worker] opens the session, asks models, and appends the compaction; the job is completed in the transaction of
// that append. No transaction is open while a model is asked. Whoever renders the session meanwhile sees that the plan is
// pending and goes on as if a goroutine of its own made the summary; only a prompt that does not fit without it waits.
//
//	pool, err := pgxpool.New(ctx, url)
//	err = postgres.Migrate(ctx, pool)
//	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
//	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
//
//	workers := river.NewWorkers()
//	river.AddWorker(workers, &jobs.Worker{Sessions: &postgres.Sessions{Pool: pool}, Compactor: newCompactor})
//	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
//		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
//	})
//	err = client.Start(ctx)
//
// Every policy works by workers as it does by goroutines, with one difference: a fork of the prompt's cached prefix can be asked
// for only where the prompt was sent, so a worker makes a request of its own, and an event of the kind
// [summarize.EventRefused] says so. A plan that somebody waits for, because the prompt does not fit, is carried out where the prompt
// is rendered, and has no job.
//
// # What River does
//
// A failure that may pass is tried again by River, after 1 s, 16 s, 81 s ([Worker.Retry]) or when the provider asks, as long
// as the plan has time and the job attempts. Parts of a summary that were had are kept for the next attempt. A job that is cancelled
// ([river.Client.JobCancel]) ends its plan, and the policy's pause begins. [river.Client.Stop] waits for what is being made; a
// client that does not (StopAndCancel, or Config.SoftStopTimeout) leaves it to another, and that is no attempt.
//
// # A process that is killed
//
// leaves its job running, as River sees it, until the time of the attempt is over and River's RescueStuckJobsAfter, which is an hour
// by default. The plan does not wait for that: its time is 5 minutes (summarize.Ask.TimeLimit), and then the next prompt that needs a
// summary is given a new plan, with a job of its own; the old job finds its plan ended. For jobs to be taken up sooner set both below
// the plan's time:
//
//	&jobs.Worker{Attempt: 90 * time.Second, …}
//	&river.Config{RescueStuckJobsAfter: 2 * time.Minute, …} // more than JobTimeout, which is a minute
//
// However often a job is worked, and by however many workers at once, its plan has one effect: a compaction is placed only while its
// plan is pending, at the position up to which the worker has read.
//
// # Clocks
//
// A plan's time is by the clock of the replica that made it. A replica whose clock is ahead by more than that gives plans of others up
// early, and summaries are made in vain; nothing is lost. River gives a job the time of the replica that enqueues it and looks for jobs by
// the database's: a replica whose clock is ahead has its jobs begin that much later, and if that is more than a plan's time its
// prompts are compacted when they do not fit. If the clock of the process that leads River is ahead by more than RescueStuckJobsAfter,
// jobs that run are taken for lost and worked twice, with one effect.
//
// # Poolers
//
// Behind a pooler of transactions, such as PgBouncer, LISTEN does not arrive and statements cannot be prepared by name: set River's
// PollOnly, so that jobs are looked for every FetchPollInterval (1 s by default), and on the pool pgx's default_query_exec_mode=exec.
// An insert-only client needs neither PollOnly nor Start.
package jobs

// Package jobs runs compactions as jobs of River (github.com/riverqueue/river), for services whose sessions are in
// PostgreSQL. A summary may take forty seconds. A job lets a worker in any process make it, and nothing is lost if that
// process dies.
//
// Create the tables first, those of sessions and those of River:
//
//	err = postgres.Migrate(ctx, pool)
//	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
//	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
//
// Each replica of the service appends to sessions through a [Queue]:
//
//	queue := &jobs.Queue{}
//	sessions := &postgres.Sessions{Pool: pool, Hooks: []postgres.Hook{queue.Hook()}}
//	compactor := &summarize.Compactor{Runner: queue.Run, …} // and Session, Target and Policy
//
// Each process that makes summaries has a [Worker]. It may be the same process:
//
//	workers := river.NewWorkers()
//	river.AddWorker(workers, &jobs.Worker{Sessions: &postgres.Sessions{Pool: pool}, Compactor: newCompactor})
//	queue.Client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
//		Workers: workers,
//		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
//	})
//	err = queue.Client.Start(ctx)
//
// # What it does
//
// When a compactor decides to compact in the background, it appends a plan to the session. The queue enqueues a job in
// the same transaction. A worker opens the session, asks models and appends the compaction, and completes the job in
// the transaction of that append. No transaction is open while a model is asked.
//
// Meanwhile other replicas see the pending plan and go on, as if a goroutine of their own made the summary. Only a
// prompt that does not fit without the summary waits for it. Give every replica the Runner: one without it believes that
// the process of a plan in the queue has died, and plans anew.
//
// A plan that a caller waits for, because its prompt does not fit, runs where the prompt is rendered. It has no job.
//
// Policies behave as they do with goroutines, except that a worker cannot fork the prompt's cached prefix, which only
// the process that sent the prompt can. It makes a request of its own instead, and an event of kind
// [event.Refused] says so.
//
// # What it costs
//
// The job's row is inserted and completed in transactions that the session writes anyway; fetching it takes
// transactions of River's. The worker reads the session from the database. Its request for a summary pays in full for
// input that a fork would have read from the provider's cache.
//
// # What goes wrong
//
// A transient failure is retried by River after 1 s, 16 s, 81 s and so on ([Worker.Retry]), or when the provider asks,
// as long as the plan has time and the job has attempts. Summaries of parts that were finished are kept for the next
// attempt. Any other failure ends the plan and cancels the job.
//
// Cancelling a job ([river.Client.JobCancel]) ends its plan, and the policy's pause begins.
//
// [river.Client.Stop] waits for running jobs. StopAndCancel and Config.SoftStopTimeout do not wait: they leave running
// jobs to another client, and this does not count as an attempt.
//
// When a process is killed, River considers its job as running until the time of the attempt is over and
// RescueStuckJobsAfter has passed, an hour by default. The plan does not wait for that. Its worker's lease expires within
// 9 seconds ([history.Session.Claim]), and the next prompt that needs a summary gets a new plan and a new job. A plan
// whose job no worker has taken expires after 10 minutes (twice policy.Ask.Timeout). The old job, once rescued, finds its
// plan ended. To have jobs rescued sooner, set both times below the plan's:
//
//	&jobs.Worker{Attempt: 90 * time.Second, …}
//	&river.Config{RescueStuckJobsAfter: 2 * time.Minute, …} // must exceed River's JobTimeout, a minute by default
//
// A job that River starts a second time waits as long as the first worker has its lease. If that worker is cut off from
// the database for 9 seconds, two may work at a time. The plan still has only one effect, because a
// compaction is placed only while its plan is pending and the worker has read the session to its end.
//
// Clocks that differ cost time and money but lose nothing:
//
//   - A plan's end is a time by the clock of the replica that made it. A replica whose clock is ahead by more than a
//     plan's time considers new plans of others expired, and their summaries are wasted.
//   - The replica that enqueues a job writes its start time, and River compares that with the database's clock. If the
//     replica's clock is ahead, its jobs start that much later. If that exceeds a plan's time, its prompts are
//     compacted only when they no longer fit.
//   - If the clock of River's leader is ahead by more than RescueStuckJobsAfter, running jobs are taken for stuck and
//     worked twice.
//
// Behind a transaction pooler such as PgBouncer, LISTEN does not work and statements cannot be prepared by name. Set
// River's PollOnly, so that it looks for jobs every FetchPollInterval (1 s by default), and set pgx's
// default_query_exec_mode=exec on the pool. A client that only inserts jobs needs neither PollOnly nor Start.
package jobs

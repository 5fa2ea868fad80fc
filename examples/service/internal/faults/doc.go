// Package faults holds tests alone: what a service on PostgreSQL keeps to when its processes are killed, paused or have wrong
// clocks, and when its database is restarted, cut off or full. They run the service's program, several processes of it, and talk to
// it over HTTP as its users do.
//
// A fleet is a database with replicas and workers, and a load is conversations that go on over whatever replica is at hand. Each
// conversation keeps what it was told, and goes by the service's contract: whatever failed, it reads the transcript and says again
// what is not there. Once a fault is over, a check holds what the conversations were told against the transcripts, the transcripts
// against the database, and the database against what must hold of plans and jobs.
//
// They need Linux and PostgreSQL, that of the full disk root's rights, and are skipped where these are missing, and with -short.
//
// What is chosen at random follows from a seed that is printed. These variables change a run:
//
//   - PROMPTREE_SERVICE_SEED: the seed.
//   - PROMPTREE_SERVICE_KILLS: how many processes are killed. Defaults to 30.
//   - PROMPTREE_SERVICE_PAUSE: how long a replica is paused. Defaults to 3 seconds.
package faults

// Package faults holds only tests: the service of examples/service keeps its promises when its processes are killed or
// paused, and when its database is restarted, disconnected or full. The tests run several processes of the
// service and talk to them over HTTP as users do.
//
// A fleet is a database with replicas and workers. A load is a set of conversations, each of which talks to any
// replica. A conversation remembers what the service acknowledged and follows the service's contract: after any failure
// it reads the transcript and sends missing messages again. After a fault, a check compares the conversations with the
// transcripts, the transcripts with the database, and the database with the rules for plans and jobs.
//
// The tests need Linux and PostgreSQL; the one with a full disk needs root. They are skipped without these, and unless
// PROMPTREE_SERVICE_KILLS is set, as .ci/long does.
//
// Random choices follow from a seed that is printed. These variables change a run:
//
//   - PROMPTREE_SERVICE_SEED: the seed.
//   - PROMPTREE_SERVICE_KILLS: number of processes to kill. At least 30 check more.
//   - PROMPTREE_SERVICE_PAUSE: time for which a replica is paused. Defaults to 3 seconds.
package faults

//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/postgres"
)

// found holds the numbers that a check counted.
type found struct {
	sessions, messages, plans, background, foreground, dropped, jobs int
}

func (f found) String() string {
	return fmt.Sprintf("%d sessions with %d messages; %d plans: %d placed in the background, %d waited for, %d dropped; %d jobs",
		f.sessions, f.messages, f.plans, f.background, f.foreground, f.dropped, f.jobs)
}

// check compares conversations, transcripts and database. The fleet must be healthy, and no step may run. At the last
// check no job may be left.
func (l *load) check(last bool) (n found) {
	t := l.t
	t.Helper()
	require.False(t, t.Failed())
	l.f.ready()
	if last {
		l.settle()
	}
	ctx := t.Context()
	jobs := l.jobs() // read before the plans, because each is written together with its plan
	plans := map[string]bool{}
	for tenant := range tenants {
		sessions := &postgres.Sessions{Pool: l.f.direct, Tenant: tenant}
		for info, err := range sessions.List(ctx, "") {
			require.NoError(t, err)
			n.sessions++
			wrong, err := history.Verify(ctx, sessions.Store(info.Name))
			require.NoError(t, err)
			require.Empty(t, wrong, "session %s of %s", info.Name, tenant)
			session, err := sessions.Open(ctx, info.Name, history.Options{})
			require.NoError(t, err)
			var list []message
			for _, p := range l.f.replicas {
				eventually(t, 10*time.Second, func() error { // a step whose client left may end only now
					shown, err := newClient(tenants[tenant]).transcript(ctx, p.base(), info.Name)
					require.NoError(t, session.Refresh(ctx))
					if list = said(t, session, ""); err == nil && !slices.EqualFunc(list, plain(shown), message.equal) {
						err = fmt.Errorf("%d messages, and in the database %d", len(shown), len(list))
					}
					return err
				}, "the transcript of %s of %s by %s", info.Name, tenant, p.name)
			}
			n.messages += len(list)
			require.NoError(t, inOrder(list), "session %s of %s", info.Name, tenant)
			l.checkMessages(session, info.Name, tenant)
			l.checkPlans(session, &n, plans)
			require.NoError(t, session.Close())
		}
	}
	for plan, count := range jobs {
		n.jobs += count
		require.True(t, plans[plan], "a job of plan %q, which no session has", plan)
		require.Equal(t, 1, count, "jobs of plan %q", plan)
	}
	return n
}

// plain removes from messages the parts that the database and the service show differently.
func plain(list []message) []message {
	list = slices.Clone(list)
	for i, m := range list {
		if list[i].Calls = make([]json.RawMessage, len(m.Calls)); m.Role == "tool" {
			list[i].Text = ""
		}
	}
	return list
}

func (m message) equal(o message) bool {
	return m.Entry == o.Entry && m.Role == o.Role && m.Text == o.Text && len(m.Calls) == len(o.Calls)
}

// said returns the messages of a session on the path to an entry, in the form of transcripts.
func said(t *testing.T, s *history.Session, to string) (list []message) {
	t.Helper()
	for e, err := range s.PathTo(t.Context(), to) {
		require.NoError(t, err)
		if m, ok := e.Body.(entry.Message); ok {
			list = append(list, message{
				Entry: e.ID, Of: e.Of, Role: string(m.Role), Text: m.Text(), Calls: make([]json.RawMessage, len(m.ToolCalls)),
			})
		}
	}
	return plain(list)
}

// checkMessages compares the clients' messages with the whole session: every acknowledged message and branch is there,
// and no message is there twice.
func (l *load) checkMessages(s *history.Session, name, tenant string) {
	t := l.t
	t.Helper()
	entries := map[string]string{} // by the user's text
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		if m := e.Message(); e.Type() == entry.TypeMessage && m.Role == chat.RoleUser && e.Of == "" {
			require.Empty(t, entries[m.Text()], "said twice in %s of %s: %s", name, tenant, brief(m.Text()))
			entries[m.Text()] = e.ID
		}
	}
	known := map[string]bool{}
	talks := false
	for _, c := range l.list {
		talks = talks || c.name == name && c.tenant == tenant
		if c.name != name || c.tenant != tenant {
			continue
		}
		for text, found := range c.sent {
			known[text] = true
			if found != "" {
				require.Equal(t, found, entries[text], "%v: acknowledged: %s", c, brief(text))
			}
		}
		require.NoError(t, c.checkTranscript(said(t, s, "")), "%v", c)
		for _, path := range c.left {
			other := *c
			other.known = path
			require.NoError(t, other.checkTranscript(said(t, s, newest(path))), "%v: a branch that was left", c)
		}
	}
	for text := range entries {
		require.True(t, known[text] || !talks, "nobody said in %s of %s: %s", name, tenant, brief(text))
	}
}

// checkPlans checks that each plan of a session has at most one effect: on no path does a compaction end a plan that
// has ended. On a branch from before that the plan is pending again, and an end that comes late changes nothing.
func (l *load) checkPlans(s *history.Session, n *found, plans map[string]bool) {
	t := l.t
	t.Helper()
	all, parents, ends := map[string]entry.Plan{}, map[string]string{}, map[string]string{} // of an entry, the plan that it ends
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		parents[e.ID] = e.Parent
		switch b := e.Body.(type) {
		case entry.Plan:
			all[e.ID], plans[e.ID] = b, true
		case entry.PlanEnd:
			if b.Outcome != entry.PlanRetried {
				ends[e.ID] = b.Plan
				n.dropped++
			}
		case entry.Compaction:
			require.Contains(t, all, b.Plan, "compaction %s is of no plan before it", e.ID)
			for at := e.Parent; at != b.Plan; at = parents[at] {
				require.NotEmpty(t, at, "compaction %s is of plan %s, which is not on its path", e.ID, b.Plan)
				require.NotEqual(t, b.Plan, ends[at], "compaction %s is of plan %s, which %s ended", e.ID, b.Plan, at)
			}
			ends[e.ID] = b.Plan
			if all[b.Plan].Background {
				n.background++
			} else {
				n.foreground++
			}
		}
	}
	n.plans += len(all)
}

// unfinished selects the jobs that have not ended.
const unfinished = "state NOT IN ('completed', 'cancelled', 'discarded')"

// settle waits until no job is left. A job of a killed process is rescued only after its time, and a job with a time
// from a fast clock waits for that time; settle lets both pass.
func (l *load) settle() {
	t := l.t
	t.Helper()
	left := func() error {
		rows, err := l.f.direct.Query(t.Context(), "SELECT to_json(river_job)::text FROM river_job WHERE "+unfinished)
		var states []string
		if err == nil {
			states, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		if err == nil && len(states) > 0 {
			err = fmt.Errorf("%d jobs are left: %q", len(states), states)
		}
		return err
	}
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if left() == nil {
			return
		}
	}
	gone, err := l.f.direct.Exec(t.Context(), `UPDATE river_job SET attempted_at = attempted_at - interval '1 day'
		WHERE state = 'running' AND attempted_at < now() - interval '3 s'`)
	require.NoError(t, err)
	t.Logf("%d jobs of killed processes", gone.RowsAffected())
	l.f.stop() // the new leader looks for such jobs when it starts
	for _, p := range slices.Concat(l.f.replicas, l.f.workers) {
		p.start()
	}
	eventually(t, time.Minute, func() error {
		_, err := l.f.direct.Exec(t.Context(), "UPDATE river_job SET scheduled_at = now() WHERE scheduled_at > now() AND "+unfinished)
		require.NoError(t, err)
		return left()
	}, "jobs")
}

// jobs counts the jobs of each plan.
func (l *load) jobs() map[string]int {
	t := l.t
	t.Helper()
	rows, err := l.f.direct.Query(t.Context(), "SELECT args->>'plan', count(*) FROM river_job WHERE kind = 'promptree_compaction' GROUP BY 1")
	require.NoError(t, err)
	jobs := map[string]int{}
	var plan string
	var count int
	_, err = pgx.ForEachRow(rows, []any{&plan, &count}, func() error {
		jobs[plan] = count
		return nil
	})
	require.NoError(t, err)
	return jobs
}

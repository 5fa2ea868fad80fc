package postgres_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/postgrestest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

var cluster *postgrestest.Cluster // nil if there is none

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(func(c *postgrestest.Cluster) { cluster = c }, m.Run))
}

// pool returns a pool whose search path is a new, empty schema.
func pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	postgrestest.Needs(t, cluster)
	schema := postgrestest.Name()
	config, err := pgxpool.ParseConfig(cluster.URL)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["search_path"] = schema
	config.MaxConns = 8
	p, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := p.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE")
		require.NoError(t, err)
		p.Close()
	})
	_, err = p.Exec(t.Context(), "CREATE SCHEMA "+schema)
	require.NoError(t, err)
	return p
}

// migrated returns a pool whose schema is up to date.
func migrated(t testing.TB) *pgxpool.Pool {
	t.Helper()
	p := pool(t)
	require.NoError(t, postgres.Migrate(t.Context(), p))
	return p
}

// opened opens a session.
func opened(t testing.TB, sessions *postgres.Sessions, name string, o history.Options) *history.Session {
	t.Helper()
	s, err := sessions.Open(t.Context(), name, o)
	require.NoError(t, err)
	return s
}

func TestAStorePassesTheSuite(t *testing.T) {
	p := migrated(t)
	historytest.Run(t, historytest.Suite{
		Shared: true,
		New: func(t *testing.T) func() (storage.Store, error) {
			name := t.Name()
			return func() (storage.Store, error) {
				return (&postgres.Sessions{Pool: p, Tenant: "acme"}).Store(name), nil
			}
		},
	})
}

// counting is a tracer that counts the statements that are sent, each of which is a round trip.
type counting struct{ statements *atomic.Int64 }

func (c counting) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.statements.Add(1)
	return ctx
}

func (counting) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// counted returns a pool with the configuration of another, and the number of statements that it sends.
func counted(t testing.TB, p *pgxpool.Pool) (*pgxpool.Pool, *atomic.Int64) {
	t.Helper()
	config := p.Config()
	n := &atomic.Int64{}
	config.ConnConfig.Tracer = counting{n}
	other, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(other.Close)
	return other, n
}

func TestAnAppendAndTheViewAfterItTakeOneRoundTrip(t *testing.T) {
	p, statements := counted(t, migrated(t))
	sessions := &postgres.Sessions{Pool: p}
	s := opened(t, sessions, "long", history.Options{})
	for i := range 300 {
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(fmt.Sprint("question ", i)), chat.AssistantMessage("answer")))
	}
	require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("so far")}}))
	before := statements.Load()
	for range 5 {
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("and"), chat.AssistantMessage("so")))
		sessiontest.View(t, s)
	}
	require.Equal(t, int64(5), statements.Load()-before)

	before = statements.Load()
	again := opened(t, sessions, "long", history.Options{Cache: history.NewCache(1 << 20)})
	require.Len(t, sessiontest.View(t, again).Turns, 5)
	require.LessOrEqual(t, statements.Load()-before, int64(4), "the end, the header, the path, and the start of the turn that was cut")
}

func TestALookUpFindsWhatACompactionLeftOut(t *testing.T) {
	s := opened(t, &postgres.Sessions{Pool: migrated(t)}, "long", history.Options{Recall: true, Cache: history.NewCache(1)})
	filler := strings.Repeat(`"nothing",`, 5000)
	call := chat.AssistantMessage("I look.")
	call.ToolCalls = []chat.ToolCall{{ID: "1", Name: "list", Arguments: "{}"}}
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("What is there?"), call, chat.ToolResult("1", "["+filler+`"the key is K-7",`+filler+"]"), chat.AssistantMessage("Much.")))
	require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("There was much.")}}))
	tools := recall.Tools{Session: s}
	found, err := tools.Search(t.Context(), recall.Query{Words: "key is"})
	require.NoError(t, err)
	require.Contains(t, found, "result of list, 100019 bytes")
	require.Contains(t, found, "K-7")
	id := regexp.MustCompile(`"entry":"(\w+)"`).FindStringSubmatch(found)[1]
	text, err := tools.Read(t.Context(), recall.Range{Entry: id[len(id)-8:], From: 49_900, To: 50_100})
	require.NoError(t, err)
	require.Contains(t, text, `"the key is K-7"`)
}

func TestResolveReadsEntriesInOneRoundTrip(t *testing.T) {
	p, statements := counted(t, migrated(t))
	sessions := &postgres.Sessions{Pool: p}
	s := opened(t, sessions, "long", history.Options{})
	for i := range 50 {
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(fmt.Sprint("question ", i)), chat.AssistantMessage("answer")))
	}
	again := opened(t, sessions, "long", history.Options{Cache: history.NewCache(1)})
	retained, err := again.Retained(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, retained.Said, 50)
	before := statements.Load()
	said, err := again.Resolve(t.Context(), retained.Said...)
	require.NoError(t, err)
	require.Len(t, said, 50)
	require.Equal(t, "question 49", said[49].Message().Text())
	require.Equal(t, int64(1), statements.Load()-before)
}

// The header is read separately, and bytes are sent in binary. As text each would take two.
func TestOpeningReceivesLittleMoreThanTheView(t *testing.T) {
	p, received := receiving(t, migrated(t))
	sessions := &postgres.Sessions{Pool: p}
	s := opened(t, sessions, "one", history.Options{})
	for range 30 { // a page
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(strings.Repeat("hello ", 1000))))
	}
	for first := range 2 {
		before := received.Load()
		again := opened(t, sessions, "one", history.Options{Cache: history.NewCache(1 << 20)})
		sessiontest.View(t, again)
		if first > 0 { // a new connection also receives the types of the columns
			require.Less(t, received.Load()-before, int64(30*6000*5/4))
		}
	}
}

// Older lines may be large, for example compactions with what they retain.
func TestTheFirstPageIsLimitedInBytes(t *testing.T) {
	p, received := receiving(t, migrated(t))
	store := (&postgres.Sessions{Pool: p}).Store("one")
	for at := range storage.Position(40) {
		_, err := store.Append(t.Context(), at, storage.Line{ID: fmt.Sprint(at), Kind: "any", Data: []byte(strings.Repeat("x", 40_000))})
		require.NoError(t, err)
	}
	for range 2 {
		before := received.Load()
		for _, err := range store.Back(t.Context(), 40, "") {
			require.NoError(t, err)
			break
		}
		require.Less(t, received.Load()-before, int64(100_000))
	}
}

func TestReadingAPathScansOnlyItsPages(t *testing.T) {
	p := migrated(t)
	for _, sql := range []string{ // the lines of six sessions, interleaved
		"INSERT INTO promptree_sessions (tenant, name, lines, bytes) SELECT '', s, 1001, 600600 FROM generate_series(1, 6) AS s",
		`INSERT INTO promptree_lines (session, at, id, parent, kind, data)
			SELECT session, at, convert_to('e' || at, 'UTF8'), CASE WHEN at > 1 THEN convert_to('e' || at - 1, 'UTF8') ELSE '' END, 'any', convert_to(repeat('x', 600), 'UTF8')
			FROM promptree_sessions, generate_series(0, 1000) AS at ORDER BY at, session`,
		"ANALYZE promptree_sessions, promptree_lines",
	} {
		_, err := p.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	tx, err := p.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	read := func() (rows int) {
		require.NoError(t, tx.QueryRow(t.Context(), "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'promptree_lines'::regclass").Scan(&rows))
		return rows
	}
	before, n := read(), 0
	for line, err := range (&postgres.Sessions{Pool: tx}).Store("3").Back(t.Context(), 2000, "") {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("e", 1000-n), line.ID)
		if n++; n == 60 {
			break
		}
	}
	require.Less(t, read()-before, 200)
}

// countingConn counts the bytes that it reads.
type countingConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// receiving returns a pool of one connection with the configuration of another, and the number of bytes that it reads.
func receiving(t testing.TB, p *pgxpool.Pool) (*pgxpool.Pool, *atomic.Int64) {
	t.Helper()
	config := p.Config()
	n := &atomic.Int64{}
	config.MaxConns = 1
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return countingConn{conn, n}, err
	}
	other, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(other.Close)
	return other, n
}

func TestATenantSeesOnlyItsOwnSessions(t *testing.T) {
	p := migrated(t)
	acme, other := &postgres.Sessions{Pool: p, Tenant: "acme"}, &postgres.Sessions{Pool: p, Tenant: "other"}
	for _, name := range []string{"b", "a", "", "ä", "c/d"} {
		require.NoError(t, opened(t, acme, name, history.Options{}).Append(t.Context(), chat.UserMessage("for acme, in "+name)))
	}
	require.Empty(t, opened(t, other, "a", history.Options{}).Leaf(), "a new session, not acme's of the same name")
	require.Equal(t, []string{"", "a", "b", "c/d", "ä"}, names(t, acme, ""))
	require.Equal(t, []string{"b", "c/d", "ä"}, names(t, acme, "a"))
	require.Equal(t, []string{"a"}, names(t, other, ""))
	for info, err := range acme.List(t.Context(), "") {
		require.NoError(t, err)
		require.Equal(t, int64(2), info.Lines)
		require.Greater(t, info.Bytes, int64(100))
		require.WithinDuration(t, time.Now(), info.Appended, time.Minute)
		alone, err := acme.Info(t.Context(), info.Name)
		require.NoError(t, err)
		require.Equal(t, info, alone)
	}
	_, err := other.Info(t.Context(), "b")
	require.ErrorIs(t, err, postgres.ErrNoSession)
	removed, err := acme.Clear(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, removed)
	require.Empty(t, names(t, acme, ""))
	require.Equal(t, []string{"a"}, names(t, other, ""))
	var lines int
	require.NoError(t, p.QueryRow(t.Context(), "SELECT count(*) FROM promptree_lines").Scan(&lines))
	require.Equal(t, 1, lines, "the lines of removed sessions are removed too")
}

func names(t *testing.T, s *postgres.Sessions, after string) []string {
	t.Helper()
	var list []string
	for info, err := range s.List(t.Context(), after) {
		require.NoError(t, err)
		list = append(list, info.Name)
	}
	return list
}

func TestListReturnsEveryPage(t *testing.T) {
	p := migrated(t)
	_, err := p.Exec(t.Context(), "INSERT INTO promptree_sessions (tenant, name, lines, bytes) SELECT '', 'n' || i, 0, 0 FROM generate_series(1, 1201) AS i")
	require.NoError(t, err)
	list := names(t, &postgres.Sessions{Pool: p}, "")
	require.Len(t, list, 1201)
	require.True(t, slices.IsSorted(list))
}

func TestExpireRemovesTheOldestSessionsFirst(t *testing.T) {
	p := migrated(t)
	sessions := &postgres.Sessions{Pool: p}
	for i, name := range []string{"old", "older", "oldest", "new"} {
		require.NoError(t, opened(t, sessions, name, history.Options{}).Append(t.Context(), chat.UserMessage("hello")))
		if name != "new" {
			_, err := p.Exec(t.Context(), "UPDATE promptree_sessions SET appended = now() - make_interval(days => $1) WHERE name = $2", 10+i, name)
			require.NoError(t, err)
		}
	}
	open := opened(t, sessions, "oldest", history.Options{})
	removed, err := sessions.Expire(t.Context(), time.Now().AddDate(0, 0, -7), 2)
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	require.Equal(t, []string{"new", "old"}, names(t, sessions, ""))
	require.ErrorIs(t, open.Append(t.Context(), chat.UserMessage("on")), postgres.ErrNoSession)

	again := opened(t, sessions, "oldest", history.Options{})
	require.ErrorIs(t, open.Append(t.Context(), chat.UserMessage("on")), postgres.ErrNoSession, "a new session of the same name is another")
	require.NoError(t, again.Append(t.Context(), chat.UserMessage("anew")))
}

func TestReopenDoesNotCreateASession(t *testing.T) {
	sessions := &postgres.Sessions{Pool: migrated(t)}
	_, err := sessions.Reopen(t.Context(), "42", history.Options{})
	require.ErrorIs(t, err, postgres.ErrNoSession)
	require.Empty(t, names(t, sessions, ""))
	s := opened(t, sessions, "42", history.Options{})
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("hello")))
	s, err = sessions.Reopen(t.Context(), "42", history.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), chat.AssistantMessage("hi")))
}

func TestTheWritesOfAHookAndTheLinesAreCommittedTogetherOrNotAtAll(t *testing.T) {
	p := migrated(t)
	_, err := p.Exec(t.Context(), "CREATE TABLE plans (tenant text, name text, at bigint, plan text)")
	require.NoError(t, err)
	refuse := error(nil)
	counted, statements := counted(t, p)
	sessions := &postgres.Sessions{Pool: counted, Tenant: "acme", Hooks: []postgres.Hook{{
		Wants: func(lines []storage.Line) bool { return lines[0].Kind == string(entry.TypePlan) },
		Do: func(ctx context.Context, tx pgx.Tx, a postgres.Appended) error {
			_, err := tx.Exec(ctx, "INSERT INTO plans VALUES ($1, $2, $3, $4)", a.Tenant, a.Name, a.At, a.Lines[0].ID)
			return cmp.Or(refuse, err)
		},
	}}}
	s := opened(t, sessions, "one", history.Options{})
	before := statements.Load()
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("hello")))
	require.Equal(t, int64(1), statements.Load()-before, "no hook wants a message")
	added := sessiontest.Add(t, s, entry.Entry{Body: entry.Plan{Policy: "p"}})
	refuse = errors.New("the queue is full")
	_, err = s.Add(t.Context(), entry.Entry{Body: entry.Plan{Policy: "p"}})
	require.ErrorIs(t, err, refuse)
	refuse = pgx.ErrNoRows
	_, err = s.Add(t.Context(), entry.Entry{Body: entry.Plan{Policy: "p"}})
	require.ErrorIs(t, err, refuse)
	_, conflict := errors.AsType[*storage.ConflictError](err)
	require.False(t, conflict, "the position was free")
	rows, err := p.Query(t.Context(), "SELECT tenant || '/' || name || ' ' || at || ' ' || plan FROM plans")
	require.NoError(t, err)
	plans, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"acme/one 2 " + added[0].ID}, plans)
	require.Equal(t, added[0].ID, s.Leaf())
	end, err := sessions.Store("one").End(t.Context())
	require.NoError(t, err)
	require.Equal(t, storage.Position(3), end)
}

// A process that is paused during a hook blocks the session's row.
func TestTheServerEndsATransactionWithAPausedHookAfterTenSeconds(t *testing.T) {
	sessions := &postgres.Sessions{Pool: migrated(t)}
	var first, later, after string
	show := func(in *string) []postgres.Hook {
		return []postgres.Hook{{Do: func(ctx context.Context, tx pgx.Tx, _ postgres.Appended) error {
			return tx.QueryRow(ctx, "SHOW idle_in_transaction_session_timeout").Scan(in)
		}}}
	}
	sessions.Hooks = show(&first)
	s := opened(t, sessions, "one", history.Options{})
	sessions.Hooks = show(&later)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("hello")))
	require.NoError(t, sessions.Pool.QueryRow(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&after))
	require.Equal(t, []string{"10s", "10s", "0"}, []string{first, later, after})
}

func TestReadingASessionThatIsRemovedMeanwhileEndsWithAnError(t *testing.T) {
	p := migrated(t)
	sessions := &postgres.Sessions{Pool: p}
	for name, read := range map[string]iter.Seq2[storage.Stored, error]{
		"Read": sessions.Store("one").Read(t.Context(), 0), "Back": sessions.Store("one").Back(t.Context(), 1000, ""),
	} {
		s := opened(t, sessions, "one", history.Options{})
		for range 200 {
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("hello")))
		}
		n, last := 0, error(nil)
		for _, err := range read {
			if n++; n == 1 {
				_, err := sessions.Clear(t.Context())
				require.NoError(t, err)
			}
			last = err
		}
		require.Less(t, n, 100)
		require.ErrorIs(t, last, postgres.ErrNoSession, name)
	}
}

func TestErasedContentIsSubtractedFromTheSize(t *testing.T) {
	p := migrated(t)
	sessions := &postgres.Sessions{Pool: p}
	s := opened(t, sessions, "one", history.Options{})
	require.NoError(t, s.Append(t.Context(), chat.UserMessage(strings.Repeat("secret ", 1000))))
	_, err := s.Erase(t.Context(), s.Leaf())
	require.NoError(t, err)
	for info, err := range sessions.List(t.Context(), "") {
		require.NoError(t, err)
		var bytes int64
		require.NoError(t, p.QueryRow(t.Context(), "SELECT sum(octet_length(data)) FROM promptree_lines").Scan(&bytes))
		require.Equal(t, bytes, info.Bytes)
		require.Less(t, bytes, int64(1000))
	}
	_, err = sessions.Store("one").Append(t.Context(), 0, storage.Line{ID: "x", Kind: "y", Data: []byte("{}")})
	require.Equal(t, storage.Position(3), errtest.As[*storage.ConflictError](t, err).End)
}

func TestALeaseOfARemovedSessionIsRefused(t *testing.T) {
	sessions := &postgres.Sessions{Pool: migrated(t)}
	store := sessions.Store("one")
	_, err := store.Lease(t.Context(), "e1", "a", time.Minute)
	require.ErrorIs(t, err, postgres.ErrNoSession)
	s := opened(t, sessions, "one", history.Options{})
	held, err := store.Lease(t.Context(), "e1", "a", time.Minute)
	require.NoError(t, err)
	require.True(t, held)
	require.NoError(t, s.Remove(t.Context()))
	_, err = store.Lease(t.Context(), "e1", "a", time.Minute)
	require.ErrorIs(t, err, postgres.ErrNoSession)
	var leases int
	require.NoError(t, sessions.Pool.QueryRow(t.Context(), "SELECT count(*) FROM promptree_leases").Scan(&leases))
	require.Zero(t, leases)
}

func TestTakingALeaseDeletesThoseThatExpiredAnHourAgo(t *testing.T) {
	p := migrated(t)
	sessions := &postgres.Sessions{Pool: p}
	var stores []*postgres.Store
	for _, name := range []string{"one", "two"} {
		_ = opened(t, sessions, name, history.Options{})
		store := sessions.Store(name)
		stores = append(stores, store)
		for i := range 3 {
			_, err := store.Lease(t.Context(), fmt.Sprint("e", i), "a", time.Minute)
			require.NoError(t, err)
		}
	}
	_, err := p.Exec(t.Context(), "UPDATE promptree_leases SET until = now() - interval '59 minutes' WHERE work = 'e0'")
	require.NoError(t, err)
	_, err = p.Exec(t.Context(), "UPDATE promptree_leases SET until = now() - interval '61 minutes' WHERE work <> 'e0'")
	require.NoError(t, err)
	counted, statements := counted(t, p)
	before := statements.Load()
	again := (&postgres.Sessions{Pool: counted}).Store("one")
	for range 2 {
		held, err := again.Lease(t.Context(), "e2", "b", time.Minute)
		require.NoError(t, err)
		require.True(t, held)
		_, err = again.Lease(t.Context(), "e2", "c", time.Minute)
		require.NoError(t, err)
	}
	require.Equal(t, int64(5), statements.Load()-before, "the session's key, and one for each call")
	for work, want := range map[string]storage.LeaseState{"e0": storage.LeaseExpired, "e1": storage.LeaseNone, "e2": storage.LeaseHeld} {
		state, err := again.Leased(t.Context(), work)
		require.NoError(t, err)
		require.Equal(t, want, state, work)
	}
	state, err := stores[1].Leased(t.Context(), "e1")
	require.NoError(t, err)
	require.Equal(t, storage.LeaseExpired, state, "another session's")
}

func TestAClaimInOneProcessIsSeenInAnotherUntilItIsReleasedOrExpires(t *testing.T) {
	sessions := &postgres.Sessions{Pool: migrated(t)}
	open := func() *history.Session {
		s := opened(t, sessions, "one", history.Options{})
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	state := func(s *history.Session) storage.LeaseState {
		state, err := s.Claimed(t.Context(), "e1")
		require.NoError(t, err)
		return state
	}
	first, second := open(), open()
	for _, end := range []func(){func() { first.Release("e1") }, func() { require.NoError(t, first.Close()) }} {
		claimed, err := first.Claim(t.Context(), "e1", time.Minute)
		require.NoError(t, err)
		require.True(t, claimed)
		claimed, err = second.Claim(t.Context(), "e1", time.Minute)
		require.NoError(t, err)
		require.False(t, claimed)
		require.Equal(t, storage.LeaseHeld, state(second))
		end()
		require.Equal(t, storage.LeaseNone, state(second))
	}
	_, err := sessions.Store("one").Lease(t.Context(), "e1", "a process that died", time.Millisecond)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return state(second) == storage.LeaseExpired }, 10*time.Second, time.Millisecond)
	claimed, err := second.Claim(t.Context(), "e1", time.Minute)
	require.NoError(t, err)
	require.True(t, claimed)
}

func TestConcurrentMigrationsRunOnce(t *testing.T) {
	p := pool(t)
	_, err := (&postgres.Sessions{Pool: p}).Open(t.Context(), "one", history.Options{})
	require.ErrorContains(t, err, "call Migrate first")
	var group errgroup
	for range 8 {
		group.Go(func() error { return postgres.Migrate(context.Background(), p) })
	}
	require.NoError(t, group.Wait())
	var versions int
	require.NoError(t, p.QueryRow(t.Context(), "SELECT count(*) FROM promptree_migrations").Scan(&versions))
	require.Equal(t, 2, versions)
	_, err = p.Exec(t.Context(), "INSERT INTO promptree_migrations VALUES (1000)")
	require.NoError(t, err)
	require.ErrorContains(t, postgres.Migrate(t.Context(), p), "use a newer one")
}

func TestMigrateOfACurrentSchemaNeedsNoRightToChangeIt(t *testing.T) {
	owner := migrated(t)
	role := postgrestest.Name()
	var schema string
	require.NoError(t, owner.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema))
	for _, sql := range []string{
		"CREATE ROLE %[2]s", "GRANT %[2]s TO CURRENT_USER", "GRANT USAGE ON SCHEMA %[1]s TO %[2]s",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[1]s TO %[2]s",
	} {
		_, err := owner.Exec(t.Context(), fmt.Sprintf(sql, schema, role))
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		_, err := owner.Exec(context.Background(), fmt.Sprintf("DROP OWNED BY %[1]s; DROP ROLE %[1]s", role), pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
	})
	config := owner.Config()
	config.ConnConfig.RuntimeParams["role"] = role
	p, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, postgres.Migrate(t.Context(), p))
	s := opened(t, &postgres.Sessions{Pool: p}, "one", history.Options{})
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("Hello.")))
	require.NoError(t, s.Remove(t.Context()))
}

// errgroup runs functions in goroutines and joins their errors.
type errgroup struct {
	sync.WaitGroup
	mu  sync.Mutex
	err error
}

func (g *errgroup) Go(f func() error) {
	g.WaitGroup.Go(func() {
		err := f()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.err = errors.Join(g.err, err)
	})
}

func (g *errgroup) Wait() error {
	g.WaitGroup.Wait()
	return g.err
}

// Ids may hold bytes that a text column refuses, and lines may be long.
func TestLinesComeBackByteForByte(t *testing.T) {
	p := migrated(t)
	sessions := &postgres.Sessions{Pool: p}
	s := opened(t, sessions, "one", history.Options{})
	long := strings.Repeat("x\x00ÿ", 1<<17)
	added, err := s.Add(t.Context(), entry.Entry{ID: "\x00", Body: entry.Message{Message: chat.UserMessage(long)}},
		entry.Entry{ID: "ü\n", Parent: "\x00", Body: entry.Custom{Name: "own", Data: []byte(`"\u0000"`)}})
	require.NoError(t, err)
	for range 5 { // each is a page by itself
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(long)))
	}
	again := opened(t, sessions, "one", history.Options{Cache: history.NewCache(1)})
	for _, want := range added {
		require.Equal(t, want.Body, sessiontest.Entry(t, again, want.ID).Body)
	}
	wrong, err := history.Verify(t.Context(), sessions.Store("one"))
	require.NoError(t, err)
	require.Empty(t, wrong)
}

func TestAfterALostConnectionNoAcknowledgedMessageIsLostOrDuplicated(t *testing.T) {
	p := migrated(t)
	s := opened(t, &postgres.Sessions{Pool: p}, "one", history.Options{})
	stop := make(chan struct{})
	var cutter sync.WaitGroup
	cutter.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_, _ = p.Exec(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%promptree_lines%'")
			}
		}
	})
	var said []string
	failed := 0
	for i := range 200 {
		text := fmt.Sprint("message ", i)
		if err := s.Append(t.Context(), chat.UserMessage(text)); err != nil {
			failed++
			for s.Refresh(t.Context()) != nil {
				time.Sleep(time.Millisecond)
			}
			if last, err := s.Entry(t.Context(), ""); err != nil || last.Message().Text() != text {
				continue // it was not written
			}
		}
		said = append(said, text)
	}
	close(stop)
	cutter.Wait()
	p.Reset() // closes connections that were cut
	t.Logf("%d appends failed", failed)
	v := sessiontest.View(t, s)
	var kept []string
	for _, m := range v.Messages() {
		kept = append(kept, m.Text())
	}
	require.Equal(t, said, kept)
}

// The pooler has fewer connections than there are sessions.
func TestSessionsWorkBehindATransactionPooler(t *testing.T) {
	postgrestest.Needs(t, cluster)
	p, err := pgxpool.New(t.Context(), cluster.Pooler(t, 2))
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, postgres.Migrate(t.Context(), p))
	sessions := &postgres.Sessions{Pool: p, Tenant: postgrestest.Name()}
	var group errgroup
	for i := range 20 {
		group.Go(func() error {
			s, err := sessions.Open(context.Background(), fmt.Sprint(i), history.Options{})
			for k := 0; k < 20 && err == nil; k++ {
				err = s.Append(context.Background(), chat.UserMessage(fmt.Sprint("message ", k)))
				if err == nil {
					_, err = s.Claim(context.Background(), s.Leaf(), time.Minute)
				}
			}
			return errors.Join(err, s.Close())
		})
	}
	require.NoError(t, group.Wait())
	for info, err := range sessions.List(t.Context(), "") {
		require.NoError(t, err)
		require.Equal(t, int64(21), info.Lines)
	}
	_, err = sessions.Clear(t.Context())
	require.NoError(t, err)
}

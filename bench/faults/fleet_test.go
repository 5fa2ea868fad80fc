//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/internal/test/postgrestest"
)

// window is the context window of the sessions, in tokens, so small that compactions happen all the time.
const window = 6000

// think is the time that the model takes for an answer or a summary.
const think = 30 * time.Millisecond

// limit is the longest time for a compaction. After it, the compaction of a killed process is made anew.
const limit = 3 * time.Second

// nowhere is an address at which nobody listens.
const nowhere = "http://localhost:1"

// tenants and their tokens. Both have sessions of the same names.
var tenants = map[string]string{"acme": "token-of-acme", "umbrella": "token-of-umbrella"}

// fleet is a database with processes of the service.
type fleet struct {
	t                 *testing.T
	program           string // path of the service's program
	dir               string // folder of the logs and the file of tokens
	cluster           *postgrestest.Cluster
	database          string // URL for the processes
	direct            *pgxpool.Pool
	replicas, workers []*process
}

// layout describes a fleet.
type layout struct {
	replicas, workers int
	// own is the number of workers in each replica.
	own int
	// pooled puts a PgBouncer with that many connections between the processes and the database; 0 for none.
	pooled int
	// cluster of the database. Defaults to the one that all tests share.
	cluster *postgrestest.Cluster
	// empty leaves it to the caller to start the processes.
	empty bool
}

// newFleet creates a database and starts processes.
func newFleet(t *testing.T, l layout) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), cluster: l.cluster}
	if f.cluster == nil {
		f.cluster = common
	}
	postgrestest.Needs(t, f.cluster)
	f.program = program(t)
	name := postgrestest.Name()
	admin, err := pgxpool.New(context.Background(), f.cluster.URL)
	require.NoError(t, err)
	_, err = admin.Exec(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	t.Cleanup(func() {
		admin.Reset() // the database may have been restarted
		_, err := admin.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		admin.Close()
		require.NoError(t, err)
	})
	f.database = named(t, f.cluster.URL, name)
	config, err := pgxpool.ParseConfig(f.database)
	require.NoError(t, err)
	config.MaxConns = 4
	f.direct, err = pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(f.direct.Close)
	require.NoError(t, postgres.Migrate(t.Context(), f.direct))
	migrator, err := rivermigrate.New(riverpgxv5.New(f.direct), nil)
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	flags := []string{"-work", fmt.Sprint(l.own)}
	if l.pooled > 0 {
		f.database = named(t, f.cluster.Pooler(t, l.pooled), name)
		flags = append(flags, "-poll")
	}
	var tokens strings.Builder
	for tenant, token := range tenants {
		fmt.Fprintln(&tokens, tenant, token)
	}
	require.NoError(t, os.WriteFile(f.tokens(), []byte(tokens.String()), 0o600))
	for n := range l.replicas {
		f.replicas = append(f.replicas, f.process(fmt.Sprint("replica", n), flags...))
	}
	for n := range l.workers {
		f.workers = append(f.workers, f.process(fmt.Sprint("worker", n), append(flags[2:len(flags):len(flags)], "-work", "2")...))
	}
	t.Cleanup(func() {
		for _, p := range f.all() {
			p.kill()
		}
		if t.Failed() {
			for _, p := range f.all() {
				t.Logf("the last lines of %s:\n%s", p.name, p.tail(30))
			}
		}
	})
	if !l.empty {
		for _, p := range f.all() {
			p.start()
		}
	}
	return f
}

// named returns the URL of a database beside that of another.
func named(t *testing.T, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}

func (f *fleet) tokens() string { return filepath.Join(f.dir, "tokens") }

func (f *fleet) all() []*process { return slices.Concat(f.replicas, f.workers) }

// base returns the address of a random replica, which may be down.
func (f *fleet) base(r *rand.Rand) string { return f.replicas[r.IntN(len(f.replicas))].base() }

// ready waits until each replica takes requests.
func (f *fleet) ready() {
	f.t.Helper()
	for _, p := range f.replicas {
		eventually(f.t, time.Minute, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			return newClient("").call(ctx, http.MethodGet, p.base(), "/healthz", nil, nil)
		}, "%s is not ready", p.name)
	}
}

// stop ends the processes by a signal, and checks their exit codes.
func (f *fleet) stop() {
	f.t.Helper()
	var list []*process
	for _, p := range f.all() {
		if !p.run().killed.Load() {
			p.signal(syscall.SIGTERM)
			list = append(list, p)
		}
	}
	for _, p := range list {
		select {
		case <-p.run().ended:
			if err := p.run().err; err != nil {
				f.t.Errorf("%s ended after SIGTERM: %v", p.name, err)
			}
		case <-time.After(30 * time.Second):
			f.t.Errorf("%s has not ended 30 s after SIGTERM", p.name)
		}
	}
}

// eventually tries until f returns nil.
func eventually(t testing.TB, limit time.Duration, f func() error, what string, args ...any) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s after %v: %v", fmt.Sprintf(what, args...), limit, err)
		}
	}
}

// process is a process of a fleet, which can be restarted.
type process struct {
	f    *fleet
	name string
	args []string

	mu      sync.Mutex
	current *running
	address atomic.Pointer[string]
}

// running is one run of a process.
type running struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	err    error       // once ended
	up     atomic.Bool // it has printed that it listens or works
	killed atomic.Bool // it was sent a signal to end
}

func (f *fleet) process(name string, args ...string) *process {
	p := &process{f: f, name: name, args: append([]string{
		"-listen", "localhost:0", "-database", f.database, "-tokens", f.tokens(), "-window", fmt.Sprint(window), "-think", think.String(), "-compaction", limit.String(),
	}, args...)}
	p.address.Store(new(nowhere))
	return p
}

func (p *process) base() string { return *p.address.Load() }

func (p *process) log() string { return filepath.Join(p.f.dir, p.name+".log") }

func (p *process) run() *running {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// start starts the process, and waits until it is ready.
func (p *process) start() {
	p.f.t.Helper()
	p.launch()
	p.working()
}

// working waits until the process is ready: it listens, or its workers have started.
func (p *process) working() {
	p.f.t.Helper()
	r := p.run()
	eventually(p.f.t, time.Minute, func() error {
		select {
		case <-r.ended:
			p.f.t.Fatalf("%s ended as it started: %v\n%s", p.name, r.err, p.tail(10))
		default:
		}
		if !r.up.Load() {
			return errors.New("it has not said so")
		}
		return nil
	}, "%s does not work", p.name)
}

// launch starts the process.
func (p *process) launch() {
	t := p.f.t
	t.Helper()
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer log.Close()
	cmd := exec.Command(p.f.program, p.args...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	r := &running{cmd: cmd, ended: make(chan struct{})}
	p.mu.Lock()
	p.current = r
	p.mu.Unlock()
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if base, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
				p.address.Store(new(base))
			}
			r.up.Store(true)
		}
		r.err = cmd.Wait()
		if !r.killed.Load() {
			t.Errorf("%s ended by itself: %v", p.name, cmp.Or(r.err, errors.New("exit code 0")))
		}
		close(r.ended)
	}()
}

// signal sends a signal. One that is to end it is noted.
func (p *process) signal(s syscall.Signal) {
	r := p.run()
	if r == nil {
		return
	}
	if s == syscall.SIGKILL || s == syscall.SIGTERM {
		r.killed.Store(true)
	}
	_ = r.cmd.Process.Signal(s) // the process may have ended
}

// kill kills the process and waits for its end. What it does at the time it does no more.
func (p *process) kill() {
	r := p.run()
	if r == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-r.ended
	p.address.Store(new(nowhere))
}

// tail returns the last lines of the log.
func (p *process) tail(lines int) string {
	data, _ := os.ReadFile(p.log())
	all := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}

// Package postgrestest starts a PostgreSQL server for tests.
package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Env is the environment variable with the URL of a database to use instead of a new cluster.
const Env = "PROMPTREE_POSTGRES"

// ErrNone is the error if there is no PostgreSQL to test with.
var ErrNone = errors.New("there is no PostgreSQL: install the package postgresql, or set " + Env + " to the URL of a database")

// Cluster is a running PostgreSQL.
type Cluster struct {
	// URL of a database in the cluster.
	URL string

	dir, bin string
	settings []string
}

// Start returns the cluster of the URL in [Env], or starts one in a temporary folder that only this machine can reach.
// fsync is off unless a setting, such as "fsync=on", turns it on. The error is [ErrNone] if [Env] is unset and
// PostgreSQL is not installed.
func Start(ctx context.Context, settings ...string) (*Cluster, error) {
	if given := os.Getenv(Env); given != "" {
		return &Cluster{URL: given}, nil
	}
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "postgres")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: bin, settings: settings}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := give(c.dir); err != nil {
		return err
	}
	if err := c.run(ctx, "initdb", "-D", c.data(), "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"); err != nil {
		return err
	}
	c.URL = "postgres:///postgres?" + url.Values{"host": {c.dir}, "user": {"test"}}.Encode()
	return c.Run(ctx)
}

// Run starts the server, also after it was stopped or killed.
func (c *Cluster) Run(ctx context.Context) error {
	options := "-c listen_addresses= -c fsync=off -c max_connections=200 -c unix_socket_directories=" + c.dir
	for _, s := range c.settings { // a later -c overrides an earlier one
		options += " -c " + s
	}
	return c.run(ctx, "pg_ctl", "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-w", "-o", options, "start")
}

// Halt stops the server. how is "fast", or "immediate", which acts like a crash.
func (c *Cluster) Halt(ctx context.Context, how string) error {
	return c.run(ctx, "pg_ctl", "-D", c.data(), "-m", how, "-w", "stop")
}

// Stop stops the cluster and removes its folder. It does nothing to a cluster of the URL in [Env].
func (c *Cluster) Stop() error {
	if c.dir == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(c.data(), "postmaster.pid")); err == nil {
		if err := c.Halt(context.Background(), "immediate"); err != nil {
			return err
		}
	}
	return os.RemoveAll(c.dir)
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	asOther(cmd)
	output, err := os.CreateTemp("", "postgres")
	if err != nil {
		return err
	}
	defer os.Remove(output.Name())
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output // a file, because the server keeps its output open and Run would wait for a pipe
	if err := cmd.Run(); err != nil {
		out, _ := os.ReadFile(output.Name())
		log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		return fmt.Errorf("%s: %w\n%s%s", name, err, out, log)
	}
	return nil
}

// Needs skips a test if there is no cluster.
func Needs(t testing.TB, c *Cluster) {
	t.Helper()
	if c == nil {
		t.Skip(ErrNone)
	}
}

// programs returns the folder with the programs of PostgreSQL: that of initdb in PATH, or of the newest installed
// version.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 || runtime.GOOS == "windows" {
		return "", ErrNone
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
	return filepath.Dir(found[len(found)-1]), nil
}

// Main starts a cluster, calls use with it, runs the tests of a package, and returns their exit code. Without
// PostgreSQL it does not call use: tests that need a cluster call [Needs].
func Main(use func(*Cluster), run func() int) (code int) {
	c, err := Start(context.Background())
	switch {
	case err == nil:
		use(c)
		defer func() {
			if err := c.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	case err != ErrNone:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// Name returns a unique name.
func Name() string { return "t" + strings.ToLower(rand.Text()) }

// Package postgrestest starts a PostgreSQL of a test's own.
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
)

// Env names a database to use in place of a cluster of the tests' own.
const Env = "PROMPTREE_POSTGRES"

// ErrNone is the error where there is no PostgreSQL to test with.
var ErrNone = errors.New("there is no PostgreSQL: install the package postgresql, or set " + Env + " to the URL of a database")

// Cluster is a running PostgreSQL.
type Cluster struct {
	// URL of a database in it.
	URL string

	dir, bin string
	settings []string
}

// Start returns the cluster that [Env] names, or starts one in a temporary folder, which only this machine reaches. Its
// data is not forced to the disk unless one of the settings, such as "fsync=on", says so. The error is [ErrNone] if
// there is neither.
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

// Run starts the server, of a cluster that was stopped or killed too.
func (c *Cluster) Run(ctx context.Context) error {
	options := "-c listen_addresses= -c fsync=off -c max_connections=200 -c unix_socket_directories=" + c.dir
	for _, s := range c.settings { // the last one counts
		options += " -c " + s
	}
	return c.run(ctx, "pg_ctl", "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-w", "-o", options, "start")
}

// Halt stops the server; how is "fast" or "immediate", which is as if it crashed.
func (c *Cluster) Halt(ctx context.Context, how string) error {
	return c.run(ctx, "pg_ctl", "-D", c.data(), "-m", how, "-w", "stop")
}

// Stop stops the cluster and removes what is left of it. One that [Env] named stays.
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
	said, err := os.CreateTemp("", "postgres")
	if err != nil {
		return err
	}
	defer os.Remove(said.Name())
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said // a file, for the server keeps it open
	if err := cmd.Run(); err != nil {
		out, _ := os.ReadFile(said.Name())
		log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		return fmt.Errorf("%s: %w\n%s%s", name, err, out, log)
	}
	return nil
}

// programs returns the folder of the newest PostgreSQL's programs.
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

// Main runs the tests of a package with a cluster, which use is given before, and returns their exit code. Without a
// PostgreSQL use is not called: tests that need one skip, with [ErrNone].
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

// Name returns a name that no other test uses.
func Name() string { return "t" + strings.ToLower(rand.Text()) }

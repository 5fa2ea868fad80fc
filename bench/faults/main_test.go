//go:build linux

package faults

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/postgrestest"
)

// The environment variables of the package's comment.
const (
	seedEnv  = "PROMPTREE_SERVICE_SEED"
	killsEnv = "PROMPTREE_SERVICE_KILLS"
	pauseEnv = "PROMPTREE_SERVICE_PAUSE"
)

// built is a folder for programs, common the cluster that tests share, each with a database of its own.
var (
	built  string
	common *postgrestest.Cluster
)

func TestMain(m *testing.M) {
	if os.Getenv(killsEnv) == "" {
		os.Exit(m.Run()) // every test is skipped
	}
	os.Exit(postgrestest.Main(func(c *postgrestest.Cluster) { common = c }, func() int {
		dir, err := os.MkdirTemp("", "faults")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		built = dir
		return m.Run()
	}))
}

// own returns a cluster for one test, which may stop it.
func own(t *testing.T) *postgrestest.Cluster {
	t.Helper()
	if os.Getenv(postgrestest.Env) != "" {
		t.Skip("the database that " + postgrestest.Env + " names is not the test's to stop")
	}
	c, err := postgrestest.Start(t.Context())
	if errors.Is(err, postgrestest.ErrNone) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	return c
}

// begin skips a test with -short, and returns the seed of its random choices.
func begin(t *testing.T) (seed uint64, r *rand.Rand) {
	t.Helper()
	if os.Getenv(killsEnv) == "" {
		t.Skip("it runs a fleet of processes: set " + killsEnv)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(seedEnv), fmt.Sprint(rand.Uint64N(1_000_000))), 10, 64)
	require.NoError(t, err, seedEnv)
	t.Logf("%s=%d", seedEnv, seed)
	return seed, rand.New(rand.NewPCG(seed, 0))
}

// program returns the path of the service's program, which is built once.
func program(t *testing.T) string {
	t.Helper()
	require.NoError(t, build())
	return filepath.Join(built, "service")
}

var build = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", "-o", filepath.Join(built, "service"), "./examples/service")
	cmd.Dir = "../.." // the workspace
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
})

// wait waits for a random time.
func wait(r *rand.Rand, from, to time.Duration) {
	time.Sleep(from + time.Duration(r.Int64N(int64(to-from))))
}

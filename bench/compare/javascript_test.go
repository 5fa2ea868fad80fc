package compare

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pkoukk/tiktoken-go-loader/assets"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
)

// javascript starts a job of node/worker.mjs, and returns the count that it makes. The benchmark is skipped if the
// peers in JavaScript are not installed.
func javascript(b *testing.B, name string, with map[string]any) (run job, count int) {
	b.Helper()
	if _, err := os.Stat("node/node_modules"); err != nil {
		b.Skip("the peers in JavaScript are not installed: npm ci --prefix bench/compare/node --ignore-scripts")
	}
	node := exec.CommandContext(b.Context(), "node", "node/worker.mjs", name, string(sure.JSON(b, with)))
	node.Stderr = os.Stderr
	in, err := node.StdinPipe()
	require.NoError(b, err)
	out, err := node.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, node.Start())
	b.Cleanup(func() { _ = node.Wait() }) // the end of the benchmark's context killed it
	replies := json.NewDecoder(out)
	require.NoError(b, replies.Decode(&count))
	run = func() time.Duration {
		var took time.Duration
		_, err := io.WriteString(in, "again\n")
		require.NoError(b, err)
		require.NoError(b, replies.Decode(&took))
		return took
	}
	for start := time.Now(); time.Since(start) < 2*time.Second; { // until it is compiled
		run()
	}
	return run, count
}

// ranks returns the path of a file with the table of an encoding.
func ranks(b *testing.B, encoding string) string {
	b.Helper()
	table, err := assets.Assets.ReadFile(encoding + ".tiktoken")
	require.NoError(b, err)
	return sure.File(b, "file", string(table))
}

func TestTheLockFileNamesNoRegistry(t *testing.T) {
	lock := sure.Read(t, "node/package-lock.json")
	require.NotContains(t, string(lock), "://")
	require.Contains(t, string(lock), `"integrity": "sha512-`)
}

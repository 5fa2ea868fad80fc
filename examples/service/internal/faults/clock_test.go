//go:build linux

package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clockEnv is the environment variable with the offset of a process's clock, for programs built with wrongClocks.
const clockEnv = "PROMPTREE_SERVICE_CLOCK"

// wrongClocks returns flags of go build for a program whose clock may be wrong: package time is built with another
// [time.Now]. Go programs do not ask libc for the time, so replacing libc's functions would change nothing.
func wrongClocks(t *testing.T) []string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	own := filepath.Join(folder, "time.go")
	source, err := os.ReadFile(own)
	require.NoError(t, err)
	const reads = "sec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(source), "func Now() Time {\n\t"+reads) != 1 {
		t.Skip("time.Now is not as this test knows it")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		own: write("time.go", strings.Replace(string(source), "Now() Time {\n\t"+reads, "Now() Time {\n\t"+reads+"\tsec += wrong\n", 1)),
		filepath.Join(folder, "wrong.go"): write("wrong.go", `package time

import "syscall"

var wrong = func() (seconds int64) {
	text, _ := syscall.Getenv("`+clockEnv+`")
	d, _ := ParseDuration(text)
	return int64(d / Second)
}()
`),
	}})
	require.NoError(t, err)
	return []string{"-overlay", write("overlay.json", string(overlay))}
}

func TestWithClocksMinutesApartNothingIsLost(t *testing.T) {
	seed, r := begin(t)
	t.Parallel()
	f := newFleet(t, layout{replicas: 2, workers: 2, own: 1, empty: true})
	f.program = program(t, wrongClocks(t)...)
	for i, p := range f.all() {
		p.env = []string{clockEnv + "=" + []string{"7m", "-7m"}[i%2]}
		p.start()
	}
	l := newLoad(f, seed, 6, 1)
	for range 3 {
		wait(r, time.Second, 2*time.Second)
		p := f.workers[r.IntN(len(f.workers))]
		p.kill()
		p.start()
	}
	l.finish()
}

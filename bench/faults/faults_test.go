//go:build linux

package faults

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// finish ends a load and its fleet: it checks everything, and that each process ends without an error.
func (l *load) finish() found {
	l.t.Helper()
	goOn := l.pause()
	n := l.check(true)
	l.cancel()
	goOn()
	l.stop()
	l.f.stop()
	l.t.Logf("%v; %v", l, n)
	require.Positive(l.t, l.answers.Load(), "no message was answered")
	return n
}

// pauseAndCheck pauses the load for a check.
func (l *load) pauseAndCheck() {
	l.t.Helper()
	defer l.pause()()
	l.check(false)
}

func TestAcknowledgedMessagesOutliveKilledProcesses(t *testing.T) {
	seed, r := begin(t)
	t.Parallel()
	kills, err := strconv.Atoi(os.Getenv(killsEnv))
	require.NoError(t, err, killsEnv)
	f := newFleet(t, layout{replicas: 2, workers: 2, own: 1})
	l := newLoad(f, seed, 6, 1)
	for n := range kills {
		wait(r, 100*time.Millisecond, 500*time.Millisecond)
		p := f.all()[r.IntN(len(f.all()))]
		p.kill()
		wait(r, 0, 200*time.Millisecond)
		p.start()
		if n%10 == 9 && n < kills-1 {
			l.pauseAndCheck()
		}
	}
	n := l.finish()
	if kills >= 30 {
		require.Positive(t, n.background, "compactions by workers")
		require.Positive(t, n.foreground, "compactions that were waited for")
	}
}

func TestARestartOfTheDatabaseLosesNothing(t *testing.T) {
	seed, r := begin(t)
	t.Parallel()
	f := newFleet(t, layout{replicas: 2, workers: 1, own: 1, cluster: own(t)})
	l := newLoad(f, seed, 6, 1)
	for _, how := range []string{"fast", "immediate", "immediate"} {
		wait(r, 500*time.Millisecond, time.Second)
		require.NoError(t, f.cluster.Halt(t.Context(), how))
		wait(r, 0, time.Second)
		require.NoError(t, f.cluster.Run(t.Context()))
		f.direct.Reset()
		wait(r, 500*time.Millisecond, time.Second)
		l.pauseAndCheck()
	}
	l.finish()
}

func TestCutConnectionsLoseNothing(t *testing.T) {
	for name, pooled := range map[string]int{"direct": 0, "behind PgBouncer": 8} {
		t.Run(name, func(t *testing.T) {
			seed, r := begin(t)
			t.Parallel()
			f := newFleet(t, layout{replicas: 2, workers: 1, own: 1, pooled: pooled})
			l := newLoad(f, seed, 6, 1)
			for range 8 {
				wait(r, 200*time.Millisecond, 500*time.Millisecond)
				_, err := f.direct.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE datname = current_database() AND pid <> pg_backend_pid()`)
				require.NoError(t, err)
				f.direct.Reset()
			}
			l.finish()
		})
	}
}

func TestAFullDiskLosesNothing(t *testing.T) {
	seed, r := begin(t)
	dir := smallDisk(t, "300m")
	before := os.TempDir()
	t.Setenv("TMPDIR", dir) // for the cluster
	cluster := own(t)
	t.Setenv("TMPDIR", before)
	f := newFleet(t, layout{replicas: 2, workers: 1, own: 1, cluster: cluster})
	l := newLoad(f, seed, 6, 1)
	for range 2 {
		wait(r, time.Second, 2*time.Second)
		before := l.answers.Load()
		filler := fill(t, dir)
		wait(r, 2*time.Second, 3*time.Second)
		t.Logf("%d answers while there was no room", l.answers.Load()-before)
		require.NoError(t, os.Remove(filler))
		eventually(t, time.Minute, func() error { // it may have ended
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			f.direct.Reset()
			err := f.direct.Ping(ctx)
			if err != nil {
				_ = cluster.Run(ctx)
			}
			return err
		}, "the database does not answer")
		wait(r, 500*time.Millisecond, time.Second)
		l.pauseAndCheck()
	}
	l.finish()
}

// smallDisk mounts a file system of a size in memory.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Mkdir(dir, 0o755))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=1777,size="+size); err != nil {
		t.Skipf("a small file system takes root's rights: mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) { // the database's user goes through it
		require.NoError(t, os.Chmod(up, 0o755))
	}
	return dir
}

// fill fills a disk, and returns the file that does so.
func fill(t *testing.T, dir string) (path string) {
	t.Helper()
	file, err := os.CreateTemp(dir, "filler")
	require.NoError(t, err)
	defer file.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := file.Write(chunk); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			chunk = chunk[:len(chunk)/2]
		}
	}
	return file.Name()
}

// A replica is paused during its answers while another continues the same sessions. When it resumes, it adds nothing to
// them, and its clients get a conflict or lose the connection.
func TestAResumedReplicaAddsNothingToSessionsThatWentOn(t *testing.T) {
	seed, _ := begin(t)
	t.Parallel()
	pause, err := time.ParseDuration(cmp.Or(os.Getenv(pauseEnv), "3s"))
	require.NoError(t, err, pauseEnv)
	f := newFleet(t, layout{replicas: 2, workers: 2, empty: true})
	paused, other := f.replicas[0], f.replicas[1]
	paused.args = append(paused.args, "-think", "2s") // all of its answers have started, and none has finished
	for _, p := range f.all() {
		p.start()
	}
	l := newLoad(f, seed, 4, 0)
	c := newClient(tenants["acme"])
	ctx, cancel := context.WithTimeout(t.Context(), pause+2*time.Minute)
	defer cancel()

	// The requests to another replica in the meantime.
	meanwhile := map[string]func(session string, said message) (after []message){
		"nothing": func(string, message) []message { return nil },
		"an answer": func(session string, _ message) []message {
			return heard(ctx, t, c, other.base(), session+"/messages", struct{}{})
		},
		"another message": func(session string, said message) []message {
			return heard(ctx, t, c, other.base(), session+"/messages", map[string]string{"text": "And another.", "after": said.Entry})
		},
		"an answer and more": func(session string, _ message) []message {
			list := heard(ctx, t, c, other.base(), session+"/messages", struct{}{})
			return append(list, heard(ctx, t, c, other.base(), session+"/messages", map[string]string{"text": "More.", "after": newest(list)})...)
		},
	}
	type asked struct {
		name, path string
		do         func(string, message) []message
		said       chan message
		ended      chan error
		told       []message
	}
	var list []*asked
	for what, do := range meanwhile {
		name := "paused-" + strings.ReplaceAll(what, " ", "-")
		a := &asked{name, "/v1/sessions/" + name, do, make(chan message, 1), make(chan error, 1), nil}
		list = append(list, a)
		go func() {
			a.ended <- c.stream(ctx, paused.base(), a.path+"/messages", map[string]string{"text": "What is it?"}, func(e event) {
				if e.Name == "said" {
					a.said <- message{Entry: e.Data.Entry, Role: "user", Text: "What is it?"}
				}
			})
		}()
	}
	for _, a := range list {
		select {
		case said := <-a.said:
			a.told = append(a.told, said)
		case err := <-a.ended:
			t.Fatalf("%s: its stream ended before the answer: %v", a.name, err)
		}
	}
	paused.signal(syscall.SIGSTOP)
	f.workers[0].signal(syscall.SIGSTOP)
	until := time.Now().Add(pause)
	for _, a := range list {
		a.told = append(a.told, a.do(a.path, a.told[0])...)
	}
	time.Sleep(time.Until(until))
	paused.signal(syscall.SIGCONT)
	f.workers[0].signal(syscall.SIGCONT)
	for _, a := range list {
		err := <-a.ended
		shown, readErr := c.transcript(ctx, other.base(), a.name)
		require.NoError(t, readErr)
		if len(a.told) == 1 {
			t.Logf("%s: %v", a.name, err)
			continue
		}
		require.True(t, refused(err, "conflict") || errors.Is(err, errCut), "%s: its stream ended with: %v", a.name, err)
		require.Equal(t, len(a.told), len(shown), "%s: %+v", a.name, shown)
		for i, m := range a.told {
			require.Equal(t, m.Entry, shown[i].Entry)
			require.Equal(t, m.Text, shown[i].Text)
		}
	}
	l.finish()
}

// heard makes a request that must be answered, and returns the messages that the answer acknowledged.
func heard(ctx context.Context, t *testing.T, c *client, base, path string, body any) (list []message) {
	t.Helper()
	text, _ := body.(map[string]string)
	require.NoError(t, c.stream(ctx, base, path, body, func(e event) {
		switch e.Name {
		case "said":
			list = append(list, message{Entry: e.Data.Entry, Role: "user", Text: text["text"]})
		case "answer":
			list = append(list, message{Entry: e.Data.Entry, Role: "assistant", Text: e.Data.Text})
		}
	}))
	return list
}

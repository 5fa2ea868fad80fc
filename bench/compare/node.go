package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The JavaScript side: its dependencies, locked, and the program that runs its contestants.
//
//go:embed node/package.json node/package-lock.json node/worker.mjs
var nodeFiles embed.FS

const workerFile = "worker.mjs"

// installNode creates the folder of the JavaScript side in the user's cache, and installs its dependencies unless they
// are there. The folder is named by a hash of them and is renamed into place when complete, so that an interrupted
// installation leaves nothing behind.
func installNode(ctx context.Context, cache string, stderr io.Writer) (dir string, err error) {
	files, err := fs.Sub(nodeFiles, "node")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		sum.Write(content)
	}
	dir = filepath.Join(cache, fmt.Sprintf("node-%x", sum.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		program, err := fs.ReadFile(files, workerFile)
		if err != nil {
			return "", err
		}
		return dir, os.WriteFile(filepath.Join(dir, workerFile), program, 0o600)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm is missing, which installs the contestants in JavaScript: install Node 20 or later, or leave them out with -no-node")
	}
	fmt.Fprintf(stderr, "… npm ci in %s, once\n", cache)
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return "", err
	}
	making, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(making)) }()
	if err := os.CopyFS(making, files); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir, cmd.WaitDelay = making, time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci failed (-no-node leaves the contestants in JavaScript out): %w: %s", err, lastLine(out))
	}
	if err := os.Rename(making, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // no other run was faster
			return "", err
		}
	}
	return dir, nil
}

// lastLine returns the last line of an output that is not blank.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// worker is a process with contestants in JavaScript. It answers one request at a time.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr *bytes.Buffer
	stop   context.CancelFunc
	ended  sync.Once
}

// worker returns the comparison's process, and starts it on first use.
func (b *bench) worker(ctx context.Context) (*worker, error) {
	if b.js != nil {
		return b.js, nil
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("node is missing, which runs the contestants in JavaScript: install Node 20 or later, or leave them out with -no-node")
	}
	if b.nodeDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		version, err := exec.CommandContext(ctx, node, "--version").Output()
		if err != nil {
			return nil, fmt.Errorf("node --version: %w", err)
		}
		b.nodeVersion = strings.TrimSpace(string(version))
		if b.nodeDir, err = installNode(ctx, filepath.Join(cache, "promptree-compare"), b.stderr); err != nil {
			return nil, err
		}
	}
	b.js, err = startWorker(ctx, node, filepath.Join(b.nodeDir, workerFile))
	return b.js, err
}

// endWorker ends the comparison's process, if there is one.
func (b *bench) endWorker() {
	if b.js != nil {
		b.js.close()
		b.js = nil
	}
}

// startWorker runs a program that speaks the worker's protocol. It is killed when the context ends.
func startWorker(ctx context.Context, name string, args ...string) (*worker, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &worker{cmd: exec.CommandContext(ctx, name, args...), stderr: &bytes.Buffer{}, stop: stop}
	w.cmd.Stderr, w.cmd.WaitDelay = w.stderr, time.Second
	var err error
	var out io.Reader
	if w.in, err = w.cmd.StdinPipe(); err == nil {
		if out, err = w.cmd.StdoutPipe(); err == nil {
			err = w.cmd.Start()
		}
	}
	if err != nil {
		stop()
		return nil, err
	}
	w.out = json.NewDecoder(out)
	return w, nil
}

// close kills the process and waits for it.
func (w *worker) close() {
	w.ended.Do(func() {
		w.stop()
		_ = w.cmd.Wait() // the error says that it was killed
	})
}

// request to a worker, and its reply. See worker.mjs.
type request struct {
	Prepare string `json:"prepare,omitempty"`
	Job     string `json:"job,omitempty"`
	With    any    `json:"with,omitempty"`
	Run     string `json:"run,omitempty"`
	Times   int    `json:"times,omitempty"`
}

type reply struct {
	Error  string          `json:"error"`
	Result json.RawMessage `json:"result"`
	NS     int64           `json:"ns"`
}

func (w *worker) ask(req request) (reply, error) {
	line, err := json.Marshal(req)
	if err != nil {
		return reply{}, err
	}
	var r reply
	if _, err = w.in.Write(append(line, '\n')); err == nil {
		err = w.out.Decode(&r)
	}
	if err != nil {
		w.close()
		return r, fmt.Errorf("node ended: %w: %s", err, lastLine(w.stderr.Bytes()))
	}
	if r.Error != "" {
		return r, fmt.Errorf("node: %s", r.Error)
	}
	return r, nil
}

// prepare prepares a job and decodes its result into result.
func (w *worker) prepare(name, job string, with, result any) (lap, error) {
	r, err := w.ask(request{Prepare: name, Job: job, With: with})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return func(ctx context.Context, n int) (cost, error) {
		if err := ctx.Err(); err != nil {
			return cost{}, err
		}
		r, err := w.ask(request{Run: name, Times: n})
		return cost{time: time.Duration(r.NS), allocs: -int64(n)}, err
	}, nil
}

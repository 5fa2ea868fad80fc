package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pkoukk/tiktoken-go-loader/assets"

	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// sizes of the jobs, so that a test can run all of them in a moment.
type sizes struct {
	session int // maximum bytes of the session's text; 0 means all
	chunks  int // chunks of prompt-tsx's benchmark
}

var fullSizes = sizes{chunks: sampleLines}

// bench is the state shared by the comparisons of a run.
type bench struct {
	options
	stderr io.Writer

	dir string  // for files that the contestants in JavaScript read
	js  *worker // runs the contestants in JavaScript of the comparison

	nodeDir, nodeVersion string
}

// emptied returns a set-up that empties the memo of a counter.
func emptied(encoding string) func(context.Context) (*tiktoken.Counter, error) {
	c, err := tiktoken.New(encoding)
	return func(context.Context) (*tiktoken.Counter, error) {
		if err != nil {
			return nil, err
		}
		c.Forget()
		return c, nil
	}
}

// file writes a temporary file, which exists until the end of the run, and returns its path.
func (b *bench) file(name string, content []byte) (string, error) {
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "promptree-compare-")
		if err != nil {
			return "", err
		}
		b.dir = dir
	}
	path := filepath.Join(b.dir, name)
	return path, os.WriteFile(path, content, 0o600)
}

// table names an encoding and the file with its table, for a contestant in JavaScript.
type table struct {
	Encoding string `json:"encoding"`
	Ranks    string `json:"ranks"`
}

// tableOf writes an encoding's table to a file.
func (b *bench) tableOf(encoding string) (table, error) {
	ranks, err := assets.Assets.ReadFile(encoding + ".tiktoken")
	if err != nil {
		return table{}, fmt.Errorf("table of %s: %w", encoding, err)
	}
	path, err := b.file(encoding+".tiktoken", ranks)
	return table{encoding, path}, err
}

// close ends the child process and removes temporary files.
func (b *bench) close() error {
	b.endWorker()
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}

// javascript returns a contestant in JavaScript, and decodes the result of its job into result. with returns what the job is
// given. Without Node the contestant has no lap.
func (b *bench) javascript(ctx context.Context, name, job string, result any, with func() (any, error)) (contestant, error) {
	who := contestant{name: name, warmUp: jsWarmUp}
	if b.noNode {
		who.skipped = "it needs Node, and -no-node is set"
		return who, nil
	}
	given, err := with()
	if err != nil {
		return who, err
	}
	w, err := b.worker(ctx)
	if err == nil {
		who.lap, err = w.prepare(name, job, given, result)
	}
	return who, err
}

// jsWarmUp is the time for which JavaScript runs before it is measured, so that it is compiled.
const jsWarmUp = time.Second

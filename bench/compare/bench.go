package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/pkoukk/tiktoken-go-loader/assets"

	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// sizes of the jobs, so that a test can run all of them in a moment.
type sizes struct {
	hostile       int    // bytes of a hostile input; there is one of twice as many
	growth        [3]int // chunks of the growth trees
	tsxGrowth     [2]int // chunks of the growth trees for prompt-tsx
	rounds        int    // rounds of the conversation that an agent's step adds to
	roundTokens   int    // about how many tokens each takes
	messages      int    // messages of the conversation that is trimmed
	messageTokens int    // about how many tokens each takes
	session       int    // the most bytes of the session's text; 0 is all
	chunks        int    // chunks of prompt-tsx's benchmark
}

var fullSizes = sizes{
	hostile: 1 << 20, growth: [3]int{1_000, 10_000, 100_000}, tsxGrowth: [2]int{1_000, 4_000}, rounds: 1_000, roundTokens: 200, messages: 200, messageTokens: 200,
	chunks: sampleLines,
}

// bench is what the comparisons of a run share.
type bench struct {
	options
	stderr io.Writer

	mu  sync.Mutex // over what close needs to know
	dir string     // for files that the contestants in JavaScript read
	js  *worker    // runs the contestants in JavaScript of the comparison

	nodeDir, nodeVersion string
}

// emptied is a set-up that gives a counter that has counted before and remembers nothing.
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

// file gives the path of a temporary file with this content, which is there for the rest of the run.
func (b *bench) file(name string, content []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
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

// table is what a contestant in JavaScript needs to know to count in an encoding.
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

// close ends the child and removes what was written. It may be called while a comparison is running.
func (b *bench) close() error {
	b.endWorker()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}

// skipped is why the contestants in JavaScript do not run, or "".
func (b *bench) skipped() string {
	if b.noNode {
		return "it needs Node, and -no-node is set"
	}
	return ""
}

// javascript makes the lap of a contestant in JavaScript and decodes what its job comes to into result. The lap is nil
// where b.skipped says why.
func (b *bench) javascript(ctx context.Context, name, job string, with, result any) (lap, error) {
	if b.noNode {
		return nil, nil
	}
	w, err := b.worker(ctx)
	if err != nil {
		return nil, err
	}
	return w.prepare(name, job, with, result)
}

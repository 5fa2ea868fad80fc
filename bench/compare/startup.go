package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/tiktoken-go/tokenizer"

	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// startUps maps each contestant to a function that makes a counter of an encoding and counts a word with it.
var startUps = map[string]func(encoding string) (keep any, err error){
	"ours": func(encoding string) (any, error) {
		c, err := tiktoken.New(encoding)
		if err == nil {
			c.CountText("promptree")
		}
		return c, err
	},
	"tiktoken-go": func(encoding string) (any, error) {
		t, err := peerTiktoken(encoding)
		if err == nil {
			t.EncodeOrdinary("promptree")
		}
		return t, err
	},
	"tiktoken-go/tokenizer": func(encoding string) (any, error) {
		c, err := tokenizer.Get(tokenizer.Encoding(encoding))
		if err == nil {
			_, err = c.Count("promptree")
		}
		return c, err
	},
}

// started is the output of a child: the duration of its start-up, and the bytes that it keeps on the heap.
type started struct {
	NS    int64 `json:"ns"`
	Bytes int64 `json:"bytes"`
}

// startUpArg makes this program a child that measures one start-up: compare start-up-of CONTESTANT ENCODING.
const startUpArg = "start-up-of"

func isStartUp(args []string) bool { return len(args) == 4 && args[1] == startUpArg }

func startUpMain(args []string, stdout, stderr io.Writer) int {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	keep, err := startUps[args[2]](args[3])
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(keep)
	if err == nil {
		err = json.NewEncoder(stdout).Encode(started{took.Nanoseconds(), int64(after.HeapAlloc) - int64(before.HeapAlloc)})
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitCannot
	}
	return exitOK
}

// startUpPlan makes a first counter of each encoding, each in a new process.
func startUpPlan() plan {
	return plan{
		name: "start-up", about: "a first counter and its first word, each in a new process",
		prepare: func(ctx context.Context, b *bench) (comparison, error) {
			self, err := os.Executable()
			if err != nil {
				return comparison{}, err
			}
			var c comparison
			for _, encoding := range []string{"o200k_base", "cl100k_base"} {
				short := strings.TrimSuffix(encoding, "_base")
				base := "ours, " + short
				for _, who := range []string{"ours", "tiktoken-go", "tiktoken-go/tokenizer"} {
					child := &child{self: self, args: []string{startUpArg, who, encoding}}
					name := who + ", " + short
					c.contestants = append(c.contestants, contestant{name: name, lap: child.lap, against: base, note: child.note})
					if who == "ours" {
						c.targets = append(c.targets, under(name, 25*time.Millisecond), child.heapTarget(name, 8<<20))
					}
				}
				js, err := b.loadingInJS(ctx, encoding, "@microsoft/tiktokenizer, "+short, base)
				if err != nil {
					return comparison{}, err
				}
				c.contestants = append(c.contestants, js)
			}
			c.notes = []string{"@microsoft/tiktokenizer reads its table again and again in one process, which is warm"}
			return c, nil
		},
	}
}

func (b *bench) loadingInJS(ctx context.Context, encoding, name, against string) (contestant, error) {
	ranks, err := b.tableOf(encoding)
	if err != nil {
		return contestant{}, err
	}
	var none int
	lap, err := b.javascript(ctx, name, "load", ranks, &none)
	return contestant{name: name, lap: lap, skipped: b.skipped(), against: against, warmUp: jsWarmUp}, err
}

// child is a contestant whose job runs in a new process each time.
type child struct {
	self string
	args []string
	// heap is the maximum number of bytes that it kept.
	heap int64
}

func (c *child) lap(ctx context.Context, n int) (cost, error) {
	all := cost{allocs: -int64(n)}
	for range n {
		cmd := exec.CommandContext(ctx, c.self, c.args...)
		cmd.WaitDelay = time.Second
		var problem strings.Builder
		cmd.Stderr = &problem
		out, err := cmd.Output()
		if err != nil {
			return cost{}, fmt.Errorf("%w: %s", err, lastLine([]byte(problem.String())))
		}
		var s started
		if err := json.Unmarshal(out, &s); err != nil {
			return cost{}, err
		}
		all.time += time.Duration(s.NS)
		c.heap = max(c.heap, s.Bytes)
	}
	return all, nil
}

func (c *child) note() string {
	return fmt.Sprintf("keeps %s MB on the heap", short(float64(c.heap)/1e6))
}

// heapTarget requires that at most bound bytes are kept on the heap.
func (c *child) heapTarget(of string, bound int64) target {
	return target{
		of: of, asks: fmt.Sprintf("≤%d MB kept", bound>>20), bound: float64(bound),
		value: func(results) (float64, string, bool) {
			return float64(c.heap), short(float64(c.heap)/(1<<20)) + " MB", c.heap > 0
		},
	}
}

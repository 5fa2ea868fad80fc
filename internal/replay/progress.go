package replay

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows on a terminal how far a replay has come. A nil one shows nothing.
type progress struct {
	w     io.Writer
	every time.Duration // at most so often
	shown time.Time
	line  bool // a line stands there
}

// newProgress shows progress where it is written to a terminal.
func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &progress{w: w, every: 100 * time.Millisecond}
}

// at tells that a request of a run is being made.
func (p *progress) at(run *Run, request int) {
	if p == nil || p.line && time.Since(p.shown) < p.every {
		return
	}
	p.shown, p.line = time.Now(), true
	fmt.Fprintf(p.w, "\r\x1b[K%s: request %d of %d", run.Policy, request, run.RequestsIn)
}

// clear takes the line away, before something else is printed.
func (p *progress) clear() {
	if p != nil && p.line {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.line = false
	}
}

package compare

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows on a terminal how far a replay has come. A nil *progress shows nothing.
type progress struct {
	w     io.Writer
	every time.Duration // the shortest time between two lines
	shown time.Time     // the time of the last line
	line  bool          // a line is on the terminal
}

// newProgress returns nil unless w is a terminal.
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

// at shows how many requests of a policy's run were made.
func (p *progress) at(policy string, made, of int) {
	if p == nil || p.line && time.Since(p.shown) < p.every {
		return
	}
	p.shown, p.line = time.Now(), true
	fmt.Fprintf(p.w, "\r\x1b[K%s: request %d of %d", policy, made, of)
}

// clear removes the line, before something else is printed.
func (p *progress) clear() {
	if p != nil && p.line {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.line = false
	}
}

package compare

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/promptree-go/promptree/internal/program"
)

// progress shows on a terminal how far the replays have come, from their second second on. A nil *progress shows nothing.
type progress struct {
	w         io.Writer
	every     time.Duration // the shortest time between two lines
	begun     time.Time
	shown     time.Time // the time of the last line
	line      bool      // a line is on the terminal
	all       int       // requests of all replays
	done, now int       // requests of the replays that are over, and of the one that is made
}

// newProgress returns nil unless w is a terminal.
func newProgress(w io.Writer) *progress {
	if !program.IsTerminal(w) {
		return nil
	}
	return &progress{w: w, every: 100 * time.Millisecond, begun: time.Now()}
}

// expect sets the number of requests of all replays.
func (p *progress) expect(sources []source, o options) {
	if p == nil {
		return
	}
	for _, s := range sources {
		p.all += s.requests * max(1, len(o.windows)) * len(o.policies)
		if s.compacted() || o.prices.agent != noPrices {
			p.all += s.requests
		}
	}
}

// at shows how many requests of a policy's replay were made.
func (p *progress) at(policy string, made, of int) {
	if p == nil {
		return
	}
	if made == 0 {
		p.done, p.now = p.done+p.now, of
	}
	if time.Since(p.begun) < time.Second || p.line && time.Since(p.shown) < p.every {
		return
	}
	p.shown, p.line = time.Now(), true
	const columns = 24
	share := min(1, float64(p.done+made)/float64(max(1, p.all)))
	filled := int(share * columns)
	left := ""
	if share > 0 {
		left = fmt.Sprintf(", %v left", time.Duration(float64(time.Since(p.begun))*(1-share)/share).Round(time.Second))
	}
	fmt.Fprintf(p.w, "\r\x1b[K[%s%s] %3.0f%%%s: %s, request %d of %d",
		strings.Repeat("#", filled), strings.Repeat(".", columns-filled), 100*share, left, policy, made, of)
}

// clear removes the line, before something else is printed.
func (p *progress) clear() {
	if p != nil && p.line {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.line = false
	}
}

package log

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"
)

// idAlphabet has 32 characters in the order of their bytes, without those that are easily confused.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// ids makes ids of 20 characters that sort by the millisecond in which they were made, and within one millisecond in
// order. 50 bits of each are random, so that two writers do not make the same id.
type ids struct {
	mu   sync.Mutex
	last [20]byte
}

// timeLetters is the number of characters of an id that hold the time: 50 bits.
const timeLetters = 10

// next returns a new id.
func (g *ids) next(now time.Time) string {
	var id [20]byte
	for i, ms := timeLetters-1, now.UnixMilli(); i >= 0; i-- {
		id[i] = idAlphabet[ms&31]
		ms >>= 5
	}
	_, _ = rand.Read(id[timeLetters:]) // never fails
	for i := timeLetters; i < len(id); i++ {
		id[i] = idAlphabet[id[i]&31]
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if string(id[:timeLetters]) <= string(g.last[:timeLetters]) { // the same millisecond, or the clock was set back
		id = after(g.last)
	}
	g.last = id
	return string(id[:])
}

// after returns a greater id whose last random characters are new.
func after(id [20]byte) [20]byte {
	for i := timeLetters + 4; i >= 0; i-- {
		at := strings.IndexByte(idAlphabet, id[i])
		id[i] = idAlphabet[(at+1)%len(idAlphabet)]
		if at+1 < len(idAlphabet) {
			break
		}
	}
	_, _ = rand.Read(id[timeLetters+5:])
	for i := timeLetters + 5; i < len(id); i++ {
		id[i] = idAlphabet[id[i]&31]
	}
	return id
}

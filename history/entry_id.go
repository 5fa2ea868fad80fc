package history

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"
)

// idAlphabet has 32 letters in the order of their bytes, none of which is easily taken for another.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// ids makes ids of 20 letters that sort by the time at which they were made, in milliseconds, and by their order within one
// millisecond. 50 bits of each are random, so that two writers do not make the same.
type ids struct {
	mu   sync.Mutex
	last [20]byte
}

// timeLetters is how many letters of an id hold the time: 50 bits.
const timeLetters = 10

// next returns a new id.
func (g *ids) next(now time.Time) string {
	var id [20]byte
	for i, ms := timeLetters-1, now.UnixMilli(); i >= 0; i-- {
		id[i] = idAlphabet[ms&31]
		ms >>= 5
	}
	_, _ = rand.Read(id[timeLetters:]) // it never fails
	for i := timeLetters; i < len(id); i++ {
		id[i] = idAlphabet[id[i]&31]
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if string(id[:timeLetters]) <= string(g.last[:timeLetters]) { // the same millisecond, or the clock was put back
		id = after(g.last)
	}
	g.last = id
	return string(id[:])
}

// after returns the next greater id, in which the last half of the random letters is new.
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

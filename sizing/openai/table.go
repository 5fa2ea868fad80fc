package openai

import (
	"encoding/binary"
	"errors"
	"runtime"
)

//go:generate go run ./internal/tables

var errTable = errors.New("openai: a table of tokens is damaged")

// newVocab reads a table, of which internal/tables says how it is written.
func newVocab(table string) (*vocab, error) {
	r := tableReader{rest: table}
	ranks, size, short, long := r.number(), r.number(), r.number(), r.number()
	if r.bad || ranks < 256 || ranks >= 1<<rankBits || short+long > 8*ranks || size < 256 || len(r.rest) < size {
		return nil, errTable
	}
	v := &vocab{
		text:   r.rest[:size],
		starts: make([]uint32, 0, ranks+1),
		halves: make([][2]token, 0, ranks),
		short:  make([]shortSlot, short+short/2+1),
		long:   make([]longSlot, long+long/2+1),
	}
	r.rest = r.rest[size:]
	at := 0
	for rank := range uint32(ranks) {
		v.starts = append(v.starts, uint32(at))
		if rank < 256 {
			b := newToken(rank, 1)
			v.bytes[v.text[at]] = b
			v.halves = append(v.halves, [2]token{b, b})
			at++
			continue
		}
		left, right := uint32(r.number()), uint32(r.number())
		if left == rank && right == rank {
			v.halves = append(v.halves, [2]token{})
			continue
		}
		if r.bad || left >= rank || right >= rank {
			return nil, errTable
		}
		halves := [2]token{v.tokenOf(left), v.tokenOf(right)}
		v.halves = append(v.halves, halves)
		if at += halves[0].len() + halves[1].len(); at > size {
			return nil, errTable
		}
	}
	v.starts = append(v.starts, uint32(at))
	if at != size {
		return nil, errTable
	}
	for rank := uint32(0); rank < uint32(ranks); rank += atOnce {
		some := min(atOnce, uint32(ranks)-rank)
		v.touch(rank, some)
		for i := range some {
			v.add(v.tokenOf(rank + i))
		}
	}
	return v, nil
}

// atOnce is how many tokens are put into the tables at once.
const atOnce = 32

// touch reads where the next tokens will be put. The tables are larger than the processor's nearer caches, and memory gives
// many places that nobody waits for in about the time of one.
func (v *vocab) touch(rank, n uint32) {
	sum := slot(0)
	for i := range n {
		t := v.tokenOf(rank + i)
		if t.len() == 0 {
			continue
		}
		sum += v.short[v.shortHome(v.firstBytes(t))].slot
		if t.len() > maxShort {
			at, _ := v.longHome(v.bytesOf(rank+i, t.len()))
			sum += v.long[at].slot
		}
	}
	runtime.KeepAlive(sum)
}

// firstBytes are those of a token, maxShort at most.
func (v *vocab) firstBytes(t token) (key uint64) {
	return packed(v.text, int(v.starts[t.rank()]), min(t.len(), maxShort))
}

// add puts a token into the tables, and its heads.
func (v *vocab) add(t token) {
	n := t.len()
	if n == 0 {
		return
	}
	key := v.firstBytes(t)
	if n <= maxShort {
		if n > 1 {
			v.lengths[uint16(key)] |= 1 << (n - 1)
		}
		p := v.shortSlot(key, n)
		*p = shortSlot{uint32(key), uint32(key >> 32), slot(t) | p.slot&lengthened}
		return
	}
	v.lengths[uint16(key)] |= 1
	s := v.bytesOf(t.rank(), n)
	v.addLong(s, slot(t))
	head := v.shortSlot(key, maxShort)
	if head.slot == 0 {
		*head = shortSlot{uint32(key), uint32(key >> 32), slot(newToken(t.rank(), maxShort)) | headOnly}
	}
	head.slot |= lengthened
	for k := 2 * maxShort; k < n; k *= 2 {
		v.addLong(s[:k], slot(newToken(t.rank(), k))|headOnly|lengthened)
	}
}

// addLong puts more than maxShort bytes into their table, where they may be already.
func (v *vocab) addLong(s string, found slot) {
	p, hash := v.longSlot(s)
	switch {
	case p.slot == 0:
		*p = longSlot{hash, found}
	case found&headOnly != 0:
		p.slot |= lengthened
	default:
		p.slot = found | p.slot&lengthened
	}
}

// tableReader takes what it is asked for off the start of a table.
type tableReader struct {
	rest string
	bad  bool
}

func (r *tableReader) number() int {
	n, shift := 0, 0
	for i := range min(len(r.rest), binary.MaxVarintLen32) {
		b := r.rest[i]
		n |= int(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return n
		}
	}
	r.bad = true
	return 0
}

package openai

import (
	"encoding/binary"
	"errors"
	"strings"
)

//go:generate go run ./internal/tables

var errTable = errors.New("openai: a table of tokens is damaged")

// newVocab reads a table, of which internal/tables says how it is written.
func newVocab(table string) (*vocab, error) {
	r := tableReader{rest: table}
	ranks, size, short, long := r.number(), r.number(), r.number(), r.number()
	if r.bad || ranks < 256 || ranks >= 1<<rankBits || short+long > 8*ranks || len(r.rest) < 256 {
		return nil, errTable
	}
	v := &vocab{
		starts: make([]uint32, 0, ranks+1),
		halves: make([][2]token, 0, ranks),
		short:  make([]shortSlot, short+short/2+1),
		long:   make([]longSlot, long+long/2+1),
	}
	var text strings.Builder
	text.Grow(size)
	for rank := range uint32(ranks) {
		v.starts = append(v.starts, uint32(text.Len()))
		if rank < 256 {
			b := r.byte()
			text.WriteByte(b)
			v.bytes[b] = newToken(rank, 1)
			v.halves = append(v.halves, [2]token{v.bytes[b], v.bytes[b]})
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
		v.text = text.String()
		for _, half := range halves {
			text.WriteString(v.bytesOf(half.rank(), half.len()))
		}
	}
	v.text = text.String()
	v.starts = append(v.starts, uint32(len(v.text)))
	if len(v.text) != size {
		return nil, errTable
	}
	for rank := range uint32(ranks) {
		v.add(v.tokenOf(rank))
	}
	return v, nil
}

// add puts a token into the tables, and its heads.
func (v *vocab) add(t token) {
	n := t.len()
	if n == 0 {
		return
	}
	s := v.bytesOf(t.rank(), n)
	if n <= maxShort {
		if n > 1 {
			v.lengths[uint16(s[0])|uint16(s[1])<<8] |= 1 << (n - 1)
		}
		key := packed(s, 0, n)
		p := v.shortSlot(key, n)
		*p = shortSlot{uint32(key), uint32(key >> 32), slot(t) | p.slot&lengthened}
		return
	}
	v.lengths[uint16(s[0])|uint16(s[1])<<8] |= 1
	v.addLong(s, slot(t))
	key := packed(s, 0, maxShort)
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

func (r *tableReader) byte() byte {
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
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

package openai

import (
	"errors"
	"math/bits"
)

//go:generate go test -run ^TestTables$ -update

var errTable = errors.New("openai: a table of tokens is damaged")

// readVocab takes a table apart, without a copy and without reading more of it than its head: it is used where it lies.
// TestTables writes the tables.
//
// A table starts with six numbers: how many ranks there are, how many buckets and slots the short and the long tokens have,
// and how many bytes the text. What follows is, without a gap,
//
//	256 bytes       the rank of each byte
//	65,536 bytes    the lengths of the tokens that start with each two bytes
//	8 a rank        the halves of each token
//	2 a bucket      the pilots of the short tokens
//	12 a slot       the short tokens
//	2 a bucket      the pilots of the long tokens
//	8 a slot        the long tokens
//	the rest        the text
//
// and [vocab] says what each is. Numbers are little-endian, of 4 bytes if nothing else is said.
func readVocab(table string) (*vocab, error) {
	const head = 6 * 4
	if len(table) < head {
		return nil, errTable
	}
	var n [6]uint32
	for i := range n {
		n[i] = uint32At(table, 4*i)
	}
	ranks, text := n[0], n[5]
	rest, fits := table[head:], ranks >= 256 && ranks < 1<<rankBits
	cut := func(n uint32, each int) (part string) {
		size := uint64(n) * uint64(each)
		if size == 0 || size > uint64(len(rest)) {
			size, fits = 0, false
		}
		part, rest = rest[:size], rest[size:]
		return part
	}
	v := &vocab{
		bytes:   cut(256, 1),
		lengths: cut(1<<16, 1),
		halves:  cut(ranks, 8),
		short:   hashTable{n[1], n[2], cut(n[1], pilotSize), cut(n[2], shortSize)},
		long:    hashTable{n[3], n[4], cut(n[3], pilotSize), cut(n[4], longSize)},
		text:    cut(text, 1),
	}
	if !fits || rest != "" {
		return nil, errTable
	}
	return v, nil
}

// hashTable is a hash table in which nothing has to be looked for: what is in it has a slot of its own. By its hash it has
// a bucket and a home, and the pilot of its bucket is how far from home its slot is: a number that was tried out, by which
// all that have this bucket come to slots that nothing else has. After the last slot comes the first.
type hashTable struct {
	buckets, size uint32 // size is how many slots there are
	pilots, slots string
}

const pilotSize = 2 // bytes

// slot is the number of the slot of what has this hash.
func (t *hashTable) slot(hash uint64) int {
	bucket, home := spread(hash, t.buckets, t.size)
	pilot := t.pilots[pilotSize*bucket : pilotSize*bucket+pilotSize]
	slot := home + (uint32(pilot[0]) | uint32(pilot[1])<<8)
	if slot >= t.size {
		slot -= t.size
	}
	return int(slot)
}

// spread is the bucket and the home of a hash.
func spread(hash uint64, buckets, slots uint32) (bucket int, home uint32) {
	return int((hash >> 32) * uint64(buckets) >> 32), uint32((hash * odd >> 32) * uint64(slots) >> 32)
}

// shortHash is the hash of n bytes, as a number.
func shortHash(key uint64, n int) uint64 { return (key + uint64(n)*odd) * golden }

// longHash is the hash of more than maxShort bytes.
func longHash(s string) uint64 {
	hash := uint64(len(s)) * golden
	for i := 0; i+8 < len(s); i += 8 {
		hash = mix(hash ^ word(s, i))
	}
	return mix(hash ^ word(s, len(s)-8))
}

const (
	golden = 0x9E3779B97F4A7C15
	odd    = 0xD6E8FEB86659FD93
)

// mix spreads what it is given over all bits.
func mix(x uint64) uint64 {
	high, low := bits.Mul64(x^odd, golden)
	return high ^ low
}

// uint32At is the 4 bytes at i as a number.
func uint32At(s string, i int) uint32 {
	s = s[i : i+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// word is the 8 bytes at i as a number.
func word(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

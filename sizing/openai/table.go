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
// A table starts with four numbers: how many ranks there are, how many slots the short and the long tokens have, and how
// many bytes the text. What follows is, without a gap,
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
	const head = 4 * 4
	if len(table) < head {
		return nil, errTable
	}
	ranks, short, long, text := uint32At(table, 0), uint32At(table, 4), uint32At(table, 8), uint32At(table, 12)
	rest, fits := table[head:], ranks >= 256 && ranks < 1<<rankBits && short > 0 && long > 0
	cut := func(n, size uint64) (part string) {
		if n *= size; n > uint64(len(rest)) {
			n, fits = 0, false
		}
		part, rest = rest[:n], rest[n:]
		return part
	}
	v := &vocab{
		bytes:   cut(256, 1),
		lengths: cut(1<<16, 1),
		halves:  cut(uint64(ranks), 8),
		short:   hashTable{uint64(short), cut(buckets(uint64(short)), pilotSize), cut(uint64(short), shortSize)},
		long:    hashTable{uint64(long), cut(buckets(uint64(long)), pilotSize), cut(uint64(long), longSize)},
		text:    cut(uint64(text), 1),
	}
	if !fits || rest != "" {
		return nil, errTable
	}
	return v, nil
}

// hashTable is a hash table in which nothing has to be looked for: what is in it has a slot of its own. Keys are spread
// over buckets by their hash, and the pilot of a bucket is a number that was tried out to send its keys to slots that no
// others have.
type hashTable struct {
	size   uint64 // in slots
	pilots string
	slots  string
}

const (
	pilotSize = 2 // bytes
	perBucket = 4 // slots. With more, pilots would not fit their bytes.
)

func buckets(slots uint64) uint64 { return slots/perBucket + 1 }

// slot is the number of the slot of what has this hash.
func (t *hashTable) slot(hash uint64) int {
	at := pilotSize * int(bucket(hash, buckets(t.size)))
	pilot := t.pilots[at : at+pilotSize]
	return int(piloted(hash, uint64(pilot[0])|uint64(pilot[1])<<8, t.size))
}

func bucket(hash, buckets uint64) uint64 {
	at, _ := bits.Mul64(hash, buckets)
	return at
}

func piloted(hash, pilot, slots uint64) uint64 {
	at, _ := bits.Mul64((hash^pilot*odd)*golden, slots)
	return at
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

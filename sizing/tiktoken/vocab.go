package tiktoken

import (
	"math/bits"

	"github.com/promptree-go/promptree/sizing/internal/hash"
)

// token is a token of a vocabulary: its rank, and in the higher bits its length in bytes. Zero is not a token.
type token uint32

const (
	rankBits  = 20
	tokenBits = rankBits + 8
	noToken   = token(0)
)

func newToken(rank uint32, length int) token { return token(rank) | token(length)<<rankBits }
func (t token) rank() uint32                 { return uint32(t) & (1<<rankBits - 1) }
func (t token) len() int                     { return int(t >> rankBits) }

// vocab looks up the tokens of an encoding by their bytes. It consists of slices of a table, see readVocab, and never
// changes.
type vocab struct {
	// bytes holds the ranks of the single bytes, all below 256.
	bytes string
	// lengths holds the lengths of the tokens that start with each two bytes: bit n-1 is set if there is one of n
	// bytes, for n from 2 to 8, and bit 0 if there is a longer one.
	lengths string
	// parts holds three things of each token, by rank: the two tokens whose merge yields it, and in the highest byte the
	// length of the longest token that is its start. For a single byte, and for a rank without a token, all are zero.
	parts string
	// short holds tokens of up to maxShort bytes, long the others. Both also hold heads: the first 4, 8, 16, 32 and 64
	// bytes of longer tokens, so that the longest token at a place is found without trying every length.
	short, long hashTable
	// text holds the bytes of the long tokens. A token that is the start of another shares its bytes.
	text string
}

// maxShort is the maximum length, in bytes, of the tokens that fit an integer. Three in four do. The shortest heads have
// minHead bytes.
const (
	maxShort = hash.MaxShort
	minHead  = 4
)

// slot is the entry for some bytes: a token, and two flags.
type slot uint32

const (
	lengthened slot = 1 << 31 // longer tokens start with these bytes
	headOnly   slot = 1 << 30 // the bytes are only the start of longer tokens: they have a length but no rank
)

func (s slot) key() token { return token(s &^ (lengthened | headOnly)) }

// token returns the token of these bytes, zero if they are not one.
func (s slot) token() token {
	if s&headOnly != 0 {
		return noToken
	}
	return s.key()
}

// An entry in the table of short tokens is the token's bytes, as a number, and its slot.
const shortSize = 8 + 4

// An entry in the table of long tokens is the slot and a number: where in the text the bytes start, and in the higher
// bits part of their hash, so that the text is rarely read for a mismatch.
const (
	longSize   = 4 + 4
	offsetBits = 20
)

// find returns the token of the n bytes at i, zero if they are not one.
func (v *vocab) find(s string, i, n int) token {
	switch {
	case n > maxShort:
		return v.longSlot(s[i : i+n]).token()
	case i+8 <= len(s):
		return v.shortSlot(hash.Word(s, i)&hash.Mask(n), n).token()
	default:
		return v.shortSlot(hash.Packed(s, i, n), n).token()
	}
}

// couldBe reports whether there is a token of n bytes, 2 or more, that starts with the same two bytes as the text at i.
// It is much faster than a full look-up.
func (v *vocab) couldBe(s string, i, n int) bool {
	lengths := v.lengths[uint16(s[i])|uint16(s[i+1])<<8]
	if n > maxShort {
		return lengths&1 != 0
	}
	return lengths>>(n-1)&1 != 0
}

// longest returns the longest token at i.
func (v *vocab) longest(s string, i int) token {
	n := len(s) - i
	if n == 1 {
		return v.byte(s[i])
	}
	lengths := v.lengths[uint16(s[i])|uint16(s[i+1])<<8]
	if lengths&^(1<<minHead-2) == 0 {
		n = min(n, minHead)
	} else {
		n = v.upperBound(s, i)
	}
	for ; n > maxShort; n-- {
		if t := v.longSlot(s[i : i+n]).token(); t != noToken {
			return t
		}
	}
	key := hash.Packed(s, i, n)
	lengths &= 1<<n - 2 // of 2 to n bytes
	for lengths != 0 {
		n = bits.Len8(lengths)
		if t := v.shortSlot(key&hash.Mask(n), n).token(); t != noToken {
			return t
		}
		lengths &^= 1 << (n - 1)
	}
	return v.byte(s[i])
}

// upperBound returns a length that no token at i exceeds: up to twice that of the longest head at i.
func (v *vocab) upperBound(s string, i int) int {
	most := minHead
	for k := minHead; most == k && k < len(s)-i; k *= 2 {
		found := slot(0)
		if k <= maxShort {
			found = v.shortSlot(hash.Packed(s, i, k), k)
		} else {
			found = v.longSlot(s[i : i+k])
		}
		if found&lengthened != 0 {
			most = 2 * k
		}
	}
	return min(most, len(s)-i)
}

// shorter returns the longest token that is the start of the token t at i, zero if there is none.
func (v *vocab) shorter(s string, i int, t token) token {
	switch n := int(v.parts[8*int(t.rank())+7]); n {
	case 0:
		return noToken
	case 1:
		return v.byte(s[i])
	default:
		return v.find(s, i, n)
	}
}

// shortSlot returns the slot of n bytes.
func (v *vocab) shortSlot(key uint64, n int) slot {
	at := shortSize * v.short.slot(hash.Short(key, n))
	p := v.short.slots[at : at+shortSize]
	if found := slot(hash.Uint32(p, 8)); hash.Word(p, 0) == key && found.key().len() == n {
		return found
	}
	return 0
}

// longSlot returns the slot of more than maxShort bytes. No two tokens have the same hash.
func (v *vocab) longSlot(s string) slot {
	h := hash.Long(s)
	p := hash.Word(v.long.slots, longSize*v.long.slot(h))
	found, where := slot(p), uint32(p>>32)
	if found.key().len() != len(s) || (where^uint32(h))>>offsetBits != 0 {
		return 0
	}
	if at := int(where & (1<<offsetBits - 1)); v.text[at:at+len(s)] != s {
		return 0
	}
	return found
}

func (v *vocab) byte(b byte) token { return newToken(uint32(v.bytes[b]), 1) }

// leftOf and rightOf return the two tokens that are merged into the token of a rank.
func (v *vocab) leftOf(rank uint32) token { return token(v.partsOf(rank) & (1<<tokenBits - 1)) }

func (v *vocab) rightOf(rank uint32) token {
	return token(v.partsOf(rank) >> tokenBits & (1<<tokenBits - 1))
}

func (v *vocab) partsOf(rank uint32) uint64 { return hash.Word(v.parts, 8*int(rank)) }

// hashTable is a perfect hash table: each key in it has a slot of its own. The hash of a key determines its bucket and
// its home, and the pilot of the bucket is the distance from home to slot. Pilots were found by trial when the table
// was made, such that all keys of a bucket land in free slots. Slots wrap around.
type hashTable struct {
	buckets, size uint32 // size is the number of slots
	pilots, slots string
}

const pilotSize = 2 // bytes

// slot returns the index of the slot for a hash.
func (t *hashTable) slot(h uint64) int {
	bucket, home := spread(h, t.buckets, t.size)
	pilot := t.pilots[pilotSize*bucket : pilotSize*bucket+pilotSize]
	slot := home + (uint32(pilot[0]) | uint32(pilot[1])<<8)
	if slot >= t.size {
		slot -= t.size
	}
	return int(slot)
}

// spread returns the bucket and the home of a hash, from different bits, so that keys of one bucket rarely share a
// home.
func spread(h uint64, buckets, slots uint32) (bucket int, home uint32) {
	return int((h >> 32) * uint64(buckets) >> 32), uint32((h * hash.Odd >> 32) * uint64(slots) >> 32)
}

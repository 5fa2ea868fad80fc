package tiktoken

import "math/bits"

// token is a token of a vocabulary: its rank, and above it its length in bytes. The zero token is none.
type token uint32

const (
	rankBits = 20
	noToken  = token(0)
)

func newToken(rank uint32, length int) token { return token(rank) | token(length)<<rankBits }
func (t token) rank() uint32                 { return uint32(t) & (1<<rankBits - 1) }
func (t token) len() int                     { return int(t >> rankBits) }

// vocab is the tokens of an encoding, to be found by their bytes. It is parts of a table, as readVocab says, and never
// changed.
type vocab struct {
	// bytes are the ranks of the bytes. That of a byte is below 256.
	bytes string
	// lengths of the tokens that start with two bytes: bit n-1 tells that there is one of n bytes, for n from 2 to 8, and
	// bit 0 that there is a longer one.
	lengths string
	// halves are the two tokens of which each is merged last, by rank. Those of a single byte, and of a rank that is no
	// token's, are none.
	halves string
	// What has up to maxShort bytes, and what has more. Besides tokens they hold heads: the first 8, 16, 32 and 64 bytes
	// of longer tokens, so that the longest token at a place is found without trying every length.
	short, long hashTable
	// text is the bytes of the long tokens. One that another starts with has no place of its own.
	text string
}

// maxShort is the length, in bytes, of the tokens that fit an integer. Three in four do.
const maxShort = 8

// slot is what the tables say of some bytes: a token, and
type slot uint32

const (
	lengthened slot = 1 << 31 // that longer tokens start with the bytes,
	headOnly   slot = 1 << 30 // that only they do: the bytes are no token, and have a length but no rank.
)

func (s slot) key() token { return token(s &^ (lengthened | headOnly)) }

// token is the token of these bytes, if they are one.
func (s slot) token() token {
	if s&headOnly != 0 {
		return noToken
	}
	return s.key()
}

// In the table of short tokens stand their bytes, as one number, and what is said of them.
const shortSize = 8 + 4

// In the table of long tokens stands what is said of them, and a number: where in the text their bytes start, and above
// that the same bits of their hash, so that the text is hardly ever read in vain.
const (
	longSize   = 4 + 4
	offsetBits = 20
)

// find is the token of the n bytes at i, if they are one.
func (v *vocab) find(s string, i, n int) token {
	switch {
	case n > maxShort:
		return v.longSlot(s[i : i+n]).token()
	case i+8 <= len(s):
		return v.shortSlot(word(s, i)&mask(n), n).token()
	default:
		return v.shortSlot(packed(s, i, n), n).token()
	}
}

// couldBe tells whether there is a token of n bytes, 2 or more, that starts as the text does at i. It is much sooner told
// than whether these are one.
func (v *vocab) couldBe(s string, i, n int) bool {
	lengths := v.lengths[uint16(s[i])|uint16(s[i+1])<<8]
	if n > maxShort {
		return lengths&1 != 0
	}
	return lengths>>(n-1)&1 != 0
}

// below is the longest token at i that has fewer than n bytes, n being 2 or more.
func (v *vocab) below(s string, i, n int) token {
	n--
	if n == 1 {
		return v.byte(s[i])
	}
	lengths := v.lengths[uint16(s[i])|uint16(s[i+1])<<8]
	if n > maxShort && lengths&1 != 0 {
		if t := v.longest(s, i, n); t != noToken {
			return t
		}
	}
	n = min(n, maxShort)
	key := packed(s, i, n)
	lengths &= 1<<n - 2 // of 2 to n bytes
	for lengths != 0 {
		n = bits.Len8(lengths)
		if t := v.shortSlot(key&mask(n), n).token(); t != noToken {
			return t
		}
		lengths &^= 1 << (n - 1)
	}
	return v.byte(s[i])
}

// longest is the longest token at i that has more than maxShort bytes and at most n, if there is one. A head that no
// longer token starts with ends the search before it has begun, so that it takes about as many steps as it gets bytes on.
func (v *vocab) longest(s string, i, n int) token {
	most := maxShort
	for k := maxShort; k < n; k *= 2 {
		found := slot(0)
		if k == maxShort {
			found = v.shortSlot(packed(s, i, k), k)
		} else {
			found = v.longSlot(s[i : i+k])
		}
		if found&lengthened == 0 {
			break
		}
		most = min(2*k, n)
	}
	for ; most > maxShort; most-- {
		if t := v.longSlot(s[i : i+most]).token(); t != noToken {
			return t
		}
	}
	return noToken
}

// shortSlot is what is said of n bytes.
func (v *vocab) shortSlot(key uint64, n int) slot {
	at := shortSize * v.short.slot(shortHash(key, n))
	p := v.short.slots[at : at+shortSize]
	if found := slot(uint32At(p, 8)); word(p, 0) == key && found.key().len() == n {
		return found
	}
	return 0
}

// longSlot is what is said of more than maxShort bytes.
func (v *vocab) longSlot(s string) slot {
	hash := longHash(s)
	p := word(v.long.slots, longSize*v.long.slot(hash))
	found, where := slot(p), uint32(p>>32)
	if found.key().len() != len(s) || (where^uint32(hash))>>offsetBits != 0 {
		return 0
	}
	if at := int(where & (1<<offsetBits - 1)); v.text[at:at+len(s)] != s {
		return 0
	}
	return found
}

func (v *vocab) byte(b byte) token { return newToken(uint32(v.bytes[b]), 1) }

// leftOf and rightOf are the tokens of which that of a rank is merged last.
func (v *vocab) leftOf(rank uint32) token  { return token(uint32At(v.halves, 8*int(rank))) }
func (v *vocab) rightOf(rank uint32) token { return token(uint32At(v.halves, 8*int(rank)+4)) }

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

// mask leaves of a word its first n bytes, 1 to 8.
func mask(n int) uint64 { return ^uint64(0) >> (uint(64-8*n) & 63) }

// packed is the n bytes at i as a number, 1 to 8.
func packed(s string, i, n int) uint64 {
	switch {
	case i+8 <= len(s):
		return word(s, i) & mask(n)
	case len(s) >= 8:
		return word(s, len(s)-8) >> (uint(8*(i+8-len(s))) & 63) & mask(n)
	default:
		key := uint64(0)
		for k := n - 1; k >= 0; k-- {
			key = key<<8 | uint64(s[i+k])
		}
		return key
	}
}

package openai

import (
	"math/bits"
)

// token is a token of a vocabulary: its rank, and above it its length in bytes. The zero token is none.
type token uint32

const (
	rankBits = 20
	noToken  = token(0)
)

func newToken(rank uint32, length int) token { return token(rank) | token(length)<<rankBits }
func (t token) rank() uint32                 { return uint32(t) & (1<<rankBits - 1) }
func (t token) len() int                     { return int(t >> rankBits) }

// vocab is the tokens of an encoding, to be found by their bytes. Its fields hold no pointers, so that it costs the
// garbage collector nothing, and it is never changed once it is made.
type vocab struct {
	// text is the bytes of all tokens, one after the other; the token of a rank starts at starts[rank].
	text   string
	starts []uint32
	// halves are the two tokens of which each is merged last. Those of a single byte are itself.
	halves [][2]token
	bytes  [256]token
	// lengths of the tokens that start with two bytes: bit n-1 tells that there is one of n bytes, for n from 2 to 8, and
	// bit 0 that there is a longer one.
	lengths [1 << 16]uint8
	// Two hash tables with linear probing, of what has up to maxShort bytes and of what has more. Besides tokens they
	// hold heads: the first 8, 16, 32 and 64 bytes of longer tokens, so that the longest token at a place is found
	// without trying every length.
	short []shortSlot
	long  []longSlot
}

// maxShort is the length, in bytes, of the tokens that fit an integer. Three in four do.
const maxShort = 8

// slot is what the tables say of some bytes: a token, and
type slot uint32

const (
	lengthened slot = 1 << 31 // that longer tokens start with the bytes,
	headOnly   slot = 1 << 30 // that only they do: of the token it is the first bytes, as many as its length says.
)

func (s slot) key() token { return token(s &^ (lengthened | headOnly)) }

// token is the token of these bytes, if they are one.
func (s slot) token() token {
	if s&headOnly != 0 {
		return noToken
	}
	return s.key()
}

// shortSlot holds the bytes as a number, in halves to save room.
type shortSlot struct {
	low, high uint32
	slot      slot // 0 where it is free
}

// longSlot holds a hash of the bytes. They are in the vocabulary's text.
type longSlot struct {
	hash uint32
	slot slot // 0 where it is free
}

// find is the token of the n bytes at i, if they are one.
func (v *vocab) find(s string, i, n int) token {
	switch {
	case n > maxShort:
		return v.longToken(s[i : i+n]).token()
	case i+8 <= len(s):
		return v.shortSlot(word(s, i)&mask(n), n).slot.token()
	default:
		return v.shortSlot(packed(s, i, n), n).slot.token()
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
		return v.bytes[s[i]]
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
		if t := v.shortSlot(key&mask(n), n).slot.token(); t != noToken {
			return t
		}
		lengths &^= 1 << (n - 1)
	}
	return v.bytes[s[i]]
}

// longest is the longest token at i that has more than maxShort bytes and at most n, if there is one. A head that no
// longer token starts with ends the search before it has begun, so that it takes about as many steps as it gets bytes on.
func (v *vocab) longest(s string, i, n int) token {
	most := maxShort
	for k := maxShort; k < n; k *= 2 {
		found := slot(0)
		if k == maxShort {
			found = v.shortSlot(packed(s, i, k), k).slot
		} else {
			found = v.longToken(s[i : i+k])
		}
		if found&lengthened == 0 {
			break
		}
		most = min(2*k, n)
	}
	for ; most > maxShort; most-- {
		if t := v.longToken(s[i : i+most]).token(); t != noToken {
			return t
		}
	}
	return noToken
}

// shortSlot is the place of n bytes, or the free one where they would be.
func (v *vocab) shortSlot(key uint64, n int) *shortSlot {
	at := v.shortHome(key)
	for {
		if at >= uint64(len(v.short)) {
			at = 0
		}
		p := &v.short[at]
		if uint64(p.low)|uint64(p.high)<<32 == key && p.slot.key().len() == n || p.slot == 0 {
			return p
		}
		at++
	}
}

// shortHome is where the bytes are, if nothing else is.
func (v *vocab) shortHome(key uint64) (at uint64) {
	at, _ = bits.Mul64(key*golden, uint64(len(v.short)))
	return at
}

// longSlot is the place of more than maxShort bytes, or the free one where they would be, and their hash.
func (v *vocab) longSlot(s string) (p *longSlot, sum uint32) {
	at, sum := v.longHome(s)
	for {
		if at >= uint64(len(v.long)) {
			at = 0
		}
		p := &v.long[at]
		if p.slot == 0 {
			return p, sum
		}
		if p.hash == sum {
			if key := p.slot.key(); key.len() == len(s) && v.bytesOf(key.rank(), key.len()) == s {
				return p, sum
			}
		}
		at++
	}
}

// longHome is where the bytes are, if nothing else is, and their hash.
func (v *vocab) longHome(s string) (at uint64, sum uint32) {
	hash := uint64(len(s))
	for i := 0; i+8 < len(s); i += 8 {
		hash = mix(hash ^ word(s, i))
	}
	hash = mix(hash ^ word(s, len(s)-8))
	at, _ = bits.Mul64(hash, uint64(len(v.long)))
	return at, uint32(hash)
}

func (v *vocab) longToken(s string) slot {
	p, _ := v.longSlot(s)
	return p.slot
}

const golden = 0x9E3779B97F4A7C15

// mix spreads what it is given over all bits.
func mix(x uint64) uint64 {
	high, low := bits.Mul64(x^0xD6E8FEB86659FD93, golden)
	return high ^ low
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

// bytesOf is the first n bytes of the token of a rank.
func (v *vocab) bytesOf(rank uint32, n int) string { return v.text[v.starts[rank]:][:n] }

// tokenOf is the token of a rank, or one of no bytes where the rank is no token's.
func (v *vocab) tokenOf(rank uint32) token {
	return newToken(rank, int(v.starts[rank+1]-v.starts[rank]))
}

package openai

import "math/bits"

// noRank is the rank of bytes that are no token, above every other.
const noRank = 1<<32 - 1

// maxPacked is the length, in bytes, of the tokens that fit an integer with their length. Most do.
const maxPacked = 7

// ranks says which bytes are a token, and in which order tokens are merged: lowest rank first.
type ranks struct {
	short []shortToken // a hash table with linear probing; its length is a power of two
	shift int
	long  map[string]uint32
}

// shortToken is a token of up to maxPacked bytes; its key is 0 where there is none.
type shortToken struct {
	key  uint64
	rank uint32
}

// rankedToken is a token, as where it lies in a text of all of them.
type rankedToken struct {
	start, end int
	rank       uint32
}

func newRanks(all string, tokens []rankedToken) *ranks {
	short := 0
	for _, t := range tokens {
		if t.end-t.start <= maxPacked {
			short++
		}
	}
	width := bits.Len(uint(short + short/2))
	r := &ranks{
		short: make([]shortToken, 1<<width),
		shift: 64 - width,
		long:  make(map[string]uint32, len(tokens)-short),
	}
	for _, t := range tokens {
		switch token := all[t.start:t.end]; {
		case len(token) > maxPacked:
			r.long[token] = t.rank
		case token != "":
			*r.find(pack(token)) = shortToken{pack(token), t.rank}
		}
	}
	return r
}

// of is the rank of a token, or noRank. It is not asked for no bytes at all.
func (r *ranks) of(token string) uint32 {
	if len(token) > maxPacked {
		if rank, ok := r.long[token]; ok {
			return rank
		}
		return noRank
	}
	if t := r.find(pack(token)); t.key != 0 {
		return t.rank
	}
	return noRank
}

// find is the place of a short token, or the free one where it would be.
func (r *ranks) find(key uint64) *shortToken {
	const golden = 0x9E3779B97F4A7C15
	for i := key * golden >> uint(r.shift); ; i++ {
		t := &r.short[i&uint64(len(r.short)-1)]
		if t.key == key || t.key == 0 {
			return t
		}
	}
}

// pack puts 1 to maxPacked bytes and their number into an integer, without a loop: the two halves may overlap.
func pack(s string) uint64 {
	n := len(s)
	size := uint64(n) << 56
	if n < 4 {
		return size | uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	t := s[n-4:]
	head := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
	tail := uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24
	return size | head | tail<<uint(8*(n-4))
}

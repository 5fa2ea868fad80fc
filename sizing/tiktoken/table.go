package tiktoken

import (
	_ "embed" // for the tables
	"errors"

	"github.com/promptree-go/promptree/sizing/internal/hash"
)

//go:generate go test -run ^TestTheTablesHoldTiktokensTokens$ -update

// The tables of the encodings.
var (
	//go:embed tables/o200k_base.bin
	o200kTable string
	//go:embed tables/cl100k_base.bin
	cl100kTable string
	//go:embed tables/p50k_base.bin
	p50kTable string
	//go:embed tables/r50k_base.bin
	r50kTable string
)

var errTable = errors.New("tiktoken: a table of tokens is damaged")

// readVocab returns the vocabulary in a table without copying it, reading only its head.
// TestTheTablesHoldTiktokensTokens writes the tables.
//
// A table starts with six numbers: the number of ranks, the numbers of buckets and slots of the short and the long
// tokens, and the length of the text in bytes. These follow, without gaps:
//
//	256 bytes            the rank of each byte
//	65,536 bytes         the lengths of the tokens that start with each two bytes
//	8 bytes per rank     the parts of each token
//	2 bytes per bucket   the pilots of the short tokens
//	12 bytes per slot    the short tokens
//	2 bytes per bucket   the pilots of the long tokens
//	8 bytes per slot     the long tokens
//	the rest             the text
//
// See [vocab] for what each holds. Numbers are little-endian, of 4 bytes unless stated otherwise.
func readVocab(table string) (*vocab, error) {
	const head = 6 * 4
	if len(table) < head {
		return nil, errTable
	}
	var n [6]uint32
	for i := range n {
		n[i] = hash.Uint32(table, 4*i)
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
		parts:   cut(ranks, 8),
		short:   hashTable{n[1], n[2], cut(n[1], pilotSize), cut(n[2], shortSize)},
		long:    hashTable{n[3], n[4], cut(n[3], pilotSize), cut(n[4], longSize)},
		text:    cut(text, 1),
	}
	if !fits || rest != "" {
		return nil, errTable
	}
	return v, nil
}

package openai

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"flag"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	tiktoken_loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the tables of tokens anew")

// The test that the tables are what is to be written is also what writes them: so the program that counts carries nothing
// of it, and both go by the same hashes. To write them needs no table that can be read.
func TestTables(t *testing.T) {
	for _, name := range encodings {
		t.Run(name, func(t *testing.T) {
			path := "tables/" + name + ".bin"
			want := tableOf(t, tokensByRank(t, name))
			if *update {
				require.NoError(t, os.WriteFile(path, want, 0o644))
			}
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "%s is not what becomes of tiktoken-go's ranks: run go generate", path)
		})
	}
}

// tokensByRank is the tokens of an encoding by rank, as tiktoken-go has them; "" where there is none.
func tokensByRank(t testing.TB, encoding string) []string {
	t.Helper()
	ranks, err := tiktoken_loader.NewOfflineLoader().LoadTiktokenBpe(encoding + ".tiktoken")
	require.NoError(t, err)
	var tokens []string
	for token, rank := range ranks {
		if rank >= len(tokens) {
			tokens = append(tokens, make([]string, rank+1-len(tokens))...)
		}
		tokens[rank] = token
	}
	return tokens
}

// tableOf writes a table, as readVocab says.
func tableOf(t testing.TB, tokens []string) []byte {
	t.Helper()
	said := map[string]slot{} // of tokens and heads
	tokenOf := func(s string) token { return said[s].token() }
	for rank, s := range tokens {
		if s != "" {
			said[s] = slot(newToken(uint32(rank), len(s)))
		}
	}
	var (
		ranks   [256]byte
		lengths [1 << 16]byte
		halves  []byte
	)
	for rank, s := range tokens {
		if rank < 256 {
			require.Len(t, s, 1, "rank %d is a byte's", rank)
			ranks[s[0]] = byte(rank)
		}
		if len(s) < 2 {
			halves = appendNumbers(halves, 0, 0)
			continue
		}
		seam := lastMerge(t, tokenOf, s)
		halves = appendNumbers(halves, uint32(tokenOf(s[:seam])), uint32(tokenOf(s[seam:])))
		bit := 0
		if len(s) <= maxShort {
			bit = len(s) - 1
		}
		lengths[int(s[0])|int(s[1])<<8] |= 1 << bit
	}
	for _, s := range tokens {
		for n := maxShort; n < len(s); n *= 2 {
			head := s[:n]
			if said[head] == 0 {
				said[head] = slot(newToken(0, n)) | headOnly
			}
			said[head] |= lengthened
		}
	}

	var (
		short, long []entry
		text        []byte
		after       string // the bytes before those that are next, and where they are
		offset      uint32
	)
	for _, s := range slices.Backward(slices.Sorted(maps.Keys(said))) {
		if len(s) <= maxShort {
			key := packed(s, 0, len(s))
			content := binary.LittleEndian.AppendUint64(nil, key)
			short = append(short, entry{shortHash(key, len(s)), appendNumbers(content, uint32(said[s]))})
			continue
		}
		if !strings.HasPrefix(after, s) {
			offset = uint32(len(text))
			text = append(text, s...)
		}
		after = s
		hash := longHash(s)
		long = append(long, entry{hash, appendNumbers(nil, uint32(said[s]), uint32(hash)>>offsetBits<<offsetBits|offset)})
	}
	require.Less(t, len(text), 1<<offsetBits)

	shortSlots, shortTable := hashed(t, short, shortSize)
	longSlots, longTable := hashed(t, long, longSize)
	head := appendNumbers(nil, uint32(len(tokens)), shortSlots, longSlots, uint32(len(text)))
	return slices.Concat(head, ranks[:], lengths[:], halves, shortTable, longTable, text)
}

func appendNumbers(b []byte, numbers ...uint32) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// lastMerge is where the two tokens meet that a token is merged from last. There is no other way to it: what stands around
// bytes that become a token has no part in how they do.
func lastMerge(t testing.TB, tokenOf func(string) token, s string) int {
	t.Helper()
	rank := tokenOf(s).rank()
	starts := mergeByStep(tokenOf, s, rank)
	require.Len(t, starts, 3, "token %q of rank %d is not merged from two", s, rank)
	return starts[1]
}

// entry is what a hash table is to hold in the slot of a hash.
type entry struct {
	hash    uint64
	content []byte
}

// hashed is the pilots and the slots of a hash table, and how many slots those are: 1.6% are free. Pilots are tried out
// for the fullest buckets first, which need the most room.
func hashed(t testing.TB, entries []entry, size int) (slots uint32, table []byte) {
	t.Helper()
	n := uint64(len(entries) + len(entries)/64 + 1)
	byBucket := make([][]entry, buckets(n))
	for _, e := range entries {
		b := bucket(e.hash, buckets(n))
		byBucket[b] = append(byBucket[b], e)
	}
	order := make([]int, len(byBucket))
	for b := range order {
		order[b] = b
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(byBucket[b]), len(byBucket[a])) })

	pilots, contents, taken := make([]byte, len(byBucket)*pilotSize), make([]byte, n*uint64(size)), make([]bool, n)
	for _, b := range order {
		pilot, at := pilotFor(byBucket[b], taken)
		if at == nil {
			require.Failf(t, "no pilot leads all of a bucket to free slots", "bucket %d of %d", len(byBucket[b]), len(entries))
		}
		binary.LittleEndian.PutUint16(pilots[b*pilotSize:], pilot)
		for i, e := range byBucket[b] {
			taken[at[i]] = true
			copy(contents[at[i]*uint64(size):], e.content)
		}
	}
	return uint32(n), append(pilots, contents...)
}

// pilotFor is the first pilot that leads each entry of a bucket to a free place of its own, and these places; nil where
// there is none.
func pilotFor(bucket []entry, taken []bool) (uint16, []uint64) {
	at := make([]uint64, 0, len(bucket))
next:
	for pilot := range uint64(math.MaxUint16) {
		at = at[:0]
		for _, e := range bucket {
			place := piloted(e.hash, pilot, uint64(len(taken)))
			if taken[place] || slices.Contains(at, place) {
				continue next
			}
			at = append(at, place)
		}
		return uint16(pilot), at
	}
	return 0, nil
}

package tiktoken

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	tiktoken_loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing/internal/hash"
)

var update = flag.Bool("update", false, "rewrite the tables of tokens")

// This test checks the tables and, with -update, writes them. It is a test because it needs the package's unexported
// hashes, and no program should link the code. To write the tables, the embedded files must exist, but they may be
// empty.
func TestTheTablesHoldTiktokensTokens(t *testing.T) {
	for _, name := range encodings {
		t.Run(name, func(t *testing.T) {
			path := "tables/" + name + ".bin"
			tokens, _ := tokensByRank(t, name)
			want := tableOf(t, tokens)
			if *update {
				require.NoError(t, os.WriteFile(path, want, 0o644))
			}
			require.True(t, bytes.Equal(want, sure.Read(t, path)), "%s does not hold tiktoken-go's ranks: run go generate", path)
		})
	}
}

// tokensByRank returns the tokens of an encoding in tiktoken-go, by rank, "" for a rank without a token. It also
// returns the rank of each token.
func tokensByRank(t testing.TB, encoding string) (tokens []string, ranks map[string]int) {
	t.Helper()
	ranks, err := tiktoken_loader.NewOfflineLoader().LoadTiktokenBpe(encoding + ".tiktoken")
	require.NoError(t, err)
	for token, rank := range ranks {
		if rank >= len(tokens) {
			tokens = append(tokens, make([]string, rank+1-len(tokens))...)
		}
		tokens[rank] = token
	}
	return tokens, ranks
}

// tableOf writes a table in the form that readVocab reads.
func tableOf(t testing.TB, tokens []string) []byte {
	t.Helper()
	slotOf := map[string]slot{} // of tokens and heads
	tokenOf := func(s string) token { return slotOf[s].token() }
	for rank, s := range tokens {
		if s != "" {
			slotOf[s] = slot(newToken(uint32(rank), len(s)))
		}
	}
	var (
		ranks   [256]byte
		lengths [1 << 16]byte
		parts   []byte
	)
	for rank, s := range tokens {
		if rank < 256 {
			require.Len(t, s, 1, "rank %d is a byte's", rank)
			ranks[s[0]] = byte(rank)
		}
		if len(s) < 2 {
			parts = binary.LittleEndian.AppendUint64(parts, 0)
			continue
		}
		seam := lastMerge(t, tokenOf, s)
		shorter := len(s) - 1
		for tokenOf(s[:shorter]) == noToken {
			shorter--
		}
		parts = binary.LittleEndian.AppendUint64(parts,
			uint64(tokenOf(s[:seam]))|uint64(tokenOf(s[seam:]))<<tokenBits|uint64(shorter)<<(2*tokenBits))
		bit := 0
		if len(s) <= maxShort {
			bit = len(s) - 1
		}
		lengths[int(s[0])|int(s[1])<<8] |= 1 << bit
	}
	for _, s := range tokens {
		for n := minHead; n < len(s); n *= 2 {
			head := s[:n]
			if slotOf[head] == 0 {
				slotOf[head] = slot(newToken(0, n)) | headOnly
			}
			slotOf[head] |= lengthened
		}
	}

	var (
		short, long []entry
		text        []byte
		after       string // what comes after in their order, and where its bytes are
		offset      uint32
	)
	for _, s := range slices.Backward(slices.Sorted(maps.Keys(slotOf))) {
		if len(s) <= maxShort {
			key := hash.Packed(s, 0, len(s))
			content := binary.LittleEndian.AppendUint64(nil, key)
			short = append(short, entry{hash.Short(key, len(s)), appendNumbers(content, uint32(slotOf[s]))})
			continue
		}
		if !strings.HasPrefix(after, s) {
			offset = uint32(len(text))
			text = append(text, s...)
		}
		after = s
		h := hash.Long(s)
		long = append(long, entry{h, appendNumbers(nil, uint32(slotOf[s]), uint32(h)>>offsetBits<<offsetBits|offset)})
	}
	require.Less(t, len(text), 1<<offsetBits)

	shortTable, longTable := hashed(t, short, shortSize), hashed(t, long, longSize)
	head := appendNumbers(nil, uint32(len(tokens)), shortTable.buckets, shortTable.size, longTable.buckets, longTable.size,
		uint32(len(text)))
	return []byte(string(head) + string(ranks[:]) + string(lengths[:]) + string(parts) +
		shortTable.pilots + shortTable.slots + longTable.pilots + longTable.slots + string(text))
}

func appendNumbers(b []byte, numbers ...uint32) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// lastMerge returns where the two tokens meet that are merged last into a token. It merges the bytes step by step,
// since what surrounds them does not change the result.
func lastMerge(t testing.TB, tokenOf func(string) token, s string) int {
	t.Helper()
	rank := tokenOf(s).rank()
	starts := mergeByStep(tokenOf, s, rank)
	require.Len(t, starts, 3, "token %q of rank %d is not merged from two", s, rank)
	return starts[1]
}

// entry is an entry of a hash table.
type entry struct {
	hash    uint64
	content []byte
}

// hashed returns the hash table of these entries, each of size bytes. One slot in 64 is free, and there are about 4
// entries a bucket: enough buckets that no two entries of one have the same home, which no pilot could separate.
func hashed(t testing.TB, entries []entry, size int) hashTable {
	t.Helper()
	hashes := map[uint64]bool{}
	for _, e := range entries {
		hashes[e.hash] = true
	}
	require.Len(t, hashes, len(entries), "no pilot parts what has the same hash")
	slots := len(entries) + len(entries)/64 + 1
	for n := slots / 4; n < slots/3; n++ {
		if table, ok := piloted(entries, n, slots, size); ok {
			return table
		}
	}
	require.Failf(t, "no pilots lead all to slots of their own", "%d entries of %d bytes", len(entries), size)
	return hashTable{}
}

// piloted returns a hash table, and false if no pilots were found. They are tried for the fullest buckets first, which
// are the hardest to place.
func piloted(entries []entry, buckets, slots, size int) (hashTable, bool) {
	byBucket := make([][]int, buckets) // entries
	homes := make([]int, len(entries))
	for i, e := range entries {
		bucket, home := spread(e.hash, uint32(buckets), uint32(slots))
		homes[i] = int(home)
		for _, other := range byBucket[bucket] {
			if homes[other] == homes[i] {
				return hashTable{}, false
			}
		}
		byBucket[bucket] = append(byBucket[bucket], i)
	}
	order := make([]int, buckets)
	for b := range order {
		order[b] = b
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(byBucket[b]), len(byBucket[a])) })

	pilots, contents, taken := make([]byte, buckets*pilotSize), make([]byte, slots*size), make([]bool, slots)
	for _, b := range order {
		pilot := 0
		meets := func(i int) bool { return taken[(homes[i]+pilot)%slots] }
		for slices.ContainsFunc(byBucket[b], meets) {
			if pilot++; pilot >= min(slots, 1<<(8*pilotSize)) {
				return hashTable{}, false
			}
		}
		binary.LittleEndian.PutUint16(pilots[b*pilotSize:], uint16(pilot))
		for _, i := range byBucket[b] {
			at := (homes[i] + pilot) % slots
			taken[at] = true
			copy(contents[at*size:], entries[i].content)
		}
	}
	return hashTable{uint32(buckets), uint32(slots), string(pilots), string(contents)}, true
}

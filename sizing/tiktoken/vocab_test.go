package tiktoken

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/sizing/internal/hash"
)

func TestVocabularyIsTiktokens(t *testing.T) {
	for _, name := range encodings {
		v := newTestCounter(t, name).vocab
		tokens, ranks := tokensByRank(t, name)
		for rank, s := range tokens {
			if s == "" {
				continue
			}
			want := newToken(uint32(rank), len(s))
			if got := v.find(s, 0, len(s)); got != want {
				require.Failf(t, "not the token", "%s: %q of rank %d is found as %d", name, s, rank, got.rank())
			}
			if len(s) == 1 {
				require.Equal(t, want, v.byte(s[0]), "%s: %q", name, s)
				continue
			}
			left, right := v.leftOf(uint32(rank)), v.rightOf(uint32(rank))
			first, second := tokens[left.rank()], tokens[right.rank()]
			if !v.couldBe(s, 0, len(s)) || first+second != s || left.len() != len(first) || right.len() != len(second) ||
				left.rank() >= uint32(rank) || right.rank() >= uint32(rank) {
				require.Failf(t, "not the halves", "%s: %q of rank %d: %q and %q", name, s, rank, first, second)
			}
		}
		held := 0
		for _, table := range []struct {
			slots    string
			size, at int
		}{{v.short.slots, shortSize, 8}, {v.long.slots, longSize, 0}} {
			for i := 0; i < len(table.slots); i += table.size {
				if slot(hash.Uint32(table.slots, i+table.at)).token() != noToken {
					held++
				}
			}
		}
		require.Len(t, ranks, held, "%s has no other tokens", name)
	}
}

// The longest tokens, and those next to them in length, are found at texts that are tokens, ends or starts of tokens, and
// nearly tokens.
func TestLongestTokenAndShorterOnesAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, name := range encodings {
		v := newTestCounter(t, name).vocab
		tokens, ranks := tokensByRank(t, name)
		for range 20_000 {
			token := tokens[r.IntN(len(tokens))]
			text := token[:r.IntN(len(token)+1)] + tokens[r.IntN(len(tokens))] + sizingtest.RandomText(r) + "."
			text = text[:1+r.IntN(len(text))]
			got := v.longest(text, 0)
			for k := len(text); k > 0; k-- {
				if rank, ok := ranks[text[:k]]; ok {
					require.Equal(t, newToken(uint32(rank), k), got, "%s: %d bytes of %q", name, k, text)
					got = v.shorter(text, 0, got)
				}
			}
			require.Equal(t, noToken, got, "%s: %q", name, text)
		}
	}
}

func TestBytesThatAreNotATokenAreNotFound(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, name := range encodings {
		v := newTestCounter(t, name).vocab
		tokens, ranks := tokensByRank(t, name)
		for range 100_000 { // that are a token but for a byte, or a token and zeros, or all of a token but its end
			b := []byte(tokens[r.IntN(len(tokens))] + "\x00\x00")
			b[r.IntN(len(b))] ^= byte(r.IntN(256))
			s := string(b[:1+r.IntN(len(b))])
			if _, known := ranks[s]; known {
				continue
			}
			if got := v.find(s, 0, len(s)); got != noToken {
				require.Failf(t, "found what is no token", "%s: %q is found as %q", name, s, tokens[got.rank()])
			}
		}
	}
}

func TestDamagedTableIsAnError(t *testing.T) {
	requireDamaged := func(table, what string, args ...any) {
		t.Helper()
		_, err := readVocab(table)
		require.ErrorIs(t, err, errTable, append([]any{what}, args...)...)
	}
	for _, size := range []int{0, 3, 15, 16, 100, 300, 1000, 70_000, len(r50kTable) - 1} {
		requireDamaged(r50kTable[:size], "%d bytes", size)
	}
	requireDamaged(r50kTable+"\x00", "a byte too many")
	for i := range 6 {
		for _, n := range []uint32{0, 1, 255, 1 << 19, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			table := []byte(r50kTable)
			binary.LittleEndian.PutUint32(table[4*i:], n)
			requireDamaged(string(table), "number %d is %d", i, n)
		}
	}
	requireDamaged(strings.Repeat("\x00", len(r50kTable)), "nothing but zeros")
}

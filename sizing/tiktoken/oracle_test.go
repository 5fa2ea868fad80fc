package tiktoken

import (
	"strings"
	"sync"
	"testing"
	"unicode"

	pkoukk "github.com/pkoukk/tiktoken-go"
	tiktoken_loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing/internal/split"
)

// The encodings and their patterns, from OpenAI's tiktoken.
var patterns = map[string]string{
	"o200k_base": `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
	"cl100k_base": `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`,
	"p50k_base": gpt3Pattern,
	"r50k_base": gpt3Pattern,
}

const gpt3Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

var encodings = []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"}

// newer reports whether a character is in another class here than in Go's tables, by which tiktoken-go goes.
func newer(r rune) bool { return unicode.Is(unicode.Cn, r) && split.ClassOf(r) != split.Symbol }

// oracles count with tiktoken-go, each encoding loaded once.
var oracles = func() map[string]func() (*pkoukk.Tiktoken, error) {
	oracles := map[string]func() (*pkoukk.Tiktoken, error){}
	for name, pattern := range patterns {
		oracles[name] = sync.OnceValues(func() (*pkoukk.Tiktoken, error) {
			ranks, err := tiktoken_loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
			if err != nil {
				return nil, err
			}
			bpe, err := pkoukk.NewCoreBPE(ranks, map[string]int{"<|endoftext|>": 1 << 20}, pattern)
			if err != nil {
				return nil, err
			}
			return pkoukk.NewTiktoken(bpe, nil, nil), nil
		})
	}
	return oracles
}()

func oracle(t testing.TB, encoding string) *pkoukk.Tiktoken {
	t.Helper()
	o, err := oracles[encoding]()
	require.NoError(t, err)
	return o
}

func newTestCounter(t testing.TB, encoding string) *Counter {
	t.Helper()
	c, err := New(encoding)
	require.NoError(t, err)
	return c
}

// pairing is a counter and what it has to equal.
type pairing struct {
	name    string
	counter *Counter
	oracle  *pkoukk.Tiktoken
}

// pairings are one of each encoding.
func pairings(t testing.TB) []pairing {
	t.Helper()
	all := make([]pairing, len(encodings))
	for i, name := range encodings {
		all[i] = pairing{name, newTestCounter(t, name), oracle(t, name)}
	}
	return all
}

// requireOracle checks that every encoding counts a text as tiktoken-go does, but for the characters that are in
// another class here: they are left out of the text.
func requireOracle(t testing.TB, all []pairing, text string) {
	t.Helper()
	if strings.ContainsFunc(text, newer) {
		text = strings.Map(func(r rune) rune {
			if newer(r) {
				return -1
			}
			return r
		}, text)
	}
	for _, p := range all {
		if got, want := p.counter.CountText(text), len(p.oracle.EncodeOrdinary(text)); got != want {
			require.Failf(t, "not the oracle's count", "%s: %d tokens, want %d: %q", p.name, got, want, text)
		}
	}
}

package vocabulary_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

// made is a small vocabulary, with what its file says and a count of texts by definition.
type made struct {
	ids    map[string]int
	merges [][2]string
	// characters is set for a vocabulary of characters.
	characters   bool
	ignoreMerges bool
}

var byteStrings = func() (all [256]string) {
	next := rune(256)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= '¡' && b <= '¬' || b >= '®' {
			all[b] = string(b)
		} else {
			all[b] = string(next)
			next++
		}
	}
	return all
}()

// train makes a vocabulary from the words of a text by merging the most frequent pairs n times.
func train(words []string, n int, characters bool) *made {
	m := &made{ids: map[string]int{}, characters: characters}
	add := func(token string) {
		if _, ok := m.ids[token]; !ok {
			m.ids[token] = len(m.ids)
		}
	}
	if characters {
		for b := range 256 {
			add(fmt.Sprintf("<0x%02X>", b))
		}
	} else {
		for _, s := range byteStrings {
			add(s)
		}
	}
	parted := make([][]string, len(words))
	for i, word := range words {
		parted[i] = m.symbols(word)
		for _, s := range parted[i] {
			add(s)
		}
	}
	for range n {
		counts := map[[2]string]int{}
		for _, word := range parted {
			for i := range len(word) - 1 {
				counts[[2]string{word[i], word[i+1]}]++
			}
		}
		var best [2]string
		for pair, count := range counts {
			if count > counts[best] || count == counts[best] && slices.Compare(pair[:], best[:]) < 0 {
				best = pair
			}
		}
		if counts[best] == 0 {
			break
		}
		m.merges = append(m.merges, best)
		add(best[0] + best[1])
		for i, word := range parted {
			parted[i] = merge(word, best)
		}
	}
	return m
}

func merge(word []string, pair [2]string) []string {
	for i := 0; i+1 < len(word); i++ {
		if word[i] == pair[0] && word[i+1] == pair[1] {
			word = slices.Replace(word, i, i+2, pair[0]+pair[1])
		}
	}
	return word
}

// symbols returns what a word is merged from.
func (m *made) symbols(word string) (symbols []string) {
	if !m.characters {
		for _, b := range []byte(word) {
			symbols = append(symbols, byteStrings[b])
		}
		return symbols
	}
	for _, r := range strings.ReplaceAll(word, " ", "▁") {
		if _, ok := m.ids[string(r)]; ok || m.merges == nil {
			symbols = append(symbols, string(r))
			continue
		}
		for _, b := range []byte(string(r)) {
			symbols = append(symbols, fmt.Sprintf("<0x%02X>", b))
		}
	}
	return symbols
}

// count counts a word by definition: the first merge in the list that applies, at its first place, again and again.
func (m *made) count(word string) int {
	symbols := m.symbols(word)
	if _, ok := m.ids[strings.Join(symbols, "")]; ok && m.ignoreMerges {
		return 1
	}
	ranks := map[[2]string]int{}
	for i, pair := range m.merges {
		ranks[pair] = i
	}
	for {
		best, at := len(m.merges), -1
		for i := range len(symbols) - 1 {
			if rank, ok := ranks[[2]string{symbols[i], symbols[i+1]}]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return len(symbols)
		}
		symbols = slices.Replace(symbols, at, at+2, symbols[at]+symbols[at+1])
	}
}

// json returns the vocabulary as a file, with these stages.
func (m *made) json(t testing.TB, normalizer, preTokenizer any, added ...map[string]any) []byte {
	t.Helper()
	var merges any = m.merges
	if len(m.merges)%2 == 0 { // the older form
		var lines []string
		for _, pair := range m.merges {
			lines = append(lines, pair[0]+" "+pair[1])
		}
		merges = lines
	}
	data := sure.JSON(t, map[string]any{
		"version": "1.0", "added_tokens": added, "normalizer": normalizer, "pre_tokenizer": preTokenizer,
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": nil, "byte_fallback": m.characters, "fuse_unk": m.characters,
			"ignore_merges": m.ignoreMerges, "vocab": m.ids, "merges": merges,
		},
	})
	return data
}

func splitStage(expression string) map[string]any {
	return map[string]any{"type": "Split", "pattern": map[string]any{"Regex": expression}, "behavior": "Isolated", "invert": false}
}

var byteLevel = map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}

func sequence(stages ...map[string]any) map[string]any {
	return map[string]any{"type": "Sequence", "pretokenizers": stages}
}

// corpus returns words to train with.
func corpus() (words []string) {
	for _, text := range slices.Concat(sentences, code) {
		words = append(words, strings.SplitAfter(text, " ")...)
	}
	return append(words, "aaaaaaaa", "aaaaaaaa", "abababab", "--------", "--------", "\n\n\n\n", "        ", "        ")
}

// shuffled returns a vocabulary whose merges are in no sensible order: many come before those of their parts.
func (m *made) shuffled(seed uint64) *made {
	s := *m
	s.merges = slices.Clone(m.merges)
	r := rand.New(rand.NewPCG(seed, 1))
	r.Shuffle(len(s.merges), func(i, j int) { s.merges[i], s.merges[j] = s.merges[j], s.merges[i] })
	// And two merges to one token.
	pairs := map[string]bool{}
	for _, pair := range s.merges {
		pairs[pair[0]+"\x00"+pair[1]] = true
	}
	tokens := make([]string, 0, len(m.ids))
	for token := range m.ids {
		tokens = append(tokens, token)
	}
	sort.Strings(tokens)
	for _, token := range tokens {
		for i := range token {
			_, left := m.ids[token[:i]]
			_, right := m.ids[token[i:]]
			if key := token[:i] + "\x00" + token[i:]; left && right && !pairs[key] && !strings.HasPrefix(token, "<0x") {
				s.merges = slices.Insert(s.merges, r.IntN(len(s.merges)), [2]string{token[:i], token[i:]})
				pairs[key] = true
			}
		}
	}
	return &s
}

func TestWordsAreMergedAsDefined(t *testing.T) {
	bytes := train(corpus(), 500, false)
	for name, m := range map[string]*made{"merges in order": bytes, "merges in any order": bytes.shuffled(1)} {
		for _, ignore := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", ignore_merges ", ignore), func(t *testing.T) {
				m.ignoreMerges = ignore
				v, err := vocabulary.Read(m.json(t, nil, byteLevel))
				require.NoError(t, err)
				c := v.Counter(vocabulary.Options{})
				words := corpus()
				for token := range m.ids {
					words = append(words, token)
				}
				g := generator{rand.New(rand.NewPCG(3, 4)), nil}
				for range 400 {
					words = append(words, g.text(), strings.Repeat(g.of(runs), 1+g.IntN(200)))
				}
				for _, word := range words {
					if len(word) > 3000 {
						word = word[:3000]
					}
					word = string([]rune(word))
					require.Equal(t, m.count(word), c.CountText(word), "%q", word)
				}
			})
		}
	}
}

func TestTextsOfCharactersAreSplitWhereNothingIsMerged(t *testing.T) {
	characters := train(corpus(), 500, true)
	spaces := map[string]any{"type": "Replace", "pattern": map[string]any{"String": " "}, "content": "▁"}
	prepend := map[string]any{"type": "Prepend", "prepend": "▁"}
	for name, m := range map[string]*made{"merges in order": characters, "merges in any order": characters.shuffled(2)} {
		t.Run(name, func(t *testing.T) {
			for _, tt := range []struct {
				name            string
				normalizer, pre any
				before          string
			}{
				{"Gemma's stages", spaces, map[string]any{"type": "Split", "pattern": map[string]any{"String": " "}, "behavior": "MergedWithPrevious"}, ""},
				{"Llama 2's stages", map[string]any{"type": "Sequence", "normalizers": []any{prepend, spaces}}, nil, " "},
				{"Metaspace, never", nil, map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": false}, ""},
			} {
				t.Run(tt.name, func(t *testing.T) {
					v, err := vocabulary.Read(m.json(t, tt.normalizer, tt.pre))
					require.NoError(t, err)
					require.Equal(t, tt.before == "", v.Joins())
					c := v.Counter(vocabulary.Options{})
					for _, text := range texts(5, 300, nil) {
						if len(text) > 2000 {
							continue
						}
						require.Equal(t, m.count(tt.before+text), c.CountText(text), "%q", text)
					}
				})
			}
		})
	}
}

func TestAByteThatIsNotUTF8CountsAsItsReplacement(t *testing.T) {
	v, err := vocabulary.Read(train(corpus(), 300, false).json(t, nil, byteLevel))
	require.NoError(t, err)
	c := v.Counter(vocabulary.Options{})
	for _, tt := range []struct{ broken, sent string }{
		{"a\xffb", "a\ufffdb"},
		{"\xe4\xb8", "\ufffd\ufffd"},
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		{strings.Repeat("x\xc3", 100), strings.Repeat("x\ufffd", 100)},
	} {
		require.False(t, utf8.ValidString(tt.broken))
		require.Equal(t, c.CountText(tt.sent), c.CountText(tt.broken), "%q", tt.broken)
	}
}

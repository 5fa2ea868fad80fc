package tiktoken

import (
	"encoding/json"
	"errors"
	"flag"
	"go/build"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing/internal/memo"
)

func TestTextsCountAsInTiktoken(t *testing.T) {
	all := pairings(t)
	for _, tt := range []struct{ rule, text string }{
		{"an empty text", ""},
		{"prose", "The quick brown fox jumps over the lazy dog, doesn't it? It's 12,345.67 times faster."},
		{"special tokens are plain text", "<|endoftext|> <|im_start|>user<|im_sep|><|endofprompt|>"},
		{"contractions in either case", "I'm he's HE'S we've WE'VE they'll THEY'LL you'd don't DON'T y'all're 'sup 'Tis 're'"},
		{"contractions do not match a long s", "it'ſ it'S 'ſ"},
		{"typographic apostrophes do not contract", "it’s I’m we’ve"},
		{"apostrophes at the end", "rock'n'roll' '' ''' 'l 'v 'r '"},
		{"camel case", "parseHTTPRequest ABCDef ABCdEF aB Ab AB ab XMLHttpRequestFactory iPhone"},
		{"title case letters", "ǅungla ǄUNGLA Ǆabc aǅ ǈ"},
		{"letters without case", "ªº ʰʲ ﾞ ㍿ 中A中a A中 a中B ʰA ʰa Aʰ AʰB"},
		{"marks alone, before and after letters", "\u0301 \u0301a \u0301A a\u0301B A\u0301 A\u0301b \u0301\u0301AB \u0301ABC\u0301 !\u0301! !!\u0301 1\u03011 \u0301\n\u0301"},
		{"numbers of all kinds, three at a time", "1 12 123 1234 1234567 ½ Ⅷ ١٢٣٤ ² 𝟘𝟙𝟚𝟛 1½Ⅷ٣"},
		{"runs of spaces", " a  b   c    d     "},
		{"spaces before a line break", "a \n  \n   b\n\n\n c \r\n \r d\n "},
		{"tabs", "\tif x {\n\t\treturn\t\n\t}\n\t"},
		{"every kind of white space", "a\u00a0b\u2003c\u3000d\u0085e\u2028f\u2029g\vh\fi\u1680j \u00a0k\u00a0 l\u00a0\u00a0m"},
		{"characters that only look like white space", "a\ufeffb\u200bc\u180ed\u2060e \ufeff \ufeff"},
		{"symbols and line breaks", "!!!\n\n## x\r\n---\n- *a*\n\n```go\nx\n```\n/ // /\n/ a/b /\r/"},
		{"scripts", "Ελληνικά русский עברית العربية हिन्दी ไทย 中文 日本語 カタカナ 한국어 ქართული አማርኛ Tiếng Việt İstanbul ß ŉ"},
		{"characters beyond U+FFFF", "𝔘𝔫𝔦 𐐀𐐨 𠀀𠀁 🜁 𞤀𞤢 𑀓𑀸 𝅘𝅥𝅮"},
		{"emoji", "🙂 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽👍🏽 ☃️ 🇩🇪🇫🇷 ❤️‍🔥"},
		{"the replacement character", "\ufffd \ufffd\ufffd a\ufffdb"},
		{"bytes that are not UTF-8", "a\xffb \xc3 \xe4\xb8 \xed\xa0\x80 \xf0\x9f\x99 \x80\x80 \xc0\xaf end\xff"},
		{"control characters", "\x00\x01\x1b[31mred\x1b[0m\x7f"},
		{"base64", "aGVsbG8gd29ybGQhIFRoaXMgaXMgYSB0ZXN0IG9mIGJhc2U2NCBlbmNvZGluZyB3aXRoIHNvbWUgbGVuZ3RoIQ=="},
		{"code", "func (c *Counter) CountText(text string) int {\n\tif len(text) < 64 {\n\t\treturn 0 // none\n\t}\n}\n"},
		{"JSON", `{"type":"object","properties":{"glob":{"type":"string","description":"Which files"}},"n":[1,2.5,-3e10,null]}`},
	} {
		t.Run(tt.rule, func(t *testing.T) { requireOracle(t, all, tt.text) })
	}
}

func TestLongWordsCountAsInTiktoken(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	all := pairings(t)
	random := make([]byte, 2000)
	for i := range random {
		random[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[r.IntN(52)]
	}
	for _, n := range []int{7, 8, 9, 16, 17, 63, 64, 65, 127, 128, 129, 1000} {
		for _, unit := range []string{"a", "ab", "-", "=", " ", "\t", "\n", "中", "ä", "nowhere", string(random)} {
			requireOracle(t, all, strings.Repeat(unit, n/len(unit)+1)[:n])
		}
	}
}

// A megabyte without a break must be counted at once; tiktoken-go would take hours.
func TestAMegabyteOfOneLetterIsCountedInLinearTime(t *testing.T) {
	const size, perToken = 1 << 20, 8
	c := newTestCounter(t, "cl100k_base")
	require.Equal(t, 4096/perToken, len(oracle(t, "cl100k_base").EncodeOrdinary(strings.Repeat("a", 4096))))
	require.Equal(t, size/perToken, c.CountText(strings.Repeat("a", size)))
}

func TestRandomTextsCountAsInTiktoken(t *testing.T) {
	all := pairings(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		requireOracle(t, all, sizingtest.RandomText(r))
	}
}

var everything = flag.Bool("everything", false, "compare all of the standard library, which takes minutes, not a sample")

func TestGoSourceCountsAsInTiktoken(t *testing.T) {
	all := pairings(t)[:2]
	files, size := 0, 0
	err := filepath.WalkDir(filepath.Join(build.Default.GOROOT, "src"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		files++
		if !*everything && files%400 != 0 {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if len(source) > 1<<18 && !*everything {
			return nil // tables, which the sample has enough of
		}
		size += len(source)
		requireOracle(t, all, string(source))
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the standard library's source is not here:", err)
	}
	require.NoError(t, err)
	t.Logf("%d bytes, of %d files", size, files)
	require.NotZero(t, size)
}

// The counts are those of OpenAI's own tiktoken, with characters that are newer than tiktoken-go knows.
func TestTextsCountAsInOpenAIsTiktoken(t *testing.T) {
	file := sure.Read(t, "testdata/tiktoken.json")
	var texts []struct {
		Text   string
		Tokens map[string]int
	}
	require.NoError(t, json.Unmarshal(file, &texts))
	newCharacters := 0
	for _, text := range texts {
		if strings.ContainsFunc(text.Text, newer) {
			newCharacters++
		}
		for encoding, want := range text.Tokens {
			require.Equal(t, want, newTestCounter(t, encoding).CountText(text.Text), "%s: %q", encoding, text.Text)
		}
	}
	require.Greater(t, newCharacters, 100)
}

func FuzzCountText(f *testing.F) {
	for _, piece := range sizingtest.Pieces {
		f.Add(piece)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		f.Add(sizingtest.RandomText(r))
	}
	f.Add(strings.Repeat("ab", 300))
	all := pairings(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			t.Skip("the oracle is quadratic")
		}
		requireOracle(t, all, text)
	})
}

func TestCounterIsSafeForConcurrentUse(t *testing.T) {
	texts := strings.SplitAfter(string(sure.Read(t, "counter.go"))+strings.Repeat("ab", 5000), "\n")
	c := newTestCounter(t, "cl100k_base")
	want := make([]int, len(texts))
	for i, text := range texts {
		want[i] = newTestCounter(t, "cl100k_base").CountText(text)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for round := range 20 {
				for i := range texts {
					i = (i + round) % len(texts)
					if got := c.CountText(texts[i]); got != want[i] {
						t.Errorf("%q: %d tokens, want %d", texts[i], got, want[i])
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestCountingAllocatesNothing(t *testing.T) {
	c := newTestCounter(t, "o200k_base")
	for name, text := range map[string]string{
		"short":     "How many Go files are there?",
		"long":      strings.Repeat("How many Go files are there?\n", 100),
		"long word": strings.Repeat("ab", 100),
	} {
		c.CountText(text)
		require.Zero(t, testing.AllocsPerRun(10, func() { c.CountText(text) }), name)
	}
}

// The garbage collector runs between one word and the next.
func TestCountingANewLongWordAllocatesNothing(t *testing.T) {
	c := newTestCounter(t, "o200k_base")
	words := make([]string, 12)
	for i := range words {
		words[i] = strings.Repeat(string(rune('a'+i))+"bc", 40)
	}
	i := 0
	require.Zero(t, testing.AllocsPerRun(10, func() {
		c.CountText(words[i])
		i++
		runtime.GC()
		runtime.GC() // a sync.Pool would survive one run
	}))
}

func TestTextIsCountedOnce(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	text := strings.Repeat("x y ", memo.TextMin)
	want := c.CountText(text)

	m := c.memory
	n, ok := m.Texts().Get(m.TextKey(strings.Clone(text)))
	require.True(t, ok)
	require.Equal(t, want, n)

	c.memory = memo.New()
	m = c.memory
	m.Texts().Put(m.TextKey(text), 4711)
	require.Equal(t, 4711, c.CountText(text), "the count comes from the memo")
}

func TestShortTextIsNotRemembered(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	m := c.memory
	for _, size := range []int{memo.TextMin - 1, memo.TextMin} {
		text := strings.Repeat("x", size)
		c.CountText(text)
		_, ok := m.Texts().Get(m.TextKey(text))
		require.Equal(t, size >= memo.TextMin, ok, "%d bytes", size)
	}
}

func TestWordOfTwoTokensIsMergedOnce(t *testing.T) {
	c := newTestCounter(t, "o200k_base")
	for _, word := range []string{"xqzv", "reticulatedly", strings.Repeat("xqzv", 10)} {
		text := "(" + word + ")"
		c.CountText(text)
		m := c.memory
		_, ok := m.Words.Get(m.WordKey(text, 0, len(word)+1))
		require.True(t, ok, "(%s", word)
	}
}

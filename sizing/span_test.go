package sizing_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/openai"
)

func newCounter(t testing.TB, encoding string) *openai.Counter {
	t.Helper()
	c, err := openai.New(encoding)
	require.NoError(t, err)
	return c
}

func newCounters(t testing.TB) []*openai.Counter {
	t.Helper()
	return []*openai.Counter{newCounter(t, "o200k_base"), newCounter(t, "cl100k_base"), newCounter(t, "p50k_base")}
}

func TestSpan(t *testing.T) {
	for _, tt := range []struct {
		rule  string
		texts []string
	}{
		{"nothing is nothing", nil},
		{"empty texts", []string{"", "", ""}},
		{"empty texts beside others", []string{"", "one two", "", "three", ""}},
		{"a word in pieces", []string{"inter", "nation", "al", "ization"}},
		{"a seam inside a word", []string{"The quick bro", "wn fox jumps"}},
		{"a seam before a contraction", []string{"it isn", "'", "t so"}},
		{"a seam in white space", []string{"one ", " ", " \n", "\n  ", "two"}},
		{"a seam in a line end", []string{"one\r", "\ntwo"}},
		{"a seam before a slash", []string{"one.\n", "/ two"}},
		{"a seam in a number", []string{"1", "23", "456", "7", " 8"}},
		{"a seam before a mark", []string{"e", "\u0301", "te\u0301"}},
		{"a seam inside a character", []string{"\xe4", "\xb8\xad \xe6\x96", "\x87"}},
		{"a seam inside a digit beside which is a cut", []string{"a \xd9", "\xa1", "\xd9", "\xa2b"}},
		{"bytes that stay amiss", []string{"a\xff", "\xff b", "\xe4\xb8", " c"}},
		{"no cut at all", []string{"中", "文字", "列的", "长度"}},
		{"cuts only at the seams", []string{"a", "1", "b", "2"}},
		{"symbols", []string{"((", "))", " {", "}\n", "\n", "x"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, c := range newCounters(t) {
				var span sizing.Span
				for _, text := range tt.texts {
					span = span.Join(c, sizing.Measure(c, text))
				}
				require.Equal(t, sizing.Measure(c, strings.Join(tt.texts, "")), span)
			}
		})
	}
}

// requireSpansJoin cuts a text in three anywhere, joins the parts in both orders and wants the span of the text.
func requireSpansJoin(t *testing.T, c *openai.Counter, text string, i, j int) {
	t.Helper()
	i, j = min(i, j), max(i, j)
	whole := sizing.Measure(c, text)
	require.Equal(t, c.CountText(text), whole.Tokens())
	x, y, z := sizing.Measure(c, text[:i]), sizing.Measure(c, text[i:j]), sizing.Measure(c, text[j:])
	require.Equal(t, whole, x.Join(c, y).Join(c, z), "%q + %q, then %q", text[:i], text[i:j], text[j:])
	require.Equal(t, whole, x.Join(c, y.Join(c, z)), "%q, then %q + %q", text[:i], text[i:j], text[j:])
}

func randomText(r *rand.Rand) string {
	pieces := []string{
		"a", "b", "the", "Z", "HTTP", "É", "中", "文字", "ก", "\u0301", "\u200d", "'", "'s", "'LL", "1", "23", "½", "٣",
		" ", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u2028", ".", "/", "//", "(", "}", "_", "🙂", "👩‍👧", "𐐀",
		"\xff", "\xc3", "\xe4\xb8", "\xad", "\xed\xa0\x80", "\ufffd", "return", "internationalization",
	}
	var b strings.Builder
	for range r.IntN(20) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func TestSpansOfRandomTextsJoin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range newCounters(t) {
		for range 8000 {
			text := randomText(r)
			requireSpansJoin(t, c, text, r.IntN(len(text)+1), r.IntN(len(text)+1))
		}
	}
}

func FuzzSpan(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		text := randomText(r)
		f.Add(text, uint16(r.IntN(len(text)+1)), uint16(r.IntN(len(text)+1)))
	}
	counters := newCounters(f)
	f.Fuzz(func(t *testing.T, text string, i, j uint16) {
		for _, c := range counters {
			requireSpansJoin(t, c, text, min(int(i), len(text)), min(int(j), len(text)))
		}
	})
}

// spy is a tokenizer that knows how many bytes it was made to count.
type spy struct {
	sizing.Joiner
	bytes int
}

func (s *spy) CountText(text string) int {
	s.bytes += len(text)
	return s.Joiner.CountText(text)
}

func TestJoiningCostsTheSeam(t *testing.T) {
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 1000)
	for _, tt := range []struct {
		rule string
		a, b string
		want int
	}{
		{"a few bytes", prose + "The qui", "ck brown fox\n" + prose, len("quick")},
		{"nothing where the seam may be cut", prose, prose, 0},
		{"nothing beside nothing", prose, "", 0},
		{"texts without a cut cost their length", strings.Repeat("中", 100), strings.Repeat("文", 100), 600},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := &spy{Joiner: newCounter(t, "o200k_base")}
			a, b := sizing.Measure(s, tt.a), sizing.Measure(s, tt.b)
			s.bytes = 0
			joined := a.Join(s, b)
			require.Equal(t, s.Joiner.CountText(tt.a+tt.b), joined.Tokens())
			require.LessOrEqual(t, s.bytes, tt.want+2)
			require.GreaterOrEqual(t, s.bytes, tt.want)
		})
	}
}

func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		rule, head, middle, tail string
	}{
		{"one cut", "one", "", " two"},
		{"first and last", "one", " two", " three"},
		{"not in white space", "  one", " two", "  "},
		{"at a line's end", "one", ".\n", "two"},
		{"none beside a byte amiss", "\xff\xffone", " two\xff three", " four\xff 5"},
		{"none in a character cut in two", "\xb8\xad one", " two", " \xe4\xb8"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			head, tail, ok := sizing.Ends(newCounter(t, "o200k_base"), tt.head+tt.middle+tt.tail)
			require.True(t, ok)
			require.Equal(t, []int{len(tt.head), len(tt.head) + len(tt.middle)}, []int{head, tail})
		})
	}
	for _, text := range []string{"", "a", " ", "one", "中文", "\xff", "\xff\xff \xff", "  \n", "()"} {
		_, _, ok := sizing.Ends(newCounter(t, "o200k_base"), text)
		require.False(t, ok, "%q", text)
	}
}

func BenchmarkJoin(b *testing.B) {
	c := newCounter(b, "o200k_base")
	for name, texts := range map[string][2]string{
		"inside a word": {"The quick bro", "wn fox jumps"},
		"at a line end": {"The quick\n", "brown fox"},
	} {
		x, y := sizing.Measure(c, texts[0]), sizing.Measure(c, texts[1])
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Join(c, y)
			}
		})
	}
}

package tiktoken

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing/internal/memo"
)

// recorded is the path of a real session beside the repository, in shared/, which may be missing.
const recorded = "../../../shared/sessions/pi-before-compaction.jsonl"

// sessionTexts returns the texts of the recorded session as a model is sent them: the texts of each message, its
// thinking, the arguments of tool calls and the output of commands.
func sessionTexts(t testing.TB) []string {
	t.Helper()
	file, err := os.Open(recorded)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded session is not here:", recorded)
	}
	require.NoError(t, err)
	defer file.Close()
	var texts []string
	for d := json.NewDecoder(file); d.More(); {
		var entry struct {
			Message struct {
				Content []struct {
					Text, Thinking string
					Arguments      json.RawMessage
				}
				Output string
			}
		}
		require.NoError(t, d.Decode(&entry))
		m := entry.Message
		for _, part := range m.Content {
			texts = append(texts, part.Text, part.Thinking, string(part.Arguments))
		}
		texts = append(texts, m.Output)
	}
	return texts
}

func sessionText(t testing.TB) string {
	t.Helper()
	return strings.Join(sessionTexts(t), "\n")
}

// Cold counts a text of new words, words a new text of known words, and warm a known text. Parallel is words in as many
// goroutines as there are processors, each with its own text; gain is what that gains.
func BenchmarkCountText(b *testing.B) {
	text := sessionText(b)
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		c := newTestCounter(b, name)
		took := map[string]float64{}
		run := func(state string, count func()) {
			b.Run(name+"/"+state, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					count()
				}
				took[state] = b.Elapsed().Seconds() / float64(b.N)
			})
		}
		run("cold", func() { c.memory = memo.New(); c.count(text) })
		run("words", func() { c.count(text) })
		b.Run(name+"/parallel", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c.count(text)
				}
			})
			b.ReportMetric(took["words"]/(b.Elapsed().Seconds()/float64(b.N)), "gain")
		})
		run("warm", func() { c.CountText(text) })
		run("tiktoken-go", func() { oracle(b, name).EncodeOrdinary(text) })
	}
}

// megabytes are texts that may be slow to count: hardly a word in them ends, or hardly one is known.
var megabytes = map[string]func(size int) string{
	"one letter": func(size int) string { return strings.Repeat("a", size) },
	"spaces":     func(size int) string { return strings.Repeat(" ", size) },
	"newlines":   func(size int) string { return strings.Repeat("\n", size) },
	"one mark":   func(size int) string { return strings.Repeat("=", size) },
	"digits":     func(size int) string { return strings.Repeat("0123456789", size/10) },
	"base64":     func(size int) string { return base64.StdEncoding.EncodeToString(randomBytes(size / 4 * 3)) },
	"Chinese": func(size int) string {
		return randomRunes(size/3, func(r *rand.Rand) rune { return 0x4e00 + r.Int32N(0x5000) })
	},
	"emoji": func(size int) string {
		return randomRunes(size/4, func(r *rand.Rand) rune { return 0x1f300 + r.Int32N(0x300) })
	},
	"random letters": func(size int) string {
		return randomRunes(size, func(r *rand.Rand) rune { return 'a' + r.Int32N(26) })
	},
	"random bytes":  func(size int) string { return string(randomBytes(size)) },
	"dashes broken": func(size int) string { return strings.Repeat(strings.Repeat("-", 65)+"!", size/66) },
	"two letters":   func(size int) string { return strings.Repeat("ab", size/2) },
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

func randomRunes(n int, of func(*rand.Rand) rune) string {
	var b strings.Builder
	r := rand.New(rand.NewPCG(17, 18))
	for range n {
		b.WriteRune(of(r))
	}
	return b.String()
}

// Of 2 MB it reports the time beside that of 1 MB. The target is 2.3 times.
func BenchmarkCountMegabyte(b *testing.B) {
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		c := newTestCounter(b, name)
		for kind, text := range megabytes {
			var half float64
			for _, size := range []struct {
				name  string
				bytes int
			}{{"1MB", 1_000_000}, {"2MB", 2_000_000}} {
				text := text(size.bytes)
				b.Run(name+"/"+kind+"/"+size.name, func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					for b.Loop() {
						c.memory = memo.New()
						c.count(text)
					}
					took := b.Elapsed().Seconds() / float64(b.N)
					if half > 0 {
						b.ReportMetric(took/half, "of-half")
					}
					half = took
				})
			}
		}
	}
}

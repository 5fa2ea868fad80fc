package openai

import (
	"encoding/base64"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goSource is some megabytes of Go: the standard library's net/http.
func goSource(b *testing.B) string {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", "net", "http", "*.go"))
	require.NoError(b, err)
	var all strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(b, err)
		all.Write(source)
	}
	if all.Len() == 0 {
		b.Skip("there is no Go source here")
	}
	return all.String()
}

// Cold is a counter's first look at a text, warm what it remembers, and words a new text of words it has met.
func BenchmarkCountText(b *testing.B) {
	source := goSource(b)
	for _, name := range encodings {
		c := newTestCounter(b, name)
		run := func(state string, count func()) {
			b.Run(name+"/"+state, func(b *testing.B) {
				b.SetBytes(int64(len(source)))
				b.ReportAllocs()
				for b.Loop() {
					count()
				}
			})
		}
		run("cold", func() { c.words = newWordMemo(); c.count(source) })
		run("words", func() { c.count(source) })
		run("warm", func() { c.CountText(source) })
	}
}

func BenchmarkCountTextByTiktoken(b *testing.B) {
	source := goSource(b)
	for _, name := range encodings {
		o := oracle(b, name)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				o.EncodeOrdinary(source)
			}
		})
	}
}

func BenchmarkCountShortText(b *testing.B) {
	c := newTestCounter(b, "o200k_base")
	b.ReportAllocs()
	for b.Loop() {
		c.CountText("How many Go files are there?")
	}
}

// A text without a break is the worst case: one word of a megabyte.
func BenchmarkCountMegabyte(b *testing.B) {
	c := newTestCounter(b, "o200k_base")
	random := make([]byte, 3<<18)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(random)
	for name, text := range map[string]string{
		"one letter": strings.Repeat("a", 1<<20),
		"base64":     base64.StdEncoding.EncodeToString(random),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				c.count(text)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range encodings {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := load(name, newSplitter().o200k, newSplitter().o200kCut)
				require.NoError(b, err)
			}
		})
	}
}

package compare

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

var textFile = flag.String("text", "", "text of prompt-tsx's benchmark, its src/base/test/renderer.test.tsx (default a generated one of its shape)")

// chunked returns a message with a chunk for each line.
func chunked(lines []string) elements.Node {
	m := elements.UserMessage{Children: make(elements.Nodes, len(lines))}
	for i, line := range lines {
		m.Children[i] = elements.TextChunk{Children: elements.Nodes{elements.Text(line)}}
	}
	return m
}

// prompt-tsx's own benchmark: one message with a chunk for each line of a file, pruned to 1,000 tokens. Our memo is empty
// before each render, prompt-tsx's tokenizer keeps its own.
func BenchmarkPromptTSX(b *testing.B) {
	const (
		encoding = "cl100k_base"
		budget   = 1_000
	)
	text := generatedCode()
	if *textFile != "" {
		text = strings.TrimSuffix(string(sure.Read(b, *textFile)), "\n")
	}
	lines := strings.Split(text, "\n")
	// with returns a job with a counter that remembers nothing.
	with := func(work func(c *tiktoken.Counter)) job {
		return func() time.Duration {
			c, err := tiktoken.New(encoding)
			require.NoError(b, err)
			return timed(func() { work(c) })()
		}
	}
	kept := 0
	render := func(c *tiktoken.Counter, root elements.Node) {
		r, err := render.Render(b.Context(), root, render.Options{Budget: budget, Tokenizer: c})
		require.NoError(b, err)
		kept = r.Tokens
	}
	root := chunked(lines)
	rendered := with(func(c *tiktoken.Counter) { render(c, root) })

	b.Run("counter alone", func(b *testing.B) { // at most 1.2 times as slow
		beside(b, 1/1.2, rendered, with(func(c *tiktoken.Counter) { c.CountText(text) }))
	})
	b.Run("prompt-tsx", func(b *testing.B) {
		chunks := sure.JSON(b, lines)
		theirs, n := javascript(b, "promptTSX", map[string]any{
			"encoding": encoding, "ranks": ranks(b, encoding), "chunks": sure.File(b, "file", string(chunks)), "budget": budget,
		})
		built := with(func(c *tiktoken.Counter) { render(c, chunked(lines)) })
		built()
		same(b, n, kept)
		beside(b, 450, built, theirs)
	})
}

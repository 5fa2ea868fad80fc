package compare

import (
	"flag"
	"strings"
	"testing"
	"time"

	pkoukk "github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

var (
	sessionFile    = flag.String("session", "../../../shared/sessions/pi-before-compaction.jsonl", "recorded session whose text is counted")
	vocabularyFile = flag.String("vocabulary", "", "tokenizer.json of a model to count with (default none)")
)

// sessionText returns the texts of the recorded session, in lines.
func sessionText(b *testing.B) string {
	b.Helper()
	var texts strings.Builder
	for _, m := range sessiontest.Read(b, *sessionFile).Conversation() {
		for _, part := range m.Content {
			switch part := part.(type) {
			case chat.Text:
				texts.WriteString(string(part) + "\n")
			case chat.Thinking:
				texts.WriteString(part.Text + "\n")
			}
		}
		for _, call := range m.ToolCalls {
			texts.WriteString(call.Arguments + "\n")
		}
	}
	return texts.String()
}

// rotated returns a function that returns the text rotated by lines, starting at another line each time: a new text of
// known words.
func rotated(text string) func() string {
	twice, at := text+text, 0
	return func() string {
		at = (at + strings.IndexByte(twice[at:], '\n') + 1) % len(text)
		return twice[at : at+len(text)]
	}
}

// counting returns the jobs of a counter that knows the words of the text but not the text, and of a new one.
func counting(text string, newCounter func() chat.Tokenizer) (warm, empty job) {
	next, c := rotated(text), newCounter()
	warm = timed(func() { c.CountText(next()) })
	warm()
	return warm, func() time.Duration {
		c := newCounter()
		return timed(func() { c.CountText(text) })()
	}
}

// Ours is warm, which knows the words of the text but not the text, or has an empty memo.
func BenchmarkCount(b *testing.B) {
	text := sessionText(b)
	pkoukk.SetBpeLoader(loader.NewOfflineLoader())
	for _, encoding := range []string{"o200k_base", "cl100k_base"} {
		newCounter := func() chat.Tokenizer {
			c, err := tiktoken.New(encoding)
			require.NoError(b, err)
			return c
		}
		warm, empty := counting(text, newCounter)
		tokens := newCounter().CountText(text)

		tik, err := pkoukk.GetEncoding(encoding)
		require.NoError(b, err)
		theirs := timed(func() { tik.EncodeOrdinary(text) })
		b.Run(encoding+"/warm/tiktoken-go", func(b *testing.B) { beside(b, 40, warm, theirs) })
		b.Run(encoding+"/empty/tiktoken-go", func(b *testing.B) { beside(b, 30, empty, theirs) })

		b.Run(encoding+"/warm/tokenizer", func(b *testing.B) {
			codec, err := tokenizer.Get(tokenizer.Encoding(encoding))
			require.NoError(b, err)
			n, err := codec.Count(text)
			require.NoError(b, err)
			same(b, n, tokens)
			beside(b, 0, warm, timed(func() { _, _ = codec.Count(text) }))
		})
		for name, ours := range map[string]job{"warm": warm, "empty": empty} {
			b.Run(encoding+"/"+name+"/tiktokenizer", func(b *testing.B) {
				theirs, n := javascript(b, "count", map[string]any{
					"encoding": encoding, "ranks": ranks(b, encoding), "text": sure.File(b, "file", text), "cold": name == "empty",
				})
				same(b, n, tokens)
				beside(b, 0, ours, theirs)
			})
		}
	}
}

// The peer is Hugging Face's library in Rust.
func BenchmarkCountWithVocabulary(b *testing.B) {
	if *vocabularyFile == "" {
		b.Skip("-vocabulary names no tokenizer.json")
	}
	v, err := vocabulary.Open(*vocabularyFile)
	require.NoError(b, err)
	text := sessionText(b)
	newCounter := func() chat.Tokenizer { return v.Counter(vocabulary.Options{}) }
	warm, empty := counting(text, newCounter)
	theirs, n := javascript(b, "countWithFile", map[string]any{"file": *vocabularyFile, "text": sure.File(b, "file", text)})
	same(b, n, newCounter().CountText(text))
	b.Run("warm", func(b *testing.B) { beside(b, 10, warm, theirs) })
	b.Run("empty", func(b *testing.B) { beside(b, 0, empty, theirs) })
}

// same logs the difference between a peer's count and ours.
func same(b *testing.B, theirs, ours int) {
	if theirs != ours {
		b.Logf("the peer counts %d tokens, ours %d", theirs, ours)
	}
}

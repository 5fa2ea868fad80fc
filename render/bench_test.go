package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func cl100k(b *testing.B) chat.Tokenizer {
	b.Helper()
	tokenizer := tiktoken.Cl100k()
	return tokenizer
}

// benchmark renders with a budget that is a share of the prompt's tokens, and checks that pieces are dropped only if it
// is below 1.
func benchmark(b *testing.B, root elements.Node, tokenizer chat.Tokenizer, share float64) {
	b.Helper()
	whole, err := render.Render(b.Context(), root, render.Options{Budget: 10_000_000, Tokenizer: tokenizer})
	require.NoError(b, err)
	opts := render.Options{Budget: int(float64(whole.Tokens) * share), Tokenizer: tokenizer}
	b.ReportAllocs()
	for b.Loop() {
		r, err := render.Render(b.Context(), root, opts)
		if err != nil || r.Tokens > opts.Budget || share >= 1 && len(r.Report().Dropped()) > 0 {
			b.Fatal(err, r.Tokens, opts.Budget)
		}
	}
	b.ReportMetric(float64(whole.Tokens), "tokens")
}

// sentence returns a text that differs for each i.
func sentence(i int) string {
	return fmt.Sprintf("Line %d: the quick brown fox (%x) jumps over %s lazy dogs.", i, i*7919, strings.Repeat("very ", i%4))
}

// BenchmarkPruneChunks prunes a message of 1,000 chunks to a third.
func BenchmarkPruneChunks(b *testing.B) {
	var m elements.UserMessage
	for i := range 1000 {
		m.Children = append(m.Children, chunk(i*7919%1000, sentence(i)))
	}
	b.Run("cl100k", func(b *testing.B) { benchmark(b, m, cl100k(b), 1.0/3) })
	b.Run("words", func(b *testing.B) { benchmark(b, m, words, 1.0/3) })
}

// BenchmarkConversation renders a conversation of 500 messages that fits.
func BenchmarkConversation(b *testing.B) {
	conversation := elements.Nodes{elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent.")}}}
	for i := range 166 {
		id := fmt.Sprint("call_", i)
		for _, m := range []chat.Message{
			chat.UserMessage(sentence(3 * i)),
			{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text(sentence(3*i + 1))}, ToolCalls: []chat.ToolCall{{ID: id, Name: "read", Arguments: `{"path":"a.go"}`}}},
			chat.ToolResult(id, strings.Repeat(sentence(3*i+2)+"\n", 10)),
		} {
			conversation = append(conversation, elements.Message(at(i), m))
		}
	}
	conversation = append(conversation, elements.Message(elements.Props{}, chat.UserMessage("And now?")))
	b.Run("cl100k", func(b *testing.B) { benchmark(b, conversation, cl100k(b), 1) })
	b.Run("words", func(b *testing.B) { benchmark(b, conversation, words, 1) })
}

// BenchmarkSurvey compares the survey of a prompt of tags with a render that prunes it to half.
func BenchmarkSurvey(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		var m elements.UserMessage
		for i := range n {
			m.Children = append(m.Children, elements.Tag{Props: at(i * 7919 % n), Name: "file", Children: elements.Nodes{
				elements.TextChunk{BreakOn: "\n", Least: 4, Children: elements.Nodes{elements.Text(sentence(i) + "\n" + sentence(i+1) + "\n" + sentence(i+2))}},
			}})
		}
		opts := render.Options{Budget: plenty, Tokenizer: cl100k(b)}
		whole, err := render.Render(b.Context(), m, opts)
		require.NoError(b, err)
		opts.Budget = whole.Tokens / 2
		var half *render.Result
		b.Run(fmt.Sprintf("%d/render", n), func(b *testing.B) {
			for b.Loop() {
				half, err = render.Render(b.Context(), m, opts)
				require.NoError(b, err)
			}
		})
		b.Run(fmt.Sprintf("%d/survey", n), func(b *testing.B) {
			for b.Loop() {
				_, err := half.Survey(b.Context())
				require.NoError(b, err)
			}
		})
	}
}

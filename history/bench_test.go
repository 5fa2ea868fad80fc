package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/treetest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// long appends entries to a session: turns of a user message and three rounds, each with a call and 400 bytes of
// output.
func long(b *testing.B, s *history.Session, entries int) *history.Session {
	b.Helper()
	var messages []chat.Message
	for i := 0; len(messages) < entries; i++ {
		switch id := fmt.Sprint(i - i%7); i % 7 {
		case 0:
			messages = append(messages, chat.UserMessage("Why does the build fail?"))
		case 1, 3, 5:
			messages = append(messages, agentCalls("Let me look.", id+fmt.Sprint(i)))
		default:
			messages = append(messages, chat.ToolResult(id+fmt.Sprint(i-1), numberedLines(40)))
		}
	}
	require.NoError(b, s.Append(b.Context(), messages...))
	return s
}

func BenchmarkAppend(b *testing.B) {
	m := chat.UserMessage(numberedLines(40))
	b.Run("memory", func(b *testing.B) {
		s := numbered.Session()
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Append(b.Context(), m); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, sync := range map[string]storage.Sync{"durable": storage.SyncAlways, "durable within a second": storage.SyncInterval, "not durable": storage.SyncNever} {
		b.Run(name, func(b *testing.B) {
			s := sessiontest.Open(b, tempFile(b), history.Options{IDs: numbered.IDs(), File: storage.FileOptions{Sync: sync}})
			defer s.Close()
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Append(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	path := tempFile(b)
	s := long(b, opened(b, path), 10_000)
	require.NoError(b, s.Close())
	for name, open := range map[string]func(string, history.Options) (*history.Session, error){
		"for writing 10000 entries": history.Open, "for reading 10000 entries": history.Read,
		"and rebuild a view of 10000 entries": func(path string, o history.Options) (*history.Session, error) {
			s, err := history.Read(path, o)
			if err == nil {
				_, err = s.View(b.Context())
			}
			return s, err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content(b, path))))
			b.ReportAllocs()
			for b.Loop() {
				s, err := open(path, history.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRenderConversation(b *testing.B) {
	s := long(b, numbered.Session(), 1_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := render.Render(b.Context(), prompt(s), render.Options{Budget: 1 << 20, Tokenizer: quarter{}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStep renders a conversation of 1,000 rounds to which two were added since the last render, as an agent does, and
// reports what that takes of the first render, with a counter that remembers nothing. The target is a tenth.
func BenchmarkStep(b *testing.B) {
	rounds := func(from, to int) (messages []chat.Message) {
		for i := from; i < to; i++ {
			if i%20 == 0 {
				messages = append(messages, chat.UserMessage(treetest.Words(i, 20)))
			}
			id := fmt.Sprint("call_", i)
			messages = append(messages, agentCalls(treetest.Words(i, 15), id), chat.ToolResult(id, treetest.Words(i, 145)))
		}
		return messages
	}
	var first time.Duration
	for b.Loop() {
		b.StopTimer()
		s, c := numbered.Session(), tiktoken.O200k()
		require.NoError(b, s.Append(b.Context(), rounds(0, 999)...))
		render := func() {
			if _, err := render.Render(b.Context(), prompt(s), render.Options{Budget: 1 << 20, Tokenizer: c}); err != nil {
				b.Fatal(err)
			}
		}
		began := time.Now()
		render()
		first += time.Since(began)
		require.NoError(b, s.Append(b.Context(), rounds(1001, 1003)...)) // the turn goes on
		b.StartTimer()
		render()
	}
	b.ReportMetric(b.Elapsed().Seconds()/first.Seconds(), "of-first")
}

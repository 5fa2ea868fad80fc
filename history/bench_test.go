package history_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
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
			s, err := history.Open(tempFile(b), history.Options{IDs: numbered.IDs(), File: storage.FileOptions{Sync: sync}})
			require.NoError(b, err)
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

func BenchmarkView(b *testing.B) {
	b.Run("10000 entries", func(b *testing.B) {
		s := long(b, numbered.Session(), 10_000)
		b.ReportAllocs()
		for b.Loop() {
			if len(viewOf(b, s).Turns) == 0 {
				b.Fatal("there are no turns")
			}
		}
	})
	b.Run("10000 entries compacted to 100", func(b *testing.B) {
		s := long(b, numbered.Session(), 10_000)
		require.NoError(b, s.Compact(b.Context(), summary("so far", all(b, s)[9_898].ID)))
		b.ReportAllocs()
		for b.Loop() {
			if len(viewOf(b, s).Turns) == 0 {
				b.Fatal("there are no turns")
			}
		}
	})
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

package history_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
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

func BenchmarkClip(b *testing.B) {
	text := numberedLines(100_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if history.Clip(words{}, text, 10_000, 0.4) == text {
			b.Fatal("the text is not clipped")
		}
	}
}

// BenchmarkStep measures what an agent's step costs before the layout: two rounds are appended to a session of 1,000,
// and the three elements are rendered.
func BenchmarkStep(b *testing.B) {
	const rounds = 1_000
	s := elements.Sizing{TokenBudget: 1 << 20, PromptBudget: 1 << 20, Tokenizer: words{}}
	session := func(b *testing.B, turns int) *history.Session {
		session := numbered.Session()
		for i := range rounds {
			if i%(rounds/turns) == 0 {
				require.NoError(b, session.Append(b.Context(), chat.UserMessage("Why does the build fail?")))
			}
			require.NoError(b, session.Append(b.Context(), agentCalls("Let me look.", fmt.Sprint("c", i)), chat.ToolResult(fmt.Sprint("c", i), numberedLines(40))))
		}
		return session
	}
	step := func(b *testing.B, turns int, render func(*history.Session) error) {
		s := session(b, turns)
		require.NoError(b, render(s))
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			b.StopTimer()
			if n++; n%100 == 0 { // so that the session stays at about 1,000 rounds
				s = session(b, turns)
				require.NoError(b, render(s))
			}
			for i := range 2 {
				id := fmt.Sprint("n", n, ".", i)
				require.NoError(b, s.Append(b.Context(), agentCalls("Let me look.", id), chat.ToolResult(id, numberedLines(40))))
			}
			b.StartTimer()
			if err := render(s); err != nil {
				b.Fatal(err)
			}
		}
	}
	elements := func(session *history.Session) error {
		for _, e := range []elements.Node{
			history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
		} {
			if _, err := e.Render(b.Context(), s); err != nil {
				return err
			}
		}
		return nil
	}
	clearing := func(session *history.Session) error {
		view, err := session.View(b.Context())
		if err != nil {
			return err
		}
		if c, ok := savingRule().Find(view, s); ok {
			if _, err := session.Add(b.Context(), entry.Entry{Body: c}); err != nil {
				return err
			}
		}
		return elements(session)
	}
	for _, turns := range []int{1, 50, 1_000} {
		b.Run(fmt.Sprint("view of ", turns, " turns"), func(b *testing.B) {
			step(b, turns, func(s *history.Session) error { _, err := s.View(b.Context()); return err })
		})
		b.Run(fmt.Sprint("elements of ", turns, " turns"), func(b *testing.B) { step(b, turns, elements) })
		b.Run(fmt.Sprint("elements of ", turns, " turns, cleared"), func(b *testing.B) { step(b, turns, clearing) })
	}
}

package mirror_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// A step with one new message in a conversation of 5,000: of a session alone, and of a list that a session mirrors.
func BenchmarkStep(b *testing.B) {
	var before []chat.Message
	for i := range 2500 {
		text := strings.Repeat(fmt.Sprintf("line %d of code\n", i), 80)
		before = append(before, chat.UserMessage(text), chat.AssistantMessage(text))
	}
	answer := chat.Response{Message: chat.AssistantMessage("Yes."), Usage: chat.Usage{Input: 100, Output: 2}}
	model := chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) { return answer, nil })
	compactor := func(b *testing.B) *summarize.Compactor {
		c := &summarize.Compactor{
			Session: &history.Session{}, Policy: a3s.Policy(),
			Target: summarize.Target{Model: model, Tokenizer: sizing.Estimator{}, Budget: 100_000_000},
		}
		b.Cleanup(func() { _ = c.Close() })
		return c
	}
	b.Run("session", func(b *testing.B) {
		c := compactor(b)
		s := c.Session
		require.NoError(b, s.Append(b.Context(), before...))
		prompt := elements.Nodes{
			elements.SystemMessage{Children: elements.Nodes{elements.Text("You answer.")}},
			history.Conversation{Session: s}, history.TurnStart{Session: s}, history.TurnRounds{Session: s},
		}
		step := func() {
			require.NoError(b, s.Append(b.Context(), chat.UserMessage("And?")))
			result, err := c.RenderOrWait(b.Context(), prompt)
			require.NoError(b, err)
			got, err := model.Generate(b.Context(), chat.Request{Messages: result.Messages})
			require.NoError(b, err)
			sessiontest.Add(b, s, entry.Entry{Body: entry.Message{Message: got.Message}}, entry.Entry{Body: c.Usage(result, got, "")})
		}
		step()
		for b.Loop() {
			step()
		}
	})
	b.Run("mirror", func(b *testing.B) {
		m := mirror.New(compactor(b))
		list := before
		step := func() {
			list = append(list, chat.UserMessage("And?"))
			fitted, err := m.Fit(b.Context(), mirror.Request[chat.Message]{System: "You answer.", Messages: list})
			require.NoError(b, err)
			got, err := model.Generate(b.Context(), chat.Request{Messages: fitted.Messages})
			require.NoError(b, err)
			_, err = m.Answered(b.Context(), got.Usage, "", got.Message)
			require.NoError(b, err)
			list = append(list, got.Message)
		}
		step()
		for b.Loop() {
			step()
		}
	})
}

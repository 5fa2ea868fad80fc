package summarize_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// BenchmarkCompaction renders a prompt that does not fit, with models.Offline as the summariser.
func BenchmarkCompaction(b *testing.B) {
	counter := tiktoken.O200k()
	messages := recorded(b)
	for _, window := range []int{8_000, 64_000, 128_000} {
		b.Run(fmt.Sprint(window), func(b *testing.B) {
			compactor := &summarize.Compactor{
				Target: policy.Target{Model: models.Offline{Tokenizer: counter}, Tokenizer: counter, Budget: window}, Policy: copilotchat.Policy(),
			}
			for b.Loop() {
				compactor.Session = overfull(b, messages, counter, window)
				_, err := compactor.Render(b.Context(), prompt(compactor.Session))
				require.NoError(b, err)
				require.Len(b, compactions(compactor.Session), 1)
			}
		})
	}
}

// recorded returns the messages of the generated session.
func recorded(b *testing.B) (list []chat.Message) {
	for _, e := range recording(b, generated) {
		list = append(list, e.Message)
	}
	return list
}

// overfull returns a session in memory with the first messages that take more than the given number of tokens, up to
// the end of a round.
func overfull(b *testing.B, messages []chat.Message, counter *tiktoken.Counter, tokens int) *history.Session {
	n := 0
	for i, m := range messages {
		n += counter.CountMessage(m)
		if n > tokens && m.Role == chat.RoleTool && (i+1 == len(messages) || messages[i+1].Role != chat.RoleTool) {
			session := numbered.Session()
			require.NoError(b, session.Append(b.Context(), messages[:i+1]...))
			return session
		}
	}
	b.Fatalf("the recording has only %d tokens", n)
	return nil
}

// BenchmarkStep says something and renders the prompt, in a session that was compacted with an index and without one.
func BenchmarkStep(b *testing.B) {
	counter := tiktoken.O200k()
	messages := recorded(b)
	for _, index := range []int{0, 4_000} {
		b.Run(fmt.Sprint("index ", index), func(b *testing.B) {
			compactor := &summarize.Compactor{
				Session: overfull(b, messages, counter, 64_000), Policy: frugal.Policy(),
				Target: policy.Target{Model: models.Offline{Tokenizer: counter}, Tokenizer: counter, Budget: 64_000},
			}
			compactor.Policy.Replace.Index, compactor.Policy.Clear = index, policy.Clear{}
			_, err := compactor.Render(b.Context(), prompt(compactor.Session))
			require.NoError(b, err)
			require.NoError(b, compactor.Wait(b.Context()))
			require.NotEmpty(b, compactions(compactor.Session))
			for b.Loop() {
				require.NoError(b, compactor.Session.Append(b.Context(), chat.AssistantMessage("I go on."), chat.UserMessage("Yes.")))
				_, err := compactor.Render(b.Context(), prompt(compactor.Session))
				require.NoError(b, err)
			}
		})
	}
}

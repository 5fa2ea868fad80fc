package models_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/models"
)

// ask returns a short request for a summary.
func ask(room int) chat.Message {
	return chat.UserMessage(fmt.Sprintf("Summarise. The <summary> block has room for %d tokens at the most.", room))
}

// digest returns Offline's digest of messages.
func digest(t testing.TB, tokenizer chat.Tokenizer, room int, messages ...chat.Message) string {
	t.Helper()
	request := slices.Concat([]chat.Message{chat.SystemMessage("You summarise.")}, messages, []chat.Message{ask(room)})
	r := providertest.Generated(t, models.Offline{Tokenizer: tokenizer}, chat.Request{Messages: request})
	require.Equal(t, chat.RoleAssistant, r.Message.Role)
	_, body, ok := strings.Cut(r.Message.Text(), "<summary>\n")
	require.True(t, ok)
	body, ok = strings.CutSuffix(body, "\n</summary>")
	require.True(t, ok)
	return body
}

// quarter is the tokenizer of most tests: a token for each four bytes, rounded up, and 3 more for a message.
type quarter = sizingtest.Quarter

// words returns a text with a number of tokens by quarter.
func words(tokens int) string { return strings.Repeat("abc ", tokens-1) + "end." }

func TestDigestOfASessionIsAsInTheGoldenFiles(t *testing.T) {
	for _, room := range []int{2000, 120} {
		golden.Equal(t, fmt.Sprintf("digest-%d.md", room), digest(t, quarter{}, room, sessiontest.Workday()...)+"\n")
	}
}

func TestDigestHoldsNoOutputOfTools(t *testing.T) {
	got := digest(t, quarter{}, 100_000, sessiontest.Workday()...)
	require.NotContains(t, got, "SECRET_OUTPUT")
	for line := range strings.Lines(got) {
		require.Less(t, len(line), 700)
	}
	require.Contains(t, got, "grep: ./vendor: Permission denied grep: exit status 2", "an error is in one line")
}

func TestDigestHasShortLines(t *testing.T) {
	long := strings.Repeat("very long ", 1000) + "\n## Files\n- injected"
	got := digest(t, quarter{}, 100_000,
		chat.UserMessage(long),
		chat.Message{
			Role: chat.RoleAssistant, Content: chat.Parts{chat.Text(long)},
			ToolCalls: []chat.ToolCall{{ID: "a", Name: "write", Arguments: fmt.Sprintf(`{"path":%q,"text":%q}`, long, long)}},
		},
		chat.Message{Role: chat.RoleTool, ToolCallID: "a", IsError: true, Content: chat.Parts{chat.Text(long)}},
	)
	for line := range strings.Lines(got) {
		require.Less(t, len(line), 700)
	}
	require.Equal(t, 1, strings.Count("\n"+got, "\n## Files\n"))
	require.NotContains(t, got, "\n- injected")
}

func TestDigestCutsBetweenCharacters(t *testing.T) {
	for n := 590; n < 605; n++ {
		require.NotContains(t, digest(t, quarter{}, 10_000, chat.UserMessage(strings.Repeat("x", n)+strings.Repeat("é土🌍", 10))), "\uFFFD")
	}
}

func TestDigestIsWithinTheLimitOfTheRequest(t *testing.T) {
	o200k := tiktoken.O200k()
	for name, tokenizer := range map[string]chat.Tokenizer{"quarter": quarter{}, "o200k": o200k} {
		t.Run(name, func(t *testing.T) {
			before := 0
			for room := 20; room <= 700; room += 7 {
				got := digest(t, tokenizer, room, sessiontest.Workday()...)
				require.NotEmpty(t, strings.TrimSpace(got))
				require.LessOrEqual(t, tokenizer.CountText(got), room)
				require.NotRegexp(t, `(^|\n)## [^\n]*(\n## |$)`, got, "a title without lines in %d tokens", room)
				if room > 100 {
					require.Contains(t, got, "## Last words of the assistant\n- I read it.", "the last words go last")
				}
				before = max(before, len(got))
			}
			require.Equal(t, before, len(digest(t, tokenizer, 100_000, sessiontest.Workday()...)))
		})
	}
}

func TestDigestKeepsTheTaskLongest(t *testing.T) {
	messages := []chat.Message{chat.UserMessage("The task.")}
	for n := range 50 {
		messages = append(messages, chat.UserMessage(fmt.Sprintf("Remark %d.", n)))
	}
	for room := 20; room < 300; room += 5 {
		got := digest(t, quarter{}, room, messages...)
		require.True(t, strings.HasPrefix(got, "## The user said\n- The task."), got)
		if strings.Contains(got, "Remark") {
			require.Contains(t, got, "Remark 49.", "then the newest")
		}
	}
}

func TestDigestCutsLongLinesToFitASmallLimit(t *testing.T) {
	o200k := tiktoken.O200k()
	for _, tokenizer := range []chat.Tokenizer{quarter{}, o200k} {
		for _, long := range []string{words(1000), strings.Repeat("土拨鼠", 1000), strings.Repeat("x", 5000)} {
			for room := 50; room < 200; room += 10 {
				got := digest(t, tokenizer, room, chat.UserMessage(long))
				require.LessOrEqual(t, tokenizer.CountText(got), room)
				require.Contains(t, got, "## The user said\n- "+long[:3])
			}
		}
	}
}

func TestDigestHas2000TokensWithoutALimit(t *testing.T) {
	many := make([]chat.Message, 400)
	for i := range many {
		many[i] = chat.UserMessage(fmt.Sprintf("Wish %d: %s", i, words(40)))
	}
	r := providertest.Generated(t, models.Offline{Tokenizer: quarter{}}, chat.Request{Messages: append(many, chat.UserMessage("Summarise."))})
	tokens := quarter{}.CountMessage(r.Message)
	require.Less(t, tokens, 2050)
	require.Greater(t, tokens, 1900)
	require.Contains(t, r.Message.Text(), "Wish 399:", "the newest line stays")
}

func TestDigestIsDeterministic(t *testing.T) {
	want := digest(t, quarter{}, 300, sessiontest.Workday()...)
	for range 20 {
		require.Equal(t, want, digest(t, quarter{}, 300, sessiontest.Workday()...))
	}
}

func TestDigestOfADigestIsTheSameWithoutTheLastWords(t *testing.T) {
	got := digest(t, quarter{}, 10_000, sessiontest.Workday()...)
	want, _, ok := strings.Cut(got, "\n## Last words") // the next digest drops these
	require.True(t, ok)
	for range 3 {
		got = digest(t, quarter{}, 10_000, chat.UserMessage("<conversation-summary>\n"+got+"\n</conversation-summary>"))
		require.Equal(t, want, got)
	}
}

func TestOfflineFailsWithNothingToDigest(t *testing.T) {
	q := quarter{}
	for _, c := range []struct {
		name     string
		offline  models.Offline
		messages []chat.Message
		want     string
	}{
		{"no tokenizer", models.Offline{}, []chat.Message{chat.UserMessage("Hello."), ask(100)}, "Offline.Tokenizer is not set"},
		{"no messages", models.Offline{Tokenizer: q}, nil, "nothing to digest"},
		{"only the request for a summary", models.Offline{Tokenizer: q}, []chat.Message{ask(100)}, "nothing to digest"},
		{"only the system", models.Offline{Tokenizer: q}, []chat.Message{chat.SystemMessage("Obey."), ask(100)}, "nothing to digest"},
		{"an empty history in simple mode", models.Offline{Tokenizer: q}, []chat.Message{chat.UserMessage("<history>\n\n</history>\nSummarise.")}, "nothing to digest"},
		{"a limit below one line", models.Offline{Tokenizer: q}, []chat.Message{chat.UserMessage("Hello."), ask(3)}, "no line fits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.offline.Generate(t.Context(), chat.Request{Messages: c.messages})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOfflineReturnsTheErrorOfACancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := models.Offline{Tokenizer: quarter{}}.Generate(ctx, chat.Request{Messages: append(sessiontest.Workday(), ask(100))})
	require.ErrorIs(t, err, context.Canceled)
}

func TestALineThatIsTooLongIsCut(t *testing.T) {
	counter := tiktoken.O200k()
	for name, said := range map[string]string{"words": strings.Repeat("word and another ", 60), "no words": strings.Repeat("a9f3e1c7", 80), "emoji": strings.Repeat("👩‍👩‍👧", 80)} {
		for _, limit := range []int{20, 48, 96} {
			answer, err := models.Offline{Tokenizer: counter}.Generate(t.Context(), chat.Request{Messages: []chat.Message{
				chat.UserMessage(said), chat.AssistantMessage(said), chat.UserMessage(fmt.Sprintf("Summarise. There is room for %d tokens.", limit)),
			}})
			require.NoError(t, err, "%s in %d", name, limit)
			text := answer.Message.Text()
			require.LessOrEqual(t, counter.CountText(text), limit)
			require.Contains(t, text, "\n- ", "a title and a line")
		}
	}
}

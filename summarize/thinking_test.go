package summarize_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// thought returns signed thinking of a little more than the given number of tokens.
func thought(name string, tokens int) chat.Thinking {
	return chat.Thinking{Text: name + words(tokens), Signature: "sig+/=" + name}
}

// thinking returns a round whose assistant message begins with thinking.
func thinking(n, tokens int, thoughts ...chat.Thinking) []chat.Message {
	list := round(n, tokens)
	var parts chat.Parts
	for _, th := range thoughts {
		parts = append(parts, th)
	}
	list[0].Content = append(parts, list[0].Content...)
	return list
}

// thoughts returns the thinking with which each assistant message begins.
func thoughts(messages []chat.Message) [][]chat.Thinking {
	var list [][]chat.Thinking
	for _, m := range messages {
		if m.Role != chat.RoleAssistant {
			continue
		}
		var own []chat.Thinking
		for i, p := range m.Content {
			if th, ok := p.(chat.Thinking); ok && i == len(own) {
				own = append(own, th)
			}
		}
		list = append(list, own)
	}
	return list
}

func TestTheLastThinkingThatIsCoveredStaysAfterTheSummary(t *testing.T) {
	first, last, own := thought("first", 40), thought("last", 40), thought("own", 40)
	hidden := chat.Thinking{Encrypted: "b3BhcXVl"}
	cutOff := chat.Thinking{Text: "I was"}
	plain := func(from, to int) []chat.Message { return rounds(from, to, roundTokens) }
	for _, c := range []struct {
		rule  string
		model string // defaults to a model that requires it
		said  [][]chat.Message
		want  [][]chat.Thinking // of the rounds that are kept
	}{
		{"the last thinking that is covered", "", [][]chat.Message{thinking(1, 700, first), plain(2, 2), thinking(3, 700, last), plain(4, 6)}, [][]chat.Thinking{{last}}},
		{"all thinking of that message", "", [][]chat.Message{thinking(1, 700, first, hidden, last), plain(2, 6)}, [][]chat.Thinking{{first, hidden, last}}},
		{"hidden thinking", "", [][]chat.Message{thinking(1, 700, hidden), plain(2, 6)}, [][]chat.Thinking{{hidden}}},
		{"no thinking that was cut off", "", [][]chat.Message{thinking(1, 700, first), thinking(2, 700, cutOff), plain(3, 6)}, [][]chat.Thinking{{first}}},
		{"nothing if there was none", "", [][]chat.Message{plain(1, 6)}, [][]chat.Thinking{nil}},
		{"nothing if a kept round has its own", "", [][]chat.Message{thinking(1, 700, first), plain(2, 5), thinking(6, 700, own)}, [][]chat.Thinking{{own}}},
		{"nothing of an earlier turn", "", [][]chat.Message{thinking(1, 700, first), {chat.AssistantMessage("Done."), chat.UserMessage("And now?")}, plain(2, 6)}, [][]chat.Thinking{nil}},
		{"nothing for a model that does not require it", "gpt-5", [][]chat.Message{thinking(1, 700, first), plain(2, 6)}, [][]chat.Thinking{nil}},
		{"nothing for a model without a name", "-", [][]chat.Message{thinking(1, 700, first), plain(2, 6)}, [][]chat.Thinking{nil}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			d := newFileFixture(t, chat.UserMessage(task))
			for _, list := range c.said {
				d.Say(list...)
			}
			switch d.Target.Name = c.model; c.model {
			case "":
				d.Target.Name = "claude-sonnet-4-5"
			case "-":
				d.Target.Name = ""
			}
			d.Target.ContextWindow = 2 * budget
			d.Answers(models.SaySummary("short"))
			before := said(d.Session)
			got := d.Messages()
			equal(t, c.want, thoughts(got))
			equal(t, before, said(d.Session))
			made := compactions(d.Session)[0]
			require.Equal(t, count(quarter{}, got), made.TokensAfter)
			require.Equal(t, strings.HasPrefix(c.rule, "nothing"), len(made.Thinking) == 0, "only what is shown is recorded")
			equal(t, got, d.Messages())

			// It is sent byte for byte, also by a session that is opened again and after more messages.
			again, err := history.Read(d.Session.Path(), history.Options{})
			require.NoError(t, err)
			equal(t, viewOf(t, d.Session), viewOf(t, again))
			require.NoError(t, again.Close())
			d.Say(thinking(7, 100, own)...)
			equal(t, got, d.Messages()[:len(got)])
			d.Say(chat.AssistantMessage("Done."), chat.UserMessage("And now?"))
			equal(t, got, d.Messages()[:len(got)])
		})
	}
}

func TestThinkingStaysFromCompactionToCompactionUntilTheModelThinksAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	d := fixtureOf(t, opened(t, path), chat.UserMessage(task))
	d.Target.Name, d.Target.ContextWindow = "claude-opus-4-5", 2*budget
	first, second := thought("first", 40), thought("second", 40)
	d.Say(thinking(1, roundTokens, first)...)
	d.Say(rounds(2, 6, roundTokens)...)
	d.Answers(models.SaySummary("one"))
	equal(t, [][]chat.Thinking{{first}}, thoughts(d.Messages()))
	afterFirst := d.Session.Leaf()

	d.Say(rounds(7, 11, roundTokens)...)
	d.Answers(models.SaySummary("two"))
	got := d.Messages()
	equal(t, [][]chat.Thinking{{first}}, thoughts(got))
	require.Contains(t, got[1].Text(), "two")
	asked := d.Requests()[1].Messages
	require.NoError(t, chat.Validate(asked))
	require.Empty(t, thoughts(asked)[0], "the summariser is not shown it")

	d.Say(thinking(12, roundTokens, second)...)
	d.Say(rounds(13, 16, roundTokens)...)
	d.Answers(models.SaySummary("three"))
	got = d.Messages()
	equal(t, [][]chat.Thinking{{second}}, thoughts(got))

	// Back at the first compaction its thinking is shown, and before it the rounds as they were.
	require.NoError(t, d.Session.Branch(t.Context(), afterFirst))
	equal(t, [][]chat.Thinking{{first}}, thoughts(d.Messages()))
	require.NoError(t, d.Session.Branch(t.Context(), "e3"))
	equal(t, [][]chat.Thinking{{first}}, thoughts(viewOf(t, d.Session).Messages()))
	require.NoError(t, d.Session.Branch(t.Context(), "e1"))
	require.Empty(t, thoughts(d.Messages()))
}

// Nearly all of the covered history is thinking that stays, so the compaction would save nothing.
func TestThinkingThatStaysIsNotCountedAsSaved(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Name = "claude-sonnet-4-5"
	d.Say(thinking(1, 20, thought("long", 1500))...)
	d.Say(round(2, 20)...)
	d.Answers(models.SaySummary(words(200)), models.SaySummary(words(200)))
	before := d.Messages()
	_, err := d.Compact(t.Context(), "")
	require.ErrorAs(t, err, new(*summarize.FailedError))
	equal(t, before, d.Messages())
}

func TestTheSummaryHasTheRoomThatIsLeftBesideTheThinking(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Name, d.Target.ContextWindow = "claude-sonnet-4-5", 2*budget
	d.Say(thinking(1, 2000, thought("long", 1500))...)
	d.Say(round(2, 2000)...)
	words := 0
	d.Hooks.BeforeCompact = func(_ context.Context, _ policy.Occasion, m policy.Material) (summarize.Intervention, error) {
		words = m.Words
		return summarize.Intervention{}, nil
	}
	d.Answers(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		return models.SaySummary(strings.Repeat("abc ", words-1)+"end.")(ctx, r)
	})
	got := d.Messages()
	require.Equal(t, "long", thoughts(got)[0][0].Text[:4])
	require.Less(t, words, budget-1500-2000)
	require.Greater(t, count(quarter{}, got), budget*9/10)
}

func TestABackgroundCompactionKeepsTheLastThinking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, chat.UserMessage(task))
		d.Target.Name, d.Policy.Ask.Quirks = "claude-sonnet-4-5", copilotchat.Policy().Ask.Quirks
		d.Policy.Trigger = policy.Trigger{{Ratio: 0.8, Background: true}}
		last := thought("last", 40)
		d.Say(thinking(1, 850, last)...)
		d.Say(rounds(2, 4, 850)...)
		d.Answers(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			equal(t, thoughts(r.Messages)[0], []chat.Thinking{last})
			return models.SaySummary("Made meanwhile.")(ctx, r)
		})
		d.Messages()
		synctest.Wait()
		d.Say(round(5, 100)...)
		got := d.Messages()
		require.Contains(t, got[1].Text(), "Made meanwhile.")
		equal(t, [][]chat.Thinking{{last}, nil}, thoughts(got))
	})
}

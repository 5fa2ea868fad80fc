package summarize_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestPromptThatExactlyFitsAsksNoModel(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Target.Budget = count(quarter{}, append(said(d.Session), chat.SystemMessage("You are a coding agent.")))
	d.Messages()
	require.Empty(t, d.Requests())

	d.Target.Budget--
	d.Answers(models.SaySummary("short"))
	d.Messages()
	require.Len(t, d.Requests(), 1)
}

func TestOverflowIsSummarisedOnce(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Answers(models.SaySummary("Five files were read."))
	all := said(d.Session)

	got := d.Messages()
	equal(t, []chat.Message{
		chat.SystemMessage("You are a coding agent."),
		chat.UserMessage("<conversation-summary>\nFive files were read.\n</conversation-summary>"),
		chat.UserMessage(task), // of the current turn, byte for byte
		all[11], all[12],       // the newest round, word for word
	}, got)

	request := d.Request().Messages
	equal(t, all[:11], request[1:len(request)-1]) // the round that overflowed is not in the request
	require.NotContains(t, text(request), output(6, 1)[:12])

	done := compactions(d.Session)
	require.Len(t, done, 1)
	require.Equal(t, "e12", done[0].FirstKept)
	require.Equal(t, "full", done[0].Mode)
	require.Equal(t, count(quarter{}, all)+count(quarter{}, got[:1]), done[0].TokensBefore)
	require.Equal(t, count(quarter{}, got), done[0].TokensAfter)
	equal(t, got[1:2], done[0].Messages)

	require.Equal(t, "started done/full", kinds(*d.Heard))
	started, over := (*d.Heard)[0], (*d.Heard)[1]
	require.Equal(t, []int{6, 1, done[0].TokensBefore}, []int{started.Covered, started.Kept, started.TokensBefore})
	require.Equal(t, []int{6, 1, done[0].TokensBefore, done[0].TokensAfter}, []int{over.Covered, over.Kept, over.TokensBefore, over.TokensAfter})
	require.Equal(t, []int{1 + len(all), len(got), 1}, []int{over.MessagesBefore, over.MessagesAfter, over.Calls})
	require.Equal(t, policy.OnBudgetExceeded, over.Reason)
	require.Equal(t, "Five files were read.", over.Summary)
	require.Equal(t, "Five files were read.", done[0].Text)

	equal(t, got, d.Messages())
	require.Len(t, d.Requests(), 1, "a prompt that fits is not summarised again")
	equal(t, all, said(d.Session))
}

func TestTheNewestRoundsAreKeptWordForWord(t *testing.T) {
	turn := func(n int) []chat.Message {
		return append([]chat.Message{chat.UserMessage(fmt.Sprintf("Question %d?", n))}, rounds(10*n+1, 10*n+3, 400)...)
	}
	for _, c := range []struct {
		name      string
		messages  []chat.Message
		share     float64 // Policy.Cut.Share
		firstKept string
		shown     []int // outputs in the prompt
		asked     []int // outputs in the request
		users     []string
	}{{
		name:     "the newest round, of the current turn, and its user message",
		messages: append(append(append(turn(1), turn(2)...), turn(3)...), round(34, 800)...), firstKept: "e22",
		shown: []int{34}, asked: []int{11, 12, 13, 21, 22, 23, 31, 32, 33}, users: []string{"Question 3?"},
	}, {
		name:     "the user message alone, if it is the newest",
		messages: append(append(append(turn(1), turn(2)...), turn(3)...), chat.UserMessage("Question 4?"+words(600))), firstKept: "e22",
		shown: nil, asked: []int{11, 12, 13, 21, 22, 23, 31, 32, 33}, users: []string{"Question 4?"},
	}, {
		name:     "more rounds, if Cut.Share says so",
		messages: append(append(append(turn(1), turn(2)...), turn(3)...), round(34, 800)...), share: 0.205, firstKept: "e18",
		shown: []int{32, 33, 34}, asked: []int{11, 12, 13, 21, 22, 23, 31}, users: []string{"Question 3?"},
	}, {
		name:     "an earlier turn from its middle on, with its user message",
		messages: append(append(append(turn(1), turn(2)...), turn(3)...), round(34, 800)...), share: 0.325, firstKept: "e13",
		shown: []int{23, 31, 32, 33, 34}, asked: []int{11, 12, 13, 21, 22}, users: []string{"Question 2?", "Question 3?"},
	}, {
		name:     "one round less at a time, if Cut.Share leaves no room for a summary",
		messages: append(append(append(turn(1), turn(2)...), turn(3)...), round(34, 800)...), share: 0.475, firstKept: "e11",
		shown: []int{22, 23, 31, 32, 33, 34}, asked: []int{11, 12, 13, 21}, users: []string{"Question 2?", "Question 3?"},
	}, {
		name:     "the newest round, even if it is larger than Cut.Share allows",
		messages: append(append(turn(1), turn(2)...), round(24, 1900)...), share: 0.05, firstKept: "e15",
		shown: []int{24}, asked: []int{11, 12, 13, 21, 22, 23}, users: []string{"Question 2?"},
	}} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t, c.messages...)
			d.Target.ContextWindow = 2 * budget
			d.Policy.Cut.Share = c.share
			d.Answers(models.SaySummary("It went well."))
			got := d.Messages()
			require.Equal(t, c.firstKept, compactions(d.Session)[0].FirstKept)
			require.Equal(t, c.shown, outputs(text(got)))
			require.Equal(t, c.asked, outputs(text(d.Request().Messages)))
			var users []string
			for _, m := range got[2:] {
				if m.Role == chat.RoleUser {
					users = append(users, m.Text()[:11])
				}
			}
			require.Equal(t, c.users, users)
			require.NoError(t, chat.Validate(d.Request().Messages))
		})
	}
}

// hint returns the tokens that a request allows for the summary.
func hint(t testing.TB, request string) int {
	t.Helper()
	m := regexp.MustCompile(`room for (\d+) tokens at the most`).FindStringSubmatch(request)
	require.NotNil(t, m, "the request names no room: %s", request)
	var n int
	fmt.Sscan(m[1], &n)
	return n
}

func TestARequestWithoutToolsHasNoToolChoice(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Policy = policy.Policy{}
	d.Answers(models.SaySummary("short"))
	d.Messages()
	require.Empty(t, d.Request().Tools)
	require.Equal(t, chat.ToolChoiceAuto, d.Request().ToolChoice, "a provider refuses a choice without tools")
	require.Nil(t, d.Request().Temperature, "the zero policy leaves it to the model")
}

func TestRequestShowsRoundsAsThePromptDoes(t *testing.T) {
	long := round(1, 3*budget) // cut to half of the window in the prompt
	d := newFixture(t, append(append([]chat.Message{chat.UserMessage(task)}, long...), rounds(2, 4, roundTokens)...)...)
	d.Target.ContextWindow = 10 * budget
	d.Answers(models.SaySummary("short"))
	over, err := render.Render(t.Context(), prompt(d.Session), render.Options{Budget: 10 * budget, PromptBudget: budget, Tokenizer: quarter{}})
	require.NoError(t, err)
	d.Messages()
	request := d.Request().Messages
	equal(t, over.Messages[1:len(over.Messages)-2], request[1:len(request)-1])
	require.Contains(t, text(request), "tokens cut here")
}

func TestRequestShowsRoundsByTheLimitsOfThePolicy(t *testing.T) {
	d := newFixture(t, append(overflowing(), round(7, roundTokens)...)...)
	d.Policy.Cut.Limits = history.RoundLimits{Results: 0.05}
	d.Answers(models.SaySummary("short"))
	d.Messages()
	for _, m := range d.Request().Messages {
		if m.Role == chat.RoleTool {
			require.LessOrEqual(t, quarter{}.CountText(m.Text()), budget/20)
		}
	}
}

func TestARequestIsValidThoughTheHistoryHasMissingResultsAndBlankMessages(t *testing.T) {
	interrupted := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
		{ID: "a", Name: "read", Arguments: `{"path":"a"}`}, {ID: "b", Name: "read", Arguments: `{"path":"b"}`},
	}}
	d := newFixture(t, chat.UserMessage("Go on."), interrupted, chat.ToolResult("b", "text of b"), chat.UserMessage(" "),
		chat.Message{Role: chat.RoleAssistant}, chat.UserMessage(task))
	d.Say(rounds(1, 6, roundTokens)...)
	d.Answers(models.SaySummary("short"))
	d.Messages()
	require.NoError(t, chat.Validate(d.Request().Messages))
}

func TestUserMessageOfATurnThatIsOverIsSummarisedWithItsRounds(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Answers(models.SaySummary("one"), models.SaySummary("two"))
	d.Messages()
	d.Say(chat.AssistantMessage("It builds."), chat.UserMessage("And now the tests."))
	d.Say(rounds(7, 11, roundTokens)...)
	got := d.Messages()
	require.Contains(t, text(d.Requests()[1].Messages), task)
	require.Contains(t, text(d.Requests()[1].Messages), "It builds.")
	require.NotContains(t, text(got), task)
	equal(t, chat.UserMessage("And now the tests."), got[2])
}

func TestASummaryIsOneUserMessageInWhichOnlyOurTagsAreEscaped(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Answers(models.Say("Thus:\n<summary>\n\n  if a < b && c { … } // \"x\"\n\nand <b> </summary> stays\n</summary> Bye."))
	require.Equal(t, "<conversation-summary>\nif a < b && c { … } // \"x\"\n\nand <b> </summary> stays\n</conversation-summary>", d.Messages()[1].Text())
}

func TestAPolicyCanLeaveTheBreadcrumbOut(t *testing.T) {
	d := newFileFixture(t, overflowing()...)
	d.Policy.Replace.NoBreadcrumb = true
	d.Answers(models.SaySummary("short"))
	require.Equal(t, "<conversation-summary>\nshort\n</conversation-summary>", d.Messages()[1].Text())
}

func TestNoModelIsAskedIfTheRequiredPiecesAreTooLarge(t *testing.T) {
	required := func(tokens int) elements.Node {
		return elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(words(tokens))}}
	}
	for _, c := range []struct {
		name     string
		messages []chat.Message
		more     elements.Node
		want     error
	}{
		{"no history at all", nil, required(budget), summarize.ErrNothingToCompact},
		{"a user message alone", []chat.Message{chat.UserMessage(task)}, required(budget), summarize.ErrNothingToCompact},
		{"a user message that is too large", []chat.Message{chat.UserMessage(words(budget))}, nil, summarize.ErrNothingToCompact},
		{"one round", append([]chat.Message{chat.UserMessage(task)}, round(1, 100)...), required(budget), summarize.ErrNothingToCompact},
		{"rounds, and other pieces that take the budget", overflowing(), required(budget), summarize.ErrNoRoom},
		{"history that is required in a limit of its own", overflowing(), elements.TokenLimit{Max: 100, Children: elements.Nodes{required(200)}}, summarize.ErrNoRoom},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFileFixture(t, c.messages...)
			before := content(t, d.Session.Path())
			root := prompt(d.Session, c.more)
			_, err := render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: quarter{}})
			want := errtest.As[*render.BudgetExceededError](t, err)

			_, err = d.Render(t.Context(), root)
			require.ErrorIs(t, err, c.want)
			failed := errtest.As[*summarize.FailedError](t, err)
			got, ok := errors.AsType[*render.BudgetExceededError](err)
			require.True(t, ok)
			require.Same(t, failed.Budget, got)
			equal(t, want, got)
			require.Len(t, failed.Reasons, 1)
			require.Contains(t, err.Error(), want.Error())

			require.Empty(t, d.Requests())
			require.Contains(t, []string{"", "failed"}, kinds(*d.Heard))
			require.Equal(t, before, content(t, d.Session.Path()), "there was no plan")
		})
	}
}

func TestSmallRoomIsUsed(t *testing.T) {
	d := newFixture(t, overflowing()...)
	more := elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(words(budget - roundTokens - 300))}}
	d.Answers(models.SaySummary("short"))
	require.LessOrEqual(t, d.Rendered(prompt(d.Session, more)).Tokens, budget)
	last := d.Request().Messages[len(d.Request().Messages)-1]
	room := hint(t, last.Text())
	require.GreaterOrEqual(t, room, 98)
	require.Less(t, room, 300)
}

// The newest round alone exceeds Cut.Share, and no less can be kept. So the summary gets the little room that is left.
func TestSmallRoomIsUsedIfTheNewestRoundExceedsCutShare(t *testing.T) {
	d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 3, 1600)...)...)
	d.Policy.Cut.Share, d.Policy.Replace.Share, d.Policy.Replace.Max = 0.01, 0.9, 100_000
	d.Answers(models.SaySummary("Short."))
	require.NoError(t, chat.Validate(d.Messages()))
	require.Len(t, compactions(d.Session), 1)
}

func TestASummaryTakesAtMostItsShareOfTheBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy policy.Policy
		room   int
	}{
		{"a fifth of the budget by default", policy.Policy{}, 800},
		{"Replace.Share of the budget", policy.Policy{Replace: policy.Replace{Share: 0.1}}, 400},
		{"no more than Replace.Max", policy.Policy{Replace: policy.Replace{Max: 150}}, 150},
		{"100 tokens of words in any case", policy.Policy{Replace: policy.Replace{Share: 0.001}}, 115},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t, overflowing()...)
			d.Policy = c.policy
			const frame = 15 // tokens of the message, its tags and the space between them
			d.Answers(models.SaySummary(words(c.room - frame)))
			require.Equal(t, c.room, quarter{}.CountMessage(d.Messages()[1]))
			r := d.Request()
			require.Equal(t, c.room-frame-4, hint(t, r.Messages[len(r.Messages)-1].Text()))

			d = newFixture(t, overflowing()...)
			d.Policy = c.policy
			d.Answers(models.SaySummary(words(c.room-frame+1)), models.SaySummary("short"))
			d.Messages()
			require.Len(t, d.Requests(), 2, "one token more is too many")
		})
	}
}

func TestAnElementsErrorIsReturnedAndNothingIsCompacted(t *testing.T) {
	d := newFixture(t, overflowing()...)
	_, err := d.Render(t.Context(), prompt(d.Session, elements.Text("outside of a message")))
	require.ErrorIs(t, err, render.ErrTree)
	_, failed := errors.AsType[*summarize.FailedError](err)
	require.False(t, failed)
	require.Empty(t, d.Requests())
}

func TestASessionIsCompactedByTheCountsOfOpenAIsTokenizer(t *testing.T) {
	counter := tiktoken.O200k()
	for _, tokens := range []int{1500, 2500, 5000} {
		t.Run(fmt.Sprintf("%d tokens", tokens), func(t *testing.T) {
			d := newFileFixture(t, chat.UserMessage("Täglich grüßt <das> Murmeltier & 土拨鼠."))
			d.Target.Tokenizer, d.Target.Budget, d.Target.Model = counter, tokens, models.Offline{Tokenizer: counter}
			for n := 1; n <= 40; n++ {
				d.Messages()
				d.Say(round(n, 300)...)
			}
			require.NotEmpty(t, compactions(d.Session))
		})
	}
}

func TestTheStartEventSaysThatMoreIsKeptThanTheCutAllows(t *testing.T) {
	for _, c := range []struct {
		tokens int
		over   bool
	}{{1000, true}, {3000, false}} {
		d := newFixture(t, overflowing()...)
		d.Say(round(7, 2000)...)
		d.Policy.Cut.Tokens = c.tokens
		d.Always(models.SaySummary("Done."))
		d.Messages()
		require.Equal(t, event.Started, (*d.Heard)[0].Kind)
		require.Equal(t, c.over, (*d.Heard)[0].Over)
	}
}

// ownCompaction returns a step that answers with a summary and with parts, as the provider's own compaction.
func ownCompaction(text string, parts ...chat.Opaque) models.Reply {
	return func(ctx context.Context, req chat.Request) (chat.Response, error) {
		r, err := models.SaySummary(text)(ctx, req)
		r.Compaction = parts
		return r, err
	}
}

func TestAProvidersOwnCompactionIsKeptUnchangedBesideTheSummary(t *testing.T) {
	own := chat.Opaque{Value: json.RawMessage(`{"type":"compaction","encrypted_content":"<é>"}`), Tokens: 40}
	d := newFileFixture(t, overflowing()...)
	d.Answers(ownCompaction("The build was mended.", own))
	messages := d.Messages()
	require.Equal(t, own, messages[1].Content[len(messages[1].Content)-1])
	require.Contains(t, messages[1].Text(), "The build was mended.")

	path := filepath.Join(t.TempDir(), "session.jsonl")
	sure.Write(t, path, content(t, d.Session.Path()))
	equal(t, messages, fixtureOf(t, opened(t, path)).Messages())

	d.Say(rounds(7, 12, roundTokens)...)
	d.Always(models.SaySummary("All was mended."))
	again := d.Messages()
	require.NotContains(t, again[1].Content, own, "the next summary covers it")
	require.Contains(t, again[1].Text(), "All was mended.")
}

func TestAProvidersOwnCompactionThatIsInvalidOrTooLargeIsLeftOut(t *testing.T) {
	for name, parts := range map[string][]chat.Opaque{
		"too large for the room":   {{Value: json.RawMessage(`{"type":"compaction"}`), Tokens: budget}},
		"a count below 0":          {{Value: json.RawMessage(`{"type":"compaction"}`), Tokens: -1}},
		"a count above any budget": {{Value: json.RawMessage(`{"type":"compaction"}`), Tokens: 1 << 40}},
		"not JSON":                 {{Value: json.RawMessage(`{"type":`), Tokens: 4}},
		"an empty part":            {{}},
	} {
		d := newFixture(t, overflowing()...)
		d.Answers(ownCompaction("The build was mended.", parts...))
		messages := d.Messages()
		require.Len(t, messages[1].Content, 1, name)
		require.Contains(t, messages[1].Text(), "The build was mended.")
		mended := strings.Join((*d.Heard)[len(*d.Heard)-1].Mended, "; ")
		require.Equal(t, parts[0].Tokens == budget, strings.Contains(mended, "the provider's own compaction left out"), "%s: %s", name, mended)
	}
}

var roomFor = regexp.MustCompile(`room for (\d+) tokens`)

// newSplitFixture returns a fixture whose history is cut within its second turn.
func newSplitFixture(t testing.TB) fixture {
	t.Helper()
	d := newFixture(t, chat.UserMessage("The first question."))
	d.Say(rounds(1, 2, roundTokens)...)
	d.Say(chat.AssistantMessage("Done."), chat.UserMessage(task))
	d.Say(rounds(3, 6, roundTokens)...)
	d.Target.ContextWindow = 2 * budget
	d.Policy = ohmypi.Policy()
	d.Policy.Trigger, d.Policy.Clear.Rule, d.Policy.Cut = nil, history.ClearRule{}, history.Cut{}
	return d
}

// Each request names its part of the room, and answers that fill their parts are taken.
func TestTheTwoSummariesOfASplitTurnShareTheRoomOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSplitFixture(t)
		var mu sync.Mutex
		var rooms []int
		d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			told := roomFor.FindStringSubmatch(text(r.Messages))
			if told == nil { // the title
				return models.Say("I did it.")(ctx, r)
			}
			room, err := strconv.Atoi(told[1])
			if err != nil {
				return chat.Response{}, err
			}
			mu.Lock()
			defer mu.Unlock()
			rooms = append(rooms, room)
			return models.Say(words(room))(ctx, r)
		})
		d.Messages()
		synctest.Wait() // for the title
		require.Len(t, rooms, 2)
		require.Equal(t, "started done/handoff titled", kinds(*d.Heard))
		took := count(quarter{}, compactions(d.Session)[0].Messages)
		require.Less(t, rooms[0]+rooms[1], took)
		require.LessOrEqual(t, took, budget/5)

		// When the turn continues, one summary replaces both.
		rooms = nil
		d.Say(rounds(7, 11, roundTokens)...)
		d.Messages()
		synctest.Wait() // for the title
		require.Len(t, rooms, 1)
		require.Len(t, compactions(d.Session), 2)
		require.Equal(t, "started done/handoff titled started done/handoff titled", kinds(*d.Heard))
	})
}

// In little room two summaries would be too short to be of use.
func TestASplitTurnHasOneSummaryInLittleRoom(t *testing.T) {
	d := newSplitFixture(t)
	d.Policy.Replace.Max = 250
	d.Answers(models.Say("Of all."), models.Say("I did it."))
	require.Contains(t, d.Messages()[1].Text(), "<conversation-summary>\nOf all.\n</conversation-summary>")
	require.Equal(t, []int{1, 2, 3, 4, 5}, outputs(text(d.Requests()[0].Messages)))
}

func TestTheTailShrinksByRoundsUntilTheRestFits(t *testing.T) {
	last := 0
	for size := 500; size < 1100; size += 20 {
		d := fixtureOf(t, numbered.Session(), chat.UserMessage(task))
		d.Target.Budget, d.Policy = 10_000, a3s.Policy()
		d.Policy.Clear = policy.Clear{}
		d.Target.Model = saying("Done.")
		d.Say(rounds(1, 25, size)...) // the newest 20 messages are 10 rounds
		d.Messages()
		n := len(kept(d.Session))
		if last > 0 {
			require.LessOrEqual(t, last-n, 1, "at %d tokens a round %d are kept, and %d before", size, n, last)
			require.LessOrEqual(t, n, last)
		}
		last = n
	}
	require.Less(t, last, 10)
	require.Greater(t, last, 4)
}

func TestNothingIsCompactedIfTheCutKeepsEverything(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Policy = a3s.Policy()
	d.Policy.Clear = policy.Clear{}
	d.Say(rounds(1, 5, 690)...) // 11 messages, of which 20 are kept
	d.Messages()
	require.Empty(t, d.Requests())
	require.Contains(t, d.Explain(t.Context()).String(), "there is nothing to relieve: 0 tokens of history would be covered")
	_, err := d.Compact(t.Context(), "")
	require.ErrorIs(t, err, summarize.ErrNothingToCompact)

	d.Answers(models.Say("What was done, in short, for who goes on."))
	d.Say(round(6, 690)...) // now the prompt does not fit
	require.Contains(t, text(d.Messages()), "What was done, in short")
}

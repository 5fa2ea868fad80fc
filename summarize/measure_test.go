package summarize_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// documents returns a message of n texts that may be pruned.
func documents(n, tokens int) elements.Node {
	list := make(elements.Nodes, n)
	for i := range list {
		list[i] = elements.TextChunk{Props: elements.Props{Priority: new(i)}, Children: elements.Nodes{elements.Text(words(tokens))}}
	}
	return elements.UserMessage{Props: elements.Props{Priority: new(10)}, Children: list}
}

// eachPolicy runs a test under every policy.
func eachPolicy(t *testing.T, test func(t *testing.T, p policy.Policy)) {
	for name, p := range policies.All() {
		t.Run(name, func(t *testing.T) { test(t, p) })
	}
}

func TestPiecesThatMayBePrunedTriggerNoCompaction(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t)
		d.Policy, d.Target.Budget, d.Target.ContextWindow = p, 10_000, 10_000
		for turn := range 4 {
			d.Say(chat.UserMessage(task))
			d.Say(round(turn, 150)...)
			d.Say(chat.AssistantMessage("Done."))
			d.Say(chat.UserMessage("And now?"))
			require.Greater(t, d.Rendered(prompt(d.Session, documents(30, 500))).Tokens, 9_000, "the documents fill the rest")
			require.Less(t, d.Explain(t.Context()).Measurement.Count, 2_000)
			d.Say(chat.AssistantMessage("That."))
		}
		require.Empty(t, d.Requests())
		require.Empty(t, compactions(d.Session))
	})
}

func TestDroppableHistoryCountsTowardsTheTrigger(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Policy.Trigger = policy.Trigger{{Ratio: 0.99}}
	tree := elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Session: d.Session, Droppable: true},
		history.TurnStart{Session: d.Session},
		history.TurnRounds{Session: d.Session, Droppable: true},
	}
	d.Answers(models.SaySummary("Steps 1 to 5 are done."))
	require.Contains(t, text(d.Rendered(tree).Messages), "Steps 1 to 5 are done.")
	require.Equal(t, "placed: condition 1 holds", lastLine(d.Explain(t.Context())))
}

// lastLine returns the last line of an explanation.
func lastLine(e policy.Explanation) string {
	lines := strings.Split(strings.TrimSpace(e.String()), "\n")
	return lines[len(lines)-1]
}

func TestInstructionsWithoutAPriorityAreNotPrunedBeforeHistoryIsCompacted(t *testing.T) {
	for _, rounds := range []int{1, 2, 3, 4, 5, 6, 7, 8} {
		d := newFixture(t, chat.UserMessage(task))
		for n := range rounds {
			d.Say(round(n, 600)...)
		}
		d.Answers(models.SaySummary("What was done."), models.SaySummary("What was done."))
		tree := elements.Nodes{ // the prompt of the README
			elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent. " + words(300))}},
			history.Conversation{Session: d.Session}, history.TurnStart{Session: d.Session}, history.TurnRounds{Session: d.Session},
		}
		require.Equal(t, chat.RoleSystem, d.Rendered(tree).Messages[0].Role, "%d rounds", rounds)
	}
}

func TestOnlyTheLastResortDropsInstructions(t *testing.T) {
	d := newFixture(t, chat.UserMessage(words(3990)))
	d.Policy.Overflow.LastResort = policy.ResortDrop
	tree := elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent. " + words(300))}},
		history.Conversation{Session: d.Session}, history.TurnStart{Session: d.Session}, history.TurnRounds{Session: d.Session},
	}
	require.Len(t, d.Rendered(tree).Messages, 1)
	require.Equal(t, "let go crowded", kinds((*d.Heard)[len(*d.Heard)-2:]), "and the user is told why")
}

// reported appends an answer and its usage: the input that the provider reported, beside our own count.
func reported(d fixture, model string, input, counted int) {
	d.T.Helper()
	_, err := d.Session.Add(context.Background(),
		entry.Entry{Body: entry.Message{Message: chat.AssistantMessage("Done.")}},
		entry.Entry{Body: entry.Usage{Model: model, Usage: chat.Usage{Input: input, Output: 10}, Counted: counted}},
	)
	require.NoError(d.T, err)
}

func TestTheRatioIsTheReportedInputOverOurCount(t *testing.T) {
	for _, c := range []struct {
		name string
		by   policy.CountBy
		say  func(d fixture)
		want float64
	}{
		{"1 if nothing was reported", policy.ByReport, func(d fixture) {}, 1},
		{"above 1", policy.ByReport, func(d fixture) { reported(d, "m", 1500, 1000) }, 1.5},
		{"below 1", policy.ByReport, func(d fixture) { reported(d, "m", 800, 1000) }, 0.8},
		{"at least 0.5", policy.ByReport, func(d fixture) { reported(d, "m", 100, 1000) }, 0.5},
		{"at most 4", policy.ByReport, func(d fixture) { reported(d, "m", 9000, 1000) }, 4},
		{"1 if our own count is what the policy measures by", policy.ByCount, func(d fixture) { reported(d, "m", 1500, 1000) }, 1},
		{"1 if we count more", policy.ByLarger, func(d fixture) { reported(d, "m", 800, 1000) }, 1},
		{"above 1 if the provider counts more", policy.ByLarger, func(d fixture) { reported(d, "m", 1500, 1000) }, 1.5},
		{"of the newest report", policy.ByReport, func(d fixture) { reported(d, "m", 1500, 1000); reported(d, "m", 1200, 1000) }, 1.2},
		{"not of a report about another model", policy.ByReport, func(d fixture) { reported(d, "other", 1500, 1000) }, 1},
		{"not of a report before a switch of models", policy.ByReport, func(d fixture) {
			reported(d, "m", 1500, 1000)
			_, err := d.Session.Add(t.Context(), entry.Entry{Body: entry.ModelChange{Model: "m"}})
			require.NoError(d.T, err)
		}, 1},
		{"not of a report before a compaction", policy.ByReport, func(d fixture) {
			reported(d, "m", 1500, 1000)
			require.NoError(d.T, d.Session.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("Sum.")}}))
		}, 1},
		{"not of a report before a clearing", policy.ByReport, func(d fixture) {
			d.Say(round(1, 200)...)
			reported(d, "m", 1500, 1000)
			_, err := d.Session.Add(t.Context(), entry.Entry{Body: entry.Clearing{Results: []entry.Cleared{{Entry: "e3", Text: "[gone]"}}}})
			require.NoError(d.T, err)
		}, 1},
		{"1 if the report has no count of ours", policy.ByReport, func(d fixture) { reported(d, "m", 1500, 0) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t, chat.UserMessage(task))
			d.Policy.Counting.By, d.Target.Name = c.by, "m"
			d.Target.Tools = []chat.Tool{{Name: "read", Description: words(40)}}
			c.say(d)
			d.Say(chat.UserMessage("Go on."))
			d.Messages()
			m := d.Explain(t.Context()).Measurement
			require.InDelta(t, c.want, m.Ratio, 1e-9)
			exact := c.want * float64(m.Count+m.Tools)
			require.GreaterOrEqual(t, float64(m.Used), exact-1e-6)
			require.Less(t, float64(m.Used), exact+1)
			require.Positive(t, m.Tools)
		})
	}
}

func TestUsageOfARequestHoldsOurOwnCountOfIt(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Name, d.Target.Tools = "m", []chat.Tool{{Name: "read"}}
	r := d.Rendered(prompt(d.Session))
	u := d.Usage(r, chat.Response{Usage: chat.Usage{Input: 77, Output: 5}}, "e9")
	require.Positive(t, u.Bytes)
	u.Bytes = 0
	require.Equal(t, entry.Usage{Of: "e9", Model: "m", Usage: chat.Usage{Input: 77, Output: 5}, Counted: r.Tokens + quarter{}.CountTools(d.Target.Tools)}, u)
}

func TestAThresholdLowersTheBaseOfRatiosOnlyIfThePolicySaysSo(t *testing.T) {
	for _, c := range []struct {
		lowered bool
		want    int
	}{{true, 5000}, {false, 10_000}} {
		d := newFixture(t, chat.UserMessage(task))
		d.Target.Budget, d.Target.ContextWindow = 9000, 10_000
		d.Policy.Counting = policy.Counting{LoweredBase: c.lowered, Threshold: 0.5}
		d.Messages()
		require.Equal(t, c.want, d.Explain(t.Context()).Measurement.Base)
		require.Equal(t, 5000, d.Explain(t.Context()).Measurement.Budget)
	}
}

func TestTheShareOfACutIsOfTheContextWindow(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 12, 500)...)
	d.Target.Budget, d.Target.ContextWindow = 8_000, 10_000
	d.Policy = policy.Policy{Trigger: policy.Trigger{{Ratio: 0.5}}, Cut: history.Cut{Share: 0.2}}
	d.Answers(models.SaySummary("Done."))
	d.Messages()
	require.Len(t, kept(d.Session), 3, "2,000 tokens less the turn's first message")
}

// reopened closes the session of d and opens it again, as another process would.
func reopened(t *testing.T, d fixture) fixture {
	t.Helper()
	path := d.Session.Path()
	require.NoError(t, d.Close())
	require.NoError(t, d.Session.Close())
	again := fixtureOf(t, opened(t, path))
	again.Target, again.Policy = d.Target, d.Policy
	again.Target.Model = again.Script
	return again
}

// read opens a session for reading, for the time of the test.
func read(t testing.TB, path string) *history.Session {
	t.Helper()
	s, err := history.Read(path, history.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestJitterDependsOnTheSessionAndItsLeafAlone(t *testing.T) {
	seen := map[float64]bool{}
	d := newFileFixture(t, chat.UserMessage(task))
	for n := range 200 {
		d.Messages()
		j := d.Explain(t.Context()).Measurement.Jitter
		require.True(t, j >= -1 && j <= 1, "%v", j)
		d.Messages()
		require.Equal(t, j, d.Explain(t.Context()).Measurement.Jitter)
		seen[j] = true
		d.Say(chat.AssistantMessage(fmt.Sprint(n)))
		d.Say(chat.UserMessage(fmt.Sprint(n)))
	}
	require.Greater(t, len(seen), 190)
	d.Messages()
	j := d.Explain(t.Context()).Measurement.Jitter
	again := reopened(t, d)
	again.Messages()
	require.Equal(t, j, again.Explain(t.Context()).Measurement.Jitter)
}

func TestBelowTheLimitNothingIsClearedAfterTheFirstTime(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Policy = a3s.Policy()
	d.Policy.Clear.Rule.Keep = 700
	d.Say(rounds(1, 5, 700)...)
	d.Messages()
	require.Equal(t, "cleared", kinds(*d.Heard))
	for n := range 2 {
		d.Say(round(10+n, 300)...)
		d.Messages()
	}
	require.Equal(t, "cleared", kinds(*d.Heard), "the prefix stays the same below the limit")
}

func TestASessionThatIsOnlyReadIsNotCleared(t *testing.T) {
	d := newFileFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 5, 700)...)
	path := d.Session.Path()
	require.NoError(t, d.Session.Close())
	r := fixtureOf(t, read(t, path))
	r.Policy = a3s.Policy()
	r.Policy.Clear.Rule.Keep = 700
	before := r.Messages()
	require.Equal(t, before, r.Messages())
	require.Empty(t, r.Requests())
}

func TestACustomHistoryElementSeesTheCurrentView(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Answers(models.SaySummary("Steps 1 to 5 are done."))
	r := d.Rendered(elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent.")}}, ownHistory{session: d.Session},
	})
	require.Contains(t, text(r.Messages), "Steps 1 to 5 are done.")
}

// ownHistory is a custom element that shows a session.
type ownHistory struct {
	elements.Props
	session *history.Session
}

func (ownHistory) ShowsHistory() {}

func (o ownHistory) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	v, err := o.session.ViewIn(ctx)
	if err != nil {
		return nil, err
	}
	return el.Each(v.Messages(), func(m chat.Message) elements.Node { return elements.Message(elements.Props{}, m) }), nil
}

// A policy may keep more than a small window has, such as 20,000 tokens. In that case less is kept, so that the session
// is compacted at the policy's threshold and not once nothing fits any more.
func TestASmallWindowIsCompactedAtThePolicysThreshold(t *testing.T) {
	windows := []int{4000}
	if extremes.All() {
		windows = append(windows, 8000, 16_000)
	}
	for _, window := range windows {
		eachPolicy(t, func(t *testing.T, p policy.Policy) {
			t.Run(fmt.Sprint(window), func(t *testing.T) {
				t.Parallel()
				d := newFixture(t)
				d.Policy, d.Target.Budget, d.Target.ContextWindow = p, window, window
				d.Policy.Ask.Names = nil
				d.Target.Model = models.Offline{Tokenizer: quarter{}}
				for n := range 3 * window / 100 {
					d.Say(chat.UserMessage(strings.Repeat("abc ", 47)), chat.AssistantMessage(strings.Repeat("abc ", 47)))
					d.Say(chat.UserMessage(fmt.Sprint("And now? ", n)))
					require.LessOrEqual(t, d.Rendered(prompt(d.Session)).Tokens, window)
					require.NoError(t, d.Wait(t.Context()))
				}
				require.NotContains(t, kinds(*d.Heard), "failed")
				require.NotContains(t, kinds(*d.Heard), "truncated")
				require.GreaterOrEqual(t, len(compactions(d.Session)), 2)
			})
		})
	}
}

// clearingFixture returns a fixture with four rounds of 500 tokens in a window of 10,000, which clears all output but the
// newest 600 tokens.
func clearingFixture(t *testing.T) fixture {
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Budget = 10_000
	d.Say(rounds(1, 4, 500)...)
	d.Policy = policy.Policy{Clear: policy.Clear{
		Always: true,
		Rule:   history.ClearRule{Keep: 600, Placeholder: func(history.ClearedOutput) string { return "[gone]" }},
	}}
	return d
}

func TestAClearingKeepsAtMostItsShareOfTheWindow(t *testing.T) {
	for share, want := range map[float64][]int{0: {3, 4}, 0.5: {3, 4}, 0.03: {4}} {
		d := clearingFixture(t)
		d.Policy.Clear.Share = share
		require.Equal(t, want, outputs(text(d.Messages())), "%v", share)
	}
}

func TestAShortResultIsNotCleared(t *testing.T) {
	d := clearingFixture(t)
	d.Policy.Clear.Rule.Least = 400
	require.Equal(t, []int{3, 4}, outputs(text(d.Messages())))
	d = clearingFixture(t)
	d.Policy.Clear.Rule.Least = 600
	require.Equal(t, []int{1, 2, 3, 4}, outputs(text(d.Messages())))
}

func TestAClearingLeavesAWarmCacheAlone(t *testing.T) {
	for _, c := range []struct {
		rule         string
		behind       int
		idle, passed time.Duration
		want         []int
	}{
		{"by default the cache does not count", 0, 0, time.Second, []int{3, 4}},
		{"few tokens behind it may be lost", 2100, 0, time.Second, []int{3, 4}},
		{"many may not", 1000, 0, time.Second, []int{1, 2, 3, 4}},
		{"after five minutes the cache is cold", 1000, 0, 5 * time.Minute, []int{3, 4}},
		{"or after the time that the policy says", 1000, time.Hour, 59 * time.Minute, []int{1, 2, 3, 4}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := clearingFixture(t)
				d.Policy.Clear.Behind, d.Policy.Clear.Idle = c.behind, c.idle
				time.Sleep(c.passed)
				require.Equal(t, c.want, outputs(text(d.Messages())))
			})
		})
	}
}

func TestAPromptThatDoesNotFitIsClearedWhateverTheCacheHolds(t *testing.T) {
	d := clearingFixture(t)
	d.Target.Budget = 2000
	d.Policy.Clear.Behind = 1000
	require.Equal(t, []int{3, 4}, outputs(text(d.Messages())))
}

// clearings returns the clearings of a session.
func clearings(t *testing.T, d fixture) (n int) {
	for _, e := range entries(t, d.Session) {
		if e.Type() == entry.TypeClearing {
			n++
		}
	}
	return n
}

// A condition asks for a clearing first. If that does not suffice, the cache is to break only once, and history is to be
// lost only together with a summary.
func TestAClearingThatDoesNotSufficeIsWrittenWithTheCompaction(t *testing.T) {
	over := func(t *testing.T, ratio float64) fixture {
		d := newFixture(t, chat.UserMessage(task), chat.AssistantMessage(words(2000)), chat.UserMessage(task))
		d.Target.Budget = 10_000
		d.Say(rounds(1, 4, 500)...)
		d.Policy = clearingFixture(t).Policy
		d.Policy.Clear.Always, d.Policy.Trigger = false, policy.Trigger{{Ratio: ratio}}
		d.Policy.Cut.Rounds, d.Policy.Replace.Max = 3, 300
		return d
	}
	t.Run("one that suffices is written at once", func(t *testing.T) {
		d := over(t, 0.38)
		require.Equal(t, []int{3, 4}, outputs(text(d.Messages())))
		require.Equal(t, 1, clearings(t, d))
		require.Equal(t, "cleared", kinds(*d.Heard))
		require.Empty(t, d.Requests())
	})
	t.Run("one that does not is written with the summary, whose request shows it", func(t *testing.T) {
		d := over(t, 0.2)
		d.Always(models.SaySummary(handoff))
		require.Equal(t, []int{3, 4}, outputs(text(d.Messages())))
		require.NotContains(t, text(d.Messages()), "[output 001]")
		require.NotContains(t, text(d.Request().Messages), "[output 001]")
		require.Contains(t, text(d.Request().Messages), "[gone]")
		require.Equal(t, []int{1, 1}, []int{clearings(t, d), len(compactions(d.Session))})
		require.Equal(t, "started cleared done/full", kinds(*d.Heard))
	})
	t.Run("it is not written if the summary fails", func(t *testing.T) {
		d := over(t, 0.2)
		d.Always(models.Fail(errDown))
		require.Equal(t, []int{1, 2, 3, 4}, outputs(text(d.Messages())))
		require.Equal(t, []int{1, 2, 3, 4}, outputs(text(d.Messages())), "nor in the pause")
		require.Zero(t, clearings(t, d))
	})
	t.Run("a summary in the background is placed with it", func(t *testing.T) {
		d := over(t, 0.2)
		d.Policy.Trigger[0].Background = true
		d.Always(models.SaySummary(handoff))
		require.Equal(t, []int{1, 2, 3, 4}, outputs(text(d.Messages())))
		require.NoError(t, d.Wait(t.Context()))
		require.Equal(t, []int{3, 4}, outputs(text(d.Messages())))
		require.NotContains(t, text(d.Request().Messages), "[output 001]")
	})
	t.Run("a prompt that does not fit is cleared at once, also while a summary is made", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := over(t, 0.2)
			d.Policy.Trigger[0].Background, d.Policy.Overflow.LastResort = true, policy.ResortDrop
			d.Always(slowly(time.Hour, models.SaySummary(handoff)))
			require.Equal(t, []int{1, 2, 3, 4}, outputs(text(d.Messages())))
			require.Zero(t, clearings(t, d))
			d.Target.Budget = 3500
			require.Equal(t, []int{3, 4}, outputs(text(d.Messages())))
			require.Equal(t, 1, clearings(t, d))
			require.NotContains(t, kinds(*d.Heard), "let go")
			d.Abort()
			require.NoError(t, d.Close())
		})
	})
	t.Run("another process writes it too", func(t *testing.T) {
		d := over(t, 0.2)
		d.Policy.Trigger[0].Background = true
		plan := ""
		d.Runner = func(_ context.Context, _ *history.Session, id string) error { plan = id; return nil }
		d.Always(models.SaySummary(handoff))
		require.Equal(t, []int{1, 2, 3, 4}, outputs(text(d.Messages())))
		require.NoError(t, d.RunPlan(t.Context(), plan, nil))
		require.Equal(t, []int{3, 4}, outputs(text(d.Messages())))
	})
}

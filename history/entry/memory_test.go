package entry_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// remembered returns the memory of entries.
func remembered(bodies ...entry.Body) entry.Remembered {
	var m entry.Remembered
	for _, b := range bodies {
		m.Add(entry.Entry{Body: b})
	}
	return m
}

func answered(input, counted int) []entry.Body {
	return []entry.Body{entry.Message{Message: chat.AssistantMessage("Fine.")}, entry.Usage{Model: "m", Usage: chat.Usage{Input: input}, Counted: counted}}
}

// doubted is a refusal without words, answered with a smaller request.
func doubted(counted int) entry.Refusal {
	return entry.Refusal{Model: "m", Unit: entry.UnitHeld, Counted: counted}
}

func refusedAt(counted int) entry.Refusal { return entry.Refusal{Model: "m", Counted: counted} }

// An answer counts for the model that wrote it.
func TestAnAnswerCountsForTheLimitsOfItsModel(t *testing.T) {
	by := func(model string) []entry.Body {
		m := chat.AssistantMessage("Fine.")
		m.Origin = chat.Origin{Provider: "openai", Server: "https://a.example", Model: model}
		return []entry.Body{entry.Message{Message: m}, entry.Usage{Model: model, Usage: chat.Usage{Input: 9}, Counted: 9}}
	}
	limit := []entry.Body{refusedAt(80_000), refusedAt(50_000), entry.PlanEnd{Outcome: entry.PlanFailed, Model: "m", Error: "down", ErrorType: "transient"}}
	left := func(answers ...[]entry.Body) (limit2, failed int) {
		l := remembered(slices.Concat(append([][]entry.Body{by("other"), limit}, answers...)...)...).Of("m", "")
		return l.Agent.Left, l.Failed.Left
	}
	for rule, c := range map[string]struct {
		answers       [][]entry.Body
		limit, failed int
	}{
		"none":                            {nil, 2, 1},
		"its own":                         {[][]entry.Body{by("m")}, 1, 0},
		"another model's":                 {[][]entry.Body{by("other"), by("other"), by("other")}, 2, 1},
		"one whose model is not known":    {[][]entry.Body{by("")}, 1, 0},
		"one by a name that nothing else": {[][]entry.Body{by("deployment-7")[:1]}, 1, 0},
	} {
		t.Run(rule, func(t *testing.T) {
			limit, failed := left(c.answers...)
			require.Equal(t, []int{c.limit, c.failed}, []int{limit, failed})
		})
	}
}

func TestMemoryOfRefusals(t *testing.T) {
	list := func(parts ...any) (all []entry.Body) {
		for _, p := range parts {
			switch p := p.(type) {
			case entry.Body:
				all = append(all, p)
			case []entry.Body:
				all = append(all, p...)
			}
		}
		return all
	}
	said := entry.Message{Message: chat.UserMessage("More.")}
	const nominal = 100_000
	for _, c := range []struct {
		rule   string
		bodies []entry.Body
		size   int
	}{
		{"nothing is remembered at first", nil, nominal},
		{"after a first refusal the request is made to fit half of the nominal size", list(refusedAt(80_000)), 50_000},
		{"a single refusal bounds no later request", list(refusedAt(80_000), answered(0, 50_000)), nominal},
		{"nor does one that nothing answered", list(refusedAt(80_000), said), nominal},
		{"after two accepted requests a refusal is a first one again", list(refusedAt(80_000), answered(0, 9), answered(0, 9), refusedAt(60_000)), 50_000},
		{"a second refusal in a row halves the size", list(refusedAt(80_000), refusedAt(50_000)), 25_000},
		{"and so does each further one", list(refusedAt(80_000), refusedAt(50_000), refusedAt(25_000)), 12_500},
		{"later requests take nine tenths of the smallest that was refused", list(refusedAt(80_000), refusedAt(50_000), answered(0, 25_000)), 45_000},
		{"a refusal soon after the first makes a ceiling, whatever the first was", list(refusedAt(3_000), answered(0, 3_000), refusedAt(60_000), answered(0, 30_000)), 54_000},
		{"after two accepted requests the nominal size is tried again", list(refusedAt(80_000), refusedAt(50_000), answered(0, 9), answered(0, 9)), nominal},
		{"if it is refused again at up to 1.5 times the ceiling, that holds twice as long", list(
			refusedAt(80_000), refusedAt(50_000), answered(0, 9), answered(0, 9), refusedAt(75_000), answered(0, 9), answered(0, 9), answered(0, 9)), 45_000},
		{"but not four accepted requests later", list(
			refusedAt(80_000), refusedAt(50_000), answered(0, 9), answered(0, 9), refusedAt(75_000), answered(0, 9), answered(0, 9), answered(0, 9), answered(0, 9)), nominal},
		{"a much larger request that is refused says nothing new", list(
			refusedAt(80_000), refusedAt(50_000), answered(0, 9), answered(0, 9), refusedAt(75_001), answered(0, 9), answered(0, 9)), nominal},
		{"a ceiling ends with an accepted request of its size", list(refusedAt(80_000), refusedAt(50_000), answered(0, 50_000)), nominal},
		{"a limit that is named is a ceiling at once", list(entry.Refusal{Model: "m", Limit: 40_000, Tokens: 80_000, Counted: 80_000}), 36_000},
		{"by our count", list(entry.Refusal{Model: "m", Limit: 40_000, Tokens: 120_000, Counted: 60_000}), 18_000},
		{"by the ratio that was reported, if the refusal names only the limit", list(answered(20_000, 10_000), entry.Refusal{Model: "m", Limit: 40_000, Counted: 30_000}), 18_000},
		{"if it is refused again the size is halved", list(
			entry.Refusal{Model: "m", Limit: 40_000, Tokens: 80_000, Counted: 80_000}, entry.Refusal{Model: "m", Limit: 40_000, Tokens: 41_000, Counted: 36_000}), 18_000},
		{"a limit below what the model accepted is not believed", list(answered(40_000, 30_000), entry.Refusal{Model: "m", Limit: 40_000, Tokens: 41_000, Counted: 31_000}), 50_000},
		{"nor is one below what we counted, if the model reports nothing", list(answered(0, 30_000), entry.Refusal{Model: "m", Limit: 1, Tokens: 2, Counted: 31_000}), 50_000},
		{"a refused summary bounds no request of the agent", list(
			entry.Refusal{Model: "m", Counted: 900, Summary: true}, entry.Refusal{Model: "m", Counted: 500, Summary: true}), nominal},
		{"nor does a refusal of another model", list(entry.Refusal{Model: "n", Counted: 900}, entry.Refusal{Model: "n", Counted: 500}), nominal},
		{"a request that was refused without words is remembered once a smaller one was accepted", list(
			doubted(80_000), answered(0, 30_000), refusedAt(70_000)), 35_000},
		{"nine tenths of it are then the limit", list(doubted(80_000), answered(0, 30_000)), 72_000},
		{"but not if nothing is accepted before something else is said", list(doubted(80_000), said, answered(0, 30_000)), nominal},
	} {
		t.Run(c.rule, func(t *testing.T) {
			require.Equal(t, c.size, remembered(c.bodies...).Of("m", "").Agent.Size(nominal))
		})
	}
}

func TestCompactionsArePlannedWithinALimitOnceItIsConfirmed(t *testing.T) {
	named := func(n int) entry.Refusal { return entry.Refusal{Model: "m", Limit: n, Tokens: 2 * n, Counted: 2 * n} }
	two := slices.Concat(answered(0, 9), answered(0, 9))
	for _, c := range []struct {
		rule   string
		bodies []entry.Body
		size   int
	}{
		{"a refusal confirms nothing", []entry.Body{refusedAt(80_000)}, 100_000},
		{"nor do several in a row", []entry.Body{refusedAt(80_000), refusedAt(50_000), refusedAt(25_000)}, 100_000},
		{"nor does a limit that is named", []entry.Body{named(40_000)}, 100_000},
		{"smaller requests were accepted, and one of its size was refused again", slices.Concat([]entry.Body{refusedAt(80_000), refusedAt(50_000)}, two, []entry.Body{refusedAt(60_000)}), 45_000},
		{"the same of a limit that is named", slices.Concat([]entry.Body{named(40_000)}, two, []entry.Body{named(40_000)}), 36_000},
		{"it ends with a larger request that is accepted", slices.Concat([]entry.Body{named(40_000)}, two, []entry.Body{named(40_000)}, answered(0, 41_000)), 100_000},
	} {
		t.Run(c.rule, func(t *testing.T) {
			require.Equal(t, c.size, remembered(c.bodies...).Of("m", "").Agent.Confirmed(100_000))
		})
	}
}

func TestMemoryOfSummariesIsOfAcceptedOnes(t *testing.T) {
	refused := func(n int) entry.Refusal { return entry.Refusal{Model: "m", Counted: n, Summary: true} }
	compaction := func(asked int) entry.Compaction { return entry.Compaction{Model: "m", Answers: 1, Asked: asked} }
	m := remembered(refused(80_000), refused(50_000), compaction(25_000))
	require.Equal(t, 45_000, m.Of("m", "").Summaries.Size(100_000))
	m.Add(entry.Entry{Body: compaction(40_000)})
	require.Equal(t, 100_000, m.Of("m", "").Summaries.Size(100_000), "two summaries were accepted")
	require.Equal(t, entry.Fact{}, m.Of("m", "").Agent)
	m = remembered(refused(80_000), refused(50_000), compaction(60_000))
	require.Equal(t, entry.Fact{}, m.Of("m", "").Summaries, "a request of its size was accepted")
}

// A limit that a model has and does not name is found at a dozen refusals in 4,000 requests, and rarely tested later.
func TestALimitThatIsNotNamedCostsFewRequests(t *testing.T) {
	const nominal = 100_000
	for _, limit := range []int{nominal / 16, nominal / 8, nominal / 4, nominal / 2, nominal * 7 / 10, nominal * 9 / 10} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			var m entry.Remembered
			size, refused, late := 1000, 0, 0
			for step := range 4000 {
				if size += 700; size > m.Of("m", "").Agent.Size(nominal) {
					size = m.Of("m", "").Agent.Size(nominal) / 3 // a compaction
				}
				sent := size
				for attempts := 0; sent > limit; attempts++ {
					require.Less(t, attempts, 6)
					if refused++; step >= 2000 {
						late++
					}
					m.Add(entry.Entry{Body: refusedAt(sent)})
					sent = min(sent, m.Of("m", "").Agent.Size(nominal))
				}
				for _, b := range answered(0, sent) {
					m.Add(entry.Entry{Body: b})
				}
			}
			require.LessOrEqual(t, refused, 12)
			require.LessOrEqual(t, late, 2)
			for range 4000 { // the limit goes away
				if size += 700; size > m.Of("m", "").Agent.Size(nominal) {
					size = m.Of("m", "").Agent.Size(nominal) / 3
				}
				for _, b := range answered(0, size) {
					m.Add(entry.Entry{Body: b})
				}
			}
			require.Equal(t, entry.Fact{}, m.Of("m", "").Agent)
		})
	}
}

func TestMemoryOutlivesCompactions(t *testing.T) {
	s := numbered.Session()
	add := func(bodies ...entry.Body) {
		for _, b := range bodies {
			sessiontest.Add(t, s, entry.Entry{Body: b})
		}
	}
	add(entry.Message{Message: chat.UserMessage("x")}, refusedAt(80_000), refusedAt(50_000), entry.Usage{Model: "n", Usage: chat.Usage{Input: 700}, Counted: 600})
	for range 3 {
		add(entry.Compaction{Messages: []chat.Message{chat.UserMessage("sum")}})
		retained, err := s.Retained(t.Context(), "")
		require.NoError(t, err)
		m := entry.Remembered{Models: retained.Models}
		require.Equal(t, 25_000, m.Of("m", "").Agent.Size(100_000))
		require.Equal(t, entry.Learnt{Model: "n", Accepted: 700, Counted: 600}, m.Of("n", ""))
	}
}

func TestMemoryOfFailures(t *testing.T) {
	begun := time.Unix(1_000_000, 0)
	down := entry.PlanEnd{Plan: "p", Outcome: entry.PlanFailed, Error: "down"}
	unusable := entry.PlanEnd{Plan: "p", Outcome: entry.PlanFailed, ErrorType: "summary_refused", Error: "unusable"}
	cancelled := entry.PlanEnd{Plan: "p", Outcome: entry.PlanDropped, ErrorType: "cancelled"}
	killed := entry.PlanEnd{Plan: "p", Outcome: entry.PlanDropped, ErrorType: "runner_gone", Error: "gone"}
	answer := entry.Message{Message: chat.AssistantMessage("Fine.")}
	request := entry.Message{Message: chat.UserMessage("More.")}
	plan := entry.Plan{Model: "m", Used: 1000}
	times := func(n int, bodies ...entry.Body) (list []entry.Body) {
		for range n {
			list = append(list, bodies...)
		}
		return list
	}
	failures := func(n int, end entry.PlanEnd) []entry.Body { return times(n, plan, end) }
	asked := func(end entry.PlanEnd, requests int) entry.PlanEnd {
		end.Requests = requests
		return end
	}
	for _, c := range []struct {
		rule   string
		bodies []entry.Body
		model  string // defaults to m
		used   int    // defaults to 1000
		after  time.Duration
		left   int
	}{
		{rule: "nothing pauses at first"},
		{rule: "a failure holds for an accepted request", bodies: failures(1, down), left: 1},
		{rule: "and twice as many with each further failure", bodies: failures(4, down), left: 8},
		{rule: "but 10 at most", bodies: failures(9, down), left: 10},
		{rule: "each accepted request is one less", bodies: append(failures(4, down), times(7, answer)...), left: 1},
		{rule: "and so it ends", bodies: append(failures(4, down), times(8, answer)...)},
		{rule: "no failure holds longer than the longest time", bodies: failures(9, down), after: time.Minute},
		{rule: "nor one from a time when the clock was ahead", bodies: failures(9, down), after: -time.Hour},
		{rule: "a new turn does not end a failure of transport", bodies: append(failures(1, down), request), left: 1},
		{rule: "nor does more history", bodies: failures(1, down), used: 2000, left: 1},
		{rule: "it is of its model", bodies: failures(3, down), model: "n"},
		{rule: "and stays known while another model answers", bodies: append(failures(4, down), entry.ModelChange{Model: "n"}, entry.ModelChange{Model: "m"}), left: 8},
		{rule: "an unusable answer holds for accepted requests too", bodies: failures(3, unusable), left: 4},
		{rule: "up to 10", bodies: failures(9, unusable), left: 10},
		{rule: "until a new turn", bodies: append(failures(3, unusable), request)},
		{rule: "or until there is a tenth more history, which is not reached here", bodies: failures(4, unusable), used: 1099, left: 8},
		{rule: "but here", bodies: failures(4, unusable), used: 1100},
		{rule: "three requests for unusable answers cost nothing", bodies: append(failures(1, asked(unusable, 3)), request)},
		{rule: "further ones are paid for by ten accepted requests each", bodies: failures(1, asked(unusable, 5)), left: 20},
		{rule: "which no new turn ends", bodies: append(failures(1, asked(unusable, 5)), request), left: 20},
		{rule: "nor more history", bodies: failures(1, asked(unusable, 5)), used: 2000, left: 20},
		{rule: "accepted requests pay for those before too", bodies: slices.Concat(failures(1, asked(unusable, 2)), times(15, answer), failures(1, asked(unusable, 3))), left: 5},
		{rule: "a failure of transport costs one request", bodies: failures(9, asked(down, 8)), left: 10},
		{rule: "a plan that could not be made names its model", bodies: times(1, entry.PlanEnd{Outcome: entry.PlanFailed, Model: "m", Error: "no"}), left: 1},
		{rule: "a failure behind the answer for a part starts no pause", bodies: []entry.Body{
			plan, entry.PlanEnd{Plan: "p", Outcome: entry.PlanRetried, Finished: []entry.SummaryAnswer{{Text: "Half."}}}, down}},
		{rule: "but the next one does", bodies: append([]entry.Body{
			plan, entry.PlanEnd{Plan: "p", Outcome: entry.PlanRetried, Finished: []entry.SummaryAnswer{{Text: "Half."}}}, down}, failures(1, down)...), left: 1},
		{rule: "a compaction ends both", bodies: append(append(failures(3, down), failures(3, unusable)...), entry.Compaction{})},
		{rule: "a cancelled plan is not made again at once", bodies: failures(1, cancelled), left: 1},
		{rule: "and ends no pause", bodies: append(failures(3, down), failures(1, cancelled)...), left: 4},
		{rule: "a process that is killed costs one request, and the first three are free", bodies: failures(3, killed)},
		{rule: "a fourth is paid for by ten accepted requests", bodies: failures(4, killed), left: 10},
		{rule: "unless each got an answer for a part", bodies: times(9, plan, entry.PlanEnd{Plan: "p", Outcome: entry.PlanRetried, Finished: []entry.SummaryAnswer{{Text: "Half."}}}, killed)},
		{rule: "a plan that is retried has not failed", bodies: failures(1, entry.PlanEnd{Plan: "p", Outcome: entry.PlanRetried, ErrorType: "cancelled"})},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var m entry.Remembered
			for _, b := range c.bodies {
				m.Add(entry.Entry{Time: begun, Body: b})
			}
			got := m.Of(cmp.Or(c.model, "m"), "").Pause(begun.Add(c.after), cmp.Or(c.used, 1000), func(entry.Fact) time.Duration { return time.Minute })
			require.Equal(t, c.left, got.Left)
			require.Equal(t, c.left > 0, got != entry.Fact{})
		})
	}
}

func TestATurnRemembersThatACompactionFailedForWhichAPromptWaited(t *testing.T) {
	failed := entry.PlanEnd{Plan: "p", Outcome: entry.PlanFailed, Error: "down"}
	m := remembered(entry.Plan{}, failed)
	require.True(t, m.TurnFailed)
	m.Add(entry.Entry{Body: entry.Message{Message: chat.UserMessage("More.")}})
	require.False(t, m.TurnFailed, "it is another turn")
	m.Add(entry.Entry{Body: entry.Plan{Background: true}})
	m.Add(entry.Entry{Body: failed})
	require.False(t, m.TurnFailed, "no prompt waited for it")
}

func TestWhatIsLeftOutComesBackOneByOneAndOnlyTheCauseStaysAway(t *testing.T) {
	var m entry.Remembered
	add := func(b entry.Body) { m.Add(entry.Entry{Body: b}) }
	accepted := func(model string) {
		said := chat.AssistantMessage("Yes.")
		said.Origin.Model = model
		add(entry.Message{Message: said})
	}
	states := func(model string) (list []entry.HeldState) {
		for _, h := range m.HeldFor(model, "") {
			list = append(list, h.State)
		}
		return list
	}
	add(entry.Usage{Model: "a"})
	add(entry.Usage{Model: "b"})
	add(entry.Refusal{Model: "a", Unit: entry.UnitHeld, Held: []entry.Held{{Entry: "1", State: entry.HeldSuspect}, {Entry: "2", State: entry.HeldSuspect}, {Entry: "3", State: entry.HeldBlamed}}})
	require.Empty(t, m.HeldFor("b", ""), "another model is shown it")
	accepted("b")
	require.Equal(t, []entry.HeldState{entry.HeldSuspect, entry.HeldSuspect, entry.HeldBlamed}, states("a"))
	accepted("a")
	require.Equal(t, []entry.HeldState{entry.HeldTried, entry.HeldSuspect, entry.HeldRefused}, states("a"))
	was := m.HeldFor("a", "")
	accepted("a")
	require.Equal(t, []entry.HeldState{entry.HeldTried, entry.HeldRefused}, states("a"), "the first is innocent")
	require.Equal(t, entry.HeldTried, was[0].State, "lists that were handed out do not change")
	add(entry.Compaction{})
	accepted("a")
	require.Equal(t, []entry.HeldState{entry.HeldRefused}, states("a"), "it outlives a compaction")
}

func TestWhatAServerRefusesIsShownToTheSameModelElsewhere(t *testing.T) {
	m := remembered(entry.Refusal{Model: "a", Server: "https://here", Unit: entry.UnitHeld, Held: []entry.Held{{Entry: "1", State: entry.HeldRefused}}})
	require.Len(t, m.HeldFor("a", "https://here"), 1)
	require.Empty(t, m.HeldFor("a", "https://there"))
	require.Len(t, m.HeldFor("a", ""), 1, "which may be that server")
}

func TestWhatIsLearntOfAServerHoldsForItAndWhereTheServerIsNotKnown(t *testing.T) {
	refused := func(server string) entry.Body {
		return entry.Refusal{Model: "a", Server: server, Limit: 1000, Counted: 2000}
	}
	const nominal = 100_000
	size := func(m entry.Remembered, server string) int { return m.Of("a", server).Agent.Size(nominal) }
	m := remembered(refused("https://here"))
	require.Equal(t, 900, size(m, "https://here"))
	require.Equal(t, nominal, size(m, "https://there"))
	require.Equal(t, 900, size(m, ""), "which may be that server")
	m = remembered(refused(""), entry.Usage{Model: "a", Server: "https://there", Counted: 3000})
	require.Equal(t, 900, size(m, "https://here"))
	require.Equal(t, nominal, size(m, "https://there"), "it accepted a larger one")
	said := chat.AssistantMessage("Yes.")
	said.Origin = chat.Origin{Model: "a", Server: "https://there"}
	m = remembered(refused("https://here"), entry.Message{Message: said}, entry.Message{Message: said})
	require.Equal(t, 900, size(m, "https://here"), "another server's answers end nothing")
	failed := entry.PlanEnd{Outcome: entry.PlanFailed, Model: "a", Server: "https://here", Error: "down"}
	m = remembered(failed)
	require.NotEmpty(t, m.Of("a", "https://here").Failed)
	require.Empty(t, m.Of("a", "https://there").Failed)
}

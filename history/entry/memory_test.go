package entry_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
)

// remembered returns the memory of entries.
func remembered(bodies ...entry.Body) entry.Memory {
	var m entry.Memory
	for _, b := range bodies {
		m.Add(entry.Entry{Body: b})
	}
	return m
}

func answered(input, counted int) []entry.Body {
	return []entry.Body{entry.Message{Message: chat.AssistantMessage("Fine.")}, entry.Usage{Model: "m", Usage: chat.Usage{Input: input}, Counted: counted}}
}

func refusedAt(counted int) entry.Refusal { return entry.Refusal{Model: "m", Counted: counted} }

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
		{"after three accepted requests a refusal is a first one again", list(refusedAt(80_000), answered(0, 9), answered(0, 9), answered(0, 9), refusedAt(60_000)), 50_000},
		{"a second refusal in a row halves the size", list(refusedAt(80_000), refusedAt(50_000)), 25_000},
		{"and so does each further one", list(refusedAt(80_000), refusedAt(50_000), refusedAt(25_000)), 12_500},
		{"later requests take nine tenths of the smallest that was refused", list(refusedAt(80_000), refusedAt(50_000), answered(0, 25_000)), 45_000},
		{"a refusal soon after the first makes a ceiling, whatever the first was", list(refusedAt(3_000), answered(0, 3_000), refusedAt(60_000), answered(0, 30_000)), 54_000},
		{"after three accepted requests the nominal size is tried again", list(refusedAt(80_000), refusedAt(50_000), answered(0, 9), answered(0, 9), answered(0, 9)), nominal},
		{"if it is refused again at up to 1.5 times the ceiling, that holds twice as long", list(
			refusedAt(80_000), refusedAt(50_000), answered(0, 9), answered(0, 9), answered(0, 9), refusedAt(75_000),
			answered(0, 9), answered(0, 9), answered(0, 9), answered(0, 9), answered(0, 9)), 45_000},
		{"but not six accepted requests later", list(
			refusedAt(80_000), refusedAt(50_000), answered(0, 9), answered(0, 9), answered(0, 9), refusedAt(75_000),
			answered(0, 9), answered(0, 9), answered(0, 9), answered(0, 9), answered(0, 9), answered(0, 9)), nominal},
		{"a much larger request that is refused says nothing new", list(
			refusedAt(80_000), refusedAt(50_000), answered(0, 9), answered(0, 9), answered(0, 9), refusedAt(75_001),
			answered(0, 9), answered(0, 9), answered(0, 9)), nominal},
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
			entry.Message{Message: chat.AssistantMessage("Fine.")}, entry.Usage{Model: "m", Counted: 30_000, Refused: 80_000}, refusedAt(70_000)), 35_000},
	} {
		t.Run(c.rule, func(t *testing.T) {
			require.Equal(t, c.size, remembered(c.bodies...).Of("m").Agent.Size(nominal))
		})
	}
}

func TestMemoryOfSummariesIsOfAcceptedOnes(t *testing.T) {
	refused := func(n int) entry.Refusal { return entry.Refusal{Model: "m", Counted: n, Summary: true} }
	compaction := func(asked int) entry.Compaction { return entry.Compaction{Model: "m", Answers: 1, Asked: asked} }
	m := remembered(refused(80_000), refused(50_000), compaction(25_000))
	require.Equal(t, 45_000, m.Of("m").Summaries.Size(100_000))
	for range 2 {
		m.Add(entry.Entry{Body: compaction(40_000)})
	}
	require.Equal(t, 100_000, m.Of("m").Summaries.Size(100_000), "three summaries were accepted")
	require.Equal(t, entry.Ceiling{}, m.Of("m").Agent)
	m = remembered(refused(80_000), refused(50_000), compaction(60_000))
	require.Equal(t, entry.Ceiling{}, m.Of("m").Summaries, "a request of its size was accepted")
}

// A limit that a model has and does not name is found at a dozen refusals in 4,000 requests, and rarely tested later.
func TestALimitThatIsNotNamedCostsFewRequests(t *testing.T) {
	const nominal = 100_000
	for _, limit := range []int{nominal / 16, nominal / 8, nominal / 4, nominal / 2, nominal * 7 / 10, nominal * 9 / 10} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			var m entry.Memory
			size, refused, late := 1000, 0, 0
			for step := range 4000 {
				if size += 700; size > m.Of("m").Agent.Size(nominal) {
					size = m.Of("m").Agent.Size(nominal) / 3 // a compaction
				}
				sent := size
				for attempts := 0; sent > limit; attempts++ {
					require.Less(t, attempts, 6)
					if refused++; step >= 2000 {
						late++
					}
					m.Add(entry.Entry{Body: refusedAt(sent)})
					sent = min(sent, m.Of("m").Agent.Size(nominal))
				}
				for _, b := range answered(0, sent) {
					m.Add(entry.Entry{Body: b})
				}
			}
			require.LessOrEqual(t, refused, 12)
			require.LessOrEqual(t, late, 2)
			for range 4000 { // the limit goes away
				if size += 700; size > m.Of("m").Agent.Size(nominal) {
					size = m.Of("m").Agent.Size(nominal) / 3
				}
				for _, b := range answered(0, size) {
					m.Add(entry.Entry{Body: b})
				}
			}
			require.Equal(t, entry.Ceiling{}, m.Of("m").Agent)
		})
	}
}

func TestMemoryOutlivesCompactions(t *testing.T) {
	s := numbered.Session()
	add := func(bodies ...entry.Body) {
		for _, b := range bodies {
			_, err := s.Add(t.Context(), entry.Entry{Body: b})
			require.NoError(t, err)
		}
	}
	add(entry.Message{Message: chat.UserMessage("x")}, refusedAt(80_000), refusedAt(50_000), entry.Usage{Model: "n", Usage: chat.Usage{Input: 700}, Counted: 600})
	for range 3 {
		add(entry.Compaction{Messages: []chat.Message{chat.UserMessage("sum")}})
		retained, err := s.Retained(t.Context(), "")
		require.NoError(t, err)
		m := entry.Memory{Models: retained.Models}
		require.Equal(t, 25_000, m.Of("m").Agent.Size(100_000))
		require.Equal(t, entry.Learnt{Model: "n", Accepted: 700, Counted: 600}, m.Of("n"))
	}
}

func TestMemoryOfFailures(t *testing.T) {
	failed := entry.PlanEnd{Plan: "p", Outcome: entry.PlanFailed, Error: "down"}
	unusable := entry.PlanEnd{Plan: "p", Outcome: entry.PlanFailed, ErrorType: "summary_refused"}
	m := remembered(entry.Plan{}, failed)
	require.True(t, m.TurnFailed)
	require.Equal(t, 1, m.Failures)
	m.Add(entry.Entry{Body: entry.Message{Message: chat.UserMessage("More.")}})
	require.False(t, m.TurnFailed, "it is another turn")
	m.Add(entry.Entry{Body: entry.Plan{Background: true}})
	m.Add(entry.Entry{Body: failed})
	require.False(t, m.TurnFailed, "no prompt waited for it")
	require.Equal(t, 2, m.Failures)
	for range 2 {
		m.Add(entry.Entry{Body: unusable})
	}
	require.Equal(t, 2, m.Unusable)
	require.Equal(t, 4, m.Failures)
	m.Add(entry.Entry{Body: entry.Compaction{}})
	require.Zero(t, m.Failures+m.Unusable)
	steps, until := m.Pause(time.Now(), 0)
	require.Zero(t, steps)
	require.Zero(t, until)
	m.Add(entry.Entry{Body: entry.PlanEnd{Plan: "p", Outcome: entry.PlanRetried, ErrorType: "cancelled"}})
	steps, _ = m.Pause(time.Now(), 0)
	require.Zero(t, steps, "a plan that is retried has not failed")
}

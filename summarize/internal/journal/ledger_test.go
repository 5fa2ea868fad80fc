package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/internal/journal"
)

// add appends entries and returns the id of the last.
func add(t *testing.T, s *history.Session, bodies ...entry.Body) string {
	t.Helper()
	id := ""
	for _, b := range bodies {
		added, err := s.Add(t.Context(), entry.Entry{Body: b})
		require.NoError(t, err)
		id = added[0].ID
	}
	return id
}

func read(t *testing.T, known *journal.Ledger, s *history.Session) *journal.Ledger {
	t.Helper()
	l, err := known.Read(t.Context(), s)
	require.NoError(t, err)
	whole, err := (*journal.Ledger)(nil).Read(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, whole, l, "extending a ledger gives the same as reading the whole path")
	return l
}

func answers(n int) []entry.Body {
	list := make([]entry.Body, n)
	for i := range list {
		list[i] = entry.Message{Message: chat.AssistantMessage("Step.")}
	}
	return list
}

func TestPlanIsPendingUntilItsEnd(t *testing.T) {
	s := numbered.Session()
	plan := add(t, s, entry.Plan{Policy: "x"})
	l := read(t, nil, s)
	require.Equal(t, plan, l.Pending.ID)
	require.Equal(t, "x", l.Pending.Policy)
	add(t, s, entry.PlanEnd{Plan: plan, Outcome: entry.PlanFailed, Error: "down"})
	l = read(t, l, s)
	require.Nil(t, l.Pending)
	require.Equal(t, "x", l.Ended.Policy)
	require.Equal(t, "down", l.End.Error)
}

func TestACompactionEndsThePlanThatItNames(t *testing.T) {
	s := numbered.Session()
	plan := add(t, s, entry.Message{Message: chat.UserMessage("x")}, entry.Plan{Policy: "x"})
	add(t, s, entry.Compaction{Plan: plan, Messages: []chat.Message{chat.UserMessage("sum")}})
	l := read(t, nil, s)
	require.Nil(t, l.Pending)
	require.Equal(t, plan, l.End.Plan)
}

func TestAnotherCompactionEndsWhateverIsPending(t *testing.T) {
	s := numbered.Session()
	add(t, s, entry.Message{Message: chat.UserMessage("x")}, entry.Plan{Policy: "x"})
	l := read(t, nil, s)
	add(t, s, entry.Compaction{Messages: []chat.Message{chat.UserMessage("sum")}})
	l = read(t, l, s)
	require.Nil(t, l.Pending)
	require.Empty(t, l.End)
}

func TestTheLastRequestIsRememberedUntilTheModelOrTheHistoryChanges(t *testing.T) {
	s := numbered.Session()
	sent := entry.Usage{Model: "a", Usage: chat.Usage{Input: 150}, Counted: 100, Sent: sizing.Sent{Marks: []sizing.RequestMark{{Digest: "d"}}}}
	called := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "run"}}}
	result := add(t, s, entry.Message{Message: chat.UserMessage("x")}, entry.Message{Message: called}, entry.Message{Message: chat.ToolResult("c", "fine")})
	add(t, s, sent, entry.Usage{Model: "a", Usage: chat.Usage{Input: 160}, Counted: 100})
	l := read(t, nil, s)
	require.Equal(t, sent.Sent, l.Last.Sent, "a request without marks does not replace it")
	require.Equal(t, []int{150, 160}, l.Inputs)
	require.False(t, l.Cleared)
	add(t, s, entry.Clearing{Results: []entry.Cleared{{Entry: result, Text: "[gone]"}}})
	l = read(t, l, s)
	require.True(t, l.Cleared)
	require.InDelta(t, 1, l.Ratio("a"), 1e-9)
	require.InDelta(t, 1.5, l.LastRatio("a"), 1e-9, "a clearing does not change the provider's count")
	require.InDelta(t, 1, l.LastRatio("b"), 1e-9)
	add(t, s, sent)
	other := read(t, l, s)
	require.False(t, other.Cleared)
	require.Equal(t, []int{150, 160}, l.Inputs, "an extended ledger does not change")
	add(t, s, entry.ModelChange{Model: "b"})
	l = read(t, other, s)
	require.Empty(t, l.Last)
	require.Equal(t, []int{150, 160, 150}, l.Inputs)
	add(t, s, entry.Compaction{Messages: []chat.Message{chat.UserMessage("sum")}})
	require.Empty(t, read(t, l, s).Inputs)
}

func TestTheRatioIsThatOfTheNewestReport(t *testing.T) {
	s := numbered.Session()
	add(t, s, entry.Usage{Model: "a", Usage: chat.Usage{Input: 150}, Counted: 100})
	l := read(t, nil, s)
	require.Equal(t, 1.5, l.Ratio("a"))
	require.Equal(t, 1.5, l.Ratio(""))
	require.Equal(t, 1.0, l.Ratio("b"), "there is no report of another model")
	add(t, s, entry.Usage{Model: "a", Usage: chat.Usage{Input: 1000}, Counted: 100})
	l = read(t, l, s)
	require.Equal(t, 4.0, l.Ratio("a"), "a ratio is at most 4")
	add(t, s, entry.ModelChange{Model: "a"})
	require.Equal(t, 1.0, read(t, l, s).Ratio("a"), "a change of model discards the report")
}

func TestAnswersForPartsCountUntilTheNextCompaction(t *testing.T) {
	s := numbered.Session()
	half := entry.SummaryAnswer{To: "e1", Text: "Half."}
	plan := add(t, s, entry.Message{Message: chat.UserMessage("x")}, entry.Plan{Instructions: "Briefly."})
	add(t, s, entry.PlanEnd{Plan: plan, Outcome: entry.PlanRetried, Finished: []entry.SummaryAnswer{half}})
	add(t, s, entry.PlanEnd{Plan: plan, Outcome: entry.PlanFailed})
	l := read(t, nil, s)
	require.Equal(t, []entry.SummaryAnswer{half}, l.Parts("Briefly."))
	require.Empty(t, l.Parts(""), "they follow other instructions")
	add(t, s, entry.Compaction{Messages: []chat.Message{chat.UserMessage("sum")}})
	l = read(t, l, s)
	require.Empty(t, l.Parts("Briefly."))
}

func TestALedgerDoesNotChangeTheSession(t *testing.T) {
	s := numbered.Session()
	add(t, s, entry.Message{Message: chat.UserMessage("x")}, entry.Preamble{Digest: "old"})
	compaction := add(t, s, entry.Compaction{Messages: []chat.Message{chat.UserMessage("sum")}})
	add(t, s, entry.Preamble{Digest: "new"})
	l := read(t, nil, s)
	require.Equal(t, "e4", l.Preambles["new"].ID)
	require.NoError(t, s.Branch(t.Context(), compaction))
	l = read(t, l, s)
	require.Empty(t, l.Preambles["new"].ID, "the entry is on another branch")
	require.Equal(t, "e2", l.Preambles["old"].ID)
}

func TestAPlanThatEndedOnAnotherBranchIsNotPendingOnItsOwn(t *testing.T) {
	for _, end := range []func(plan string) entry.Body{
		func(plan string) entry.Body { return entry.PlanEnd{Plan: plan, Outcome: entry.PlanDropped} },
		func(plan string) entry.Body { // undone
			return entry.Compaction{Plan: plan, Messages: []chat.Message{chat.UserMessage("sum")}}
		},
	} {
		s := numbered.Session()
		first := add(t, s, entry.Message{Message: chat.UserMessage("x")})
		plan := add(t, s, entry.Plan{Policy: "x"})
		add(t, s, entry.PlanEnd{Outcome: entry.PlanFailed, Error: "of no plan"}, end(plan))
		require.NoError(t, s.Branch(t.Context(), first))
		require.NoError(t, s.Branch(t.Context(), plan))
		for _, known := range []*journal.Ledger{nil, {}} {
			l := read(t, known, s)
			require.Nil(t, l.Pending)
			require.Equal(t, entry.PlanDropped, l.End.Outcome)
			require.Empty(t, l.Models, "what failed there is not of this branch")
		}
	}
}

func TestAPlanIsPendingWhileItIsRetried(t *testing.T) {
	s := numbered.Session()
	plan := add(t, s, entry.Plan{Policy: "x"})
	half := entry.SummaryAnswer{To: "e1", Text: "Half."}
	add(t, s, entry.PlanEnd{
		Plan: plan, Outcome: entry.PlanRetried, ErrorType: "cancelled",
		Finished: []entry.SummaryAnswer{half},
	})
	l := read(t, nil, s)
	require.Equal(t, plan, l.Pending.ID)
	require.Empty(t, l.End)
	require.Equal(t, []entry.SummaryAnswer{half}, l.Parts(""))
}

func TestTheNewestAnswerIsTimedUntilACompactionOrAnotherModel(t *testing.T) {
	s := numbered.Session()
	add(t, s, entry.Message{Message: chat.UserMessage("x")})
	require.Zero(t, read(t, nil, s).Answered)
	add(t, s, answers(2)...)
	l := read(t, nil, s)
	require.False(t, l.Answered.IsZero())
	add(t, s, entry.ModelChange{Model: "b"})
	require.Zero(t, read(t, l, s).Answered)
	add(t, s, answers(1)...)
	add(t, s, entry.Compaction{Messages: []chat.Message{chat.UserMessage("sum")}})
	require.Zero(t, read(t, l, s).Answered)
}

package replay

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/frugal"
)

func opened(t testing.TB, path string) *Session {
	t.Helper()
	return &Session{Recording: sessiontest.Read(t, path)}
}

func counter(t testing.TB) chat.Tokenizer {
	t.Helper()
	return tiktoken.O200k()
}

// Tokens of messages.
const (
	instructions = 10 // 3, the role, and 6 of text
	word         = 5  // a message of one word
	standIn      = 13 // "<summary>", "so far", "</summary>" on lines of their own
)

func TestASessionThatFitsIsMeasured(t *testing.T) {
	result, err := Run(t.Context(), opened(t, sessiontest.Written(t, "s.jsonl", sessiontest.Talk...)), copilotchat.Policy(), Options{ContextWindow: 1003})
	require.NoError(t, err)
	want := &Result{
		Policy: "copilot-chat", ContextWindow: 1003, Budget: 1000, RequestsIn: 3,
		Requests: Requests{
			Number: 3, Tokens: 3*instructions + (1+3+5)*word, Largest: instructions + 5*word,
			Cached: 2*instructions + (1+3)*word, // each request after the first begins with the one before
		},
		Compactions: []RunCompaction{}, Events: map[event.Kind]int{},
	}
	require.Empty(t, cmp.Diff(want, result))
}

func TestARecordedCompactionIsMeasured(t *testing.T) {
	lines := append(sessiontest.Talk[:5:5],
		`{"type":"compaction","id":"6","parentId":"5","summary":"so far","firstKeptEntryId":"4","tokensBefore":900}`,
		`{"type":"message","id":"7","parentId":"6","message":{"role":"user","content":"five"}}`,
		`{"type":"message","id":"8","parentId":"7","message":{"role":"assistant","content":[{"type":"text","text":"six"}]}}`,
	)
	s := opened(t, sessiontest.Written(t, "s.jsonl", lines...))
	result, err := s.Recorded(t.Context(), Options{ContextWindow: 23}) // the window does not limit it
	require.NoError(t, err)
	last := instructions + standIn + 3*word // three, four, five
	want := &Result{
		Policy: "recorded", ContextWindow: 23, Budget: 20, RequestsIn: 3,
		Requests: Requests{
			Number: 3, Tokens: 2*instructions + (1+3)*word + last, Largest: last,
			Cached: 2*instructions + word, // after the compaction only the instructions
		},
		Compactions: []RunCompaction{{
			Request: 3, Line: 8, TokensBefore: 900, TokensAfter: last, StandIn: standIn, Covered: 2, Kept: 2, KeptTokens: 2 * word,
		}},
	}
	require.Empty(t, cmp.Diff(want, result))
}

func TestTheWindowOfASessionIsThatOfItsModelUnlessARequestWasLarger(t *testing.T) {
	for _, tt := range []struct {
		model           string
		largest, window int
		known           bool
	}{
		{"claude-opus-4-5", 150_000, 200_000, true},
		{"anthropic/claude-opus-4.5", 0, 200_000, true},
		{"claude-opus-4-5", 210_000, 1_000_000, false},
		{"gpt-4.1", 0, 1_047_576, true},
		{"gemini-3-pro-preview", 0, 1_048_576, true},
		{"claude-opus-5-5", 0, 1_000_000, true},
		{"gpt-6.9", 0, 1_050_000, false}, // guessed
		{"a model of my own", 100_000, 128_000, false},
		{"", 2_000_000, 2_000_000, false},
	} {
		window, known := windowOf(nil, tt.model, tt.largest)
		require.Equal(t, tt.window, window, tt.model)
		require.Equal(t, tt.known, known, tt.model)
	}
}

// So the steps, the line, the tables and the page have one account.
func TestTheCostsOfAllRequestsAddUpToTheBill(t *testing.T) {
	t.Parallel()
	s := opened(t, "../../history/importer/testdata/generated.jsonl")
	var err error
	s.Prices, err = modelinfo.Prices("claude-opus-4-5")
	require.NoError(t, err)
	for i := range s.Recording.Records {
		s.Recording.Records[i].Line = 1 // as of a document of one line
	}
	requests, lookBacks, restarts, missed, tokens := 0.0, 0.0, 0.0, 0, 0
	result, err := Run(t.Context(), s, frugal.Policy(), Options{ContextWindow: 64_000, Step: func(_ context.Context, step Step) error {
		if step.Rendered == nil {
			return nil
		}
		requests += step.Cost.Dollars
		lookBacks += step.Cost.LookBack
		if !step.Cost.Lost.Expired {
			restarts += step.Cost.Lost.Dollars
		}
		missed += len(step.Cost.Missed)
		tokens += step.Rendered.Tokens + step.Fixed
		if step.Response.Usage.Input > 0 {
			require.InDelta(t, step.Rendered.Tokens+step.Fixed, step.Response.Usage.Input, 20)
		}
		return nil
	}})
	require.NoError(t, err)
	require.NotEmpty(t, result.Compactions)
	require.InDelta(t, result.Bill.Kept-result.Bill.Summaries, requests, 1e-9)
	require.Positive(t, restarts)
	require.Empty(t, s.known.biller.check.Failed, "each request is priced by its own outcome")
	require.InDelta(t, result.Recall.Dollars, lookBacks, 1e-9)
	require.Equal(t, result.Recall.OneLookUp+result.Recall.Further+result.Recall.NotInLog, missed)
	require.InEpsilon(t, result.Requests.Tokens, tokens, 0.001)
	for _, c := range result.Compactions {
		require.Regexp(t, `at \d+ of \d+ tokens, whatever is used; carrying has cost .*, the cost of compacting$`, c.Why, "the rule with its numbers")
	}
}

package anthropic_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/replaytest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/anthropic"
)

// The requests of a compactor break no rule, and the thinking in them is as Claude wrote it.
func TestReplayedRequestsNeedNoRepair(t *testing.T) {
	given := &server{thought: map[string]string{}}
	replaytest.Replay{
		Root: "../..", As: given.said,
		Check: func(t *testing.T, r replaytest.Request) {
			require.NoError(t, anthropic.Validate(r.Request), "line %d", r.Line)
			if r.Close {
				_, changes := anthropic.Repair(r.Request)
				require.Empty(t, changes, "line %d", r.Line)
				require.NoError(t, given.remembers(judged(t, r)), "line %d", r.Line)
			}
		},
	}.Run(t)
}

// FuzzReplay does the same with random sessions at random budgets. Only this may be repaired there: arguments that were
// cut off, outputs that are not UTF-8, thinking in an answer after another answer, and, in a history that is summarised
// in parts, a part that begins with an answer.
func FuzzReplay(f *testing.F) {
	extremes.FuzzSeeds(f, 40, func(t *testing.T, seed uint64) {
		given := &server{thought: map[string]string{}}
		replaytest.Random(t, seed, given.said, func(t *testing.T, r replaytest.Request) {
			repaired, changes := anthropic.Repair(r.Request)
			for _, c := range changes {
				require.Contains(t, []chat.Rule{provider.RuleArguments, provider.RuleUTF8, provider.RuleThinkingMerged, provider.RuleFirst}, c.Rule, c)
			}
			r.Request = repaired
			judged(t, r)
		})
	})
}

// said returns a message as this server would have written it.
func (s *server) said(_ int, m chat.Message) chat.Message {
	m.Content = slices.Clone(m.Content)
	var blocks []block
	for i, p := range m.Content {
		if t, is := p.(chat.Thinking); is && t.Signature != "" {
			t.Signature = sign(t.Text)
			m.Content[i] = t
			blocks = append(blocks, think(t.Text))
		}
	}
	if len(m.ToolCalls) > 0 {
		s.thought[m.ToolCalls[0].ID] = thoughtOf(blocks)
	}
	return m
}

// judged checks a request by the server's rules, and returns it as the server reads it.
func judged(t *testing.T, r replaytest.Request) request {
	t.Helper()
	r.MaxTokens = 1000
	params, err := anthropic.Request(r.Request)
	require.NoError(t, err, "line %d", r.Line)
	params.Model = "claude-test"
	sent := sure.Decode[request](t, sure.JSON(t, params))
	require.NoError(t, judge(sent), "line %d", r.Line)
	return sent
}

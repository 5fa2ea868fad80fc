package anthropic_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/replaytest"
	"github.com/promptree-go/promptree/render/anthropic"
)

// What a compactor sends of a conversation with Claude breaks no rule and needs no mending, and the thinking in it is as
// Claude gave it.
func TestReplay(t *testing.T) {
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

// FuzzReplay does the same with random sessions at random windows. In those arguments are cut off at times,
// outputs hold bytes that are no UTF-8, and an answer follows another one and thinks, none of which the API takes; and a
// history that is summarised in pieces has pieces that begin with the model's words. Nothing else is to be mended.
func FuzzReplay(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		given := &server{thought: map[string]string{}}
		replaytest.Random(t, seed, given.said, func(t *testing.T, r replaytest.Request) {
			mended, changes := anthropic.Repair(r.Request)
			for _, c := range changes {
				require.Contains(t, []chat.Rule{anthropic.RuleArguments, anthropic.RuleUTF8, anthropic.RuleThinkingMerged, anthropic.RuleFirst}, c.Rule, c)
			}
			r.Request = mended
			judged(t, r)
		})
	})
}

// said returns a message as this server would have said it.
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

// judged has the server's judge look at a request, and gives it as it came.
func judged(t *testing.T, r replaytest.Request) request {
	t.Helper()
	r.MaxTokens = 1000
	params, err := anthropic.Request(r.Request)
	require.NoError(t, err, "line %d", r.Line)
	params.Model = "claude-test"
	raw, err := json.Marshal(params)
	require.NoError(t, err)
	var sent request
	require.NoError(t, json.Unmarshal(raw, &sent))
	require.NoError(t, judge(sent), "line %d", r.Line)
	return sent
}

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
		Root: "../..",
		As: func(_ int, m chat.Message) chat.Message {
			m.Content = slices.Clone(m.Content)
			var blocks []block
			for i, p := range m.Content {
				if t, is := p.(chat.Thinking); is && t.Signature != "" {
					t.Signature = sign(t.Text) // as this server signs
					m.Content[i] = t
					blocks = append(blocks, think(t.Text))
				}
			}
			if len(m.ToolCalls) > 0 {
				given.thought[m.ToolCalls[0].ID] = thoughtOf(blocks)
			}
			return m
		},
		Check: func(t *testing.T, r replaytest.Request) {
			r.MaxTokens = 1000
			require.NoError(t, anthropic.Validate(r.Request), "line %d", r.Line)
			if !r.Close {
				return
			}
			_, changes := anthropic.Repair(r.Request)
			require.Empty(t, changes, "line %d", r.Line)
			params, err := anthropic.Request(r.Request)
			require.NoError(t, err, "line %d", r.Line)
			params.Model = "claude-test"
			raw, err := json.Marshal(params)
			require.NoError(t, err)
			var sent request
			require.NoError(t, json.Unmarshal(raw, &sent))
			require.NoError(t, judge(sent), "line %d", r.Line)
			require.NoError(t, given.remembers(sent), "line %d", r.Line)
		},
	}.Run(t)
}

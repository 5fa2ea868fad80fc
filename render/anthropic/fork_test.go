package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/forktest"
	"github.com/promptree-go/promptree/render/anthropic"
)

// The request for the summary begins with the agent's request: the tools, the tool choice, the thinking, the system
// prompt and every block before the last are the same.
func TestASummaryAtTheEndOfARequestKeepsItsCachedPrefix(t *testing.T) {
	for _, thinking := range []anthropic.Thinking{{}, {Adaptive: true}, {Budget: 1024}} {
		t.Run(fmt.Sprintf("%+v", thinking), func(t *testing.T) {
			counted := 0
			s := newServer(t, func(_ int, r request) answer {
				lastTurn := r.Messages[len(r.Messages)-1]
				if said, _ := lastTurn.Content[len(lastTurn.Content)-1]["text"].(string); strings.Contains(said, forktest.Ask) {
					a := say(think("All of it."), text("<summary>\nThe files were counted.\n</summary>"))
					a.usage = map[string]any{"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 20}
					return a
				}
				if counted++; counted > 12 {
					return say(text("There are 42."))
				}
				return say(think(fmt.Sprint("round ", counted)), call(fmt.Sprint("a", counted), "count", block{"glob": "*.go"}), call(fmt.Sprint("b", counted), "count", block{"glob": "*.md"}))
			})
			model := &anthropic.Model{Client: s.client(), Name: "claude-test", Thinking: thinking}
			done := forktest.Agent{Model: model, Tokenizer: quarter{}, Tools: counting, Budget: 1500}.Run(t)
			layout := forktest.Layout{Turns: "messages", Parts: "content", Free: []string{"max_tokens", "temperature", "stream"}}
			require.Equal(t, len(done), layout.Check(t, s.bodies))
			for _, e := range done {
				require.Equal(t, 1000, e.Usage.Input)
				require.Equal(t, 900, e.Usage.CacheRead, "an event says what the cache served")
			}
		})
	}
}

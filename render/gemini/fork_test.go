package gemini_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/forktest"
	"github.com/promptree-go/promptree/render/gemini"
)

// The request for the summary begins with the agent's request, with its tools and its tool choice.
func TestASummaryAtTheEndOfARequestKeepsItsCachedPrefix(t *testing.T) {
	counted := 0
	a := newAPI(t, func(request object) []string {
		if strings.Contains(fmt.Sprint(request["contents"]), forktest.Ask) {
			return []string{piece("STOP", `{"text":"<summary>\nThe files were counted.\n</summary>"}`)}
		}
		if counted++; counted > 30 {
			return []string{piece("STOP", `{"text":"There are 42.","thoughtSignature":"c2ln"}`)}
		}
		return []string{piece("STOP", fmt.Sprintf(`{"functionCall":{"id":"a%d","name":"look","args":{"at":"place"}},"thoughtSignature":"c2ln%04d"}`, counted, counted),
			fmt.Sprintf(`{"functionCall":{"id":"b%d","name":"look","args":{"at":"elsewhere"}}}`, counted))}
	})
	done := forktest.Agent{Model: a.model(t), Tokenizer: gemini.Tokenizer{}, Tools: []chat.Tool{lookTool}, Budget: 2000}.Run(t)
	layout := forktest.Layout{
		Turns: "contents", Parts: "parts", Free: []string{"generationConfig.maxOutputTokens", "generationConfig.temperature"},
	}
	require.Equal(t, len(done), layout.Check(t, a.bodies))
	require.Empty(t, a.refused)
	for _, e := range done {
		require.Equal(t, 120, e.Usage.Input)
		require.Equal(t, 80, e.Usage.CacheRead, "an event says what the cache served")
	}
}

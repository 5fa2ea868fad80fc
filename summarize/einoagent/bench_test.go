package einoagent_test

import (
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/history"
)

// BenchmarkRequest measures a run of 500 requests, none of them compacted, with the middleware and without.
func BenchmarkRequest(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("middleware=%v", with), func(b *testing.B) {
			for b.Loop() {
				c := compactorOn(b, &history.Session{})
				c.Target.Budget = 10_000_000
				a := agentOf(b, c, rounds(500), readTool(b, nil))
				if !with {
					a = agentFrom(b, &adk.ChatModelAgentConfig{Name: "coder", Model: rounds(500)}, readTool(b, nil))
				}
				if got := run(b, a, false, schema.UserMessage(question)); got.err != nil {
					b.Fatal(got.err)
				}
			}
		})
	}
}

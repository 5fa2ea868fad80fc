package einoagent_test

import (
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
)

// A request and its round of tools, in a conversation of many messages.
func BenchmarkRequest(b *testing.B) {
	for _, with := range []bool{false, true} {
		for _, n := range []int{500, 5000} {
			b.Run(fmt.Sprintf("promptree=%v/messages=%d", with, n), func(b *testing.B) {
				compactor := compacttest.Offline(b, &history.Session{})
				compactor.Target.Budget = 10_000_000
				var handlers []adk.ChatModelAgentMiddleware
				if with {
					handlers = append(handlers, middlewareOn(b, compactor))
				}
				m := &scripted{answer: compacttest.Reading[request](func(i int) bool {
					switch {
					case i == 1:
						b.ResetTimer()
					case i > b.N:
						b.StopTimer()
					}
					return i > b.N
				}, reads, says)}
				config := &adk.ChatModelAgentConfig{Name: "a", Model: m, Handlers: handlers}
				a := agentFrom(b, config, readTool(b, nil))
				var input []*schema.Message
				for i := range n / 2 {
					input = append(input, schema.UserMessage(compacttest.FileContent(fmt.Sprintf("u%d", i))), says(compacttest.FileContent(fmt.Sprintf("a%d", i))))
				}
				require.NoError(b, run(b, a, false, append(input, schema.UserMessage(question))...).err)
			})
		}
	}
}

package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/forktest"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// The request for the summary begins with the agent's request, with its tools and its tool choice, in both APIs.
func TestASummaryAtTheEndOfARequestKeepsItsCachedPrefix(t *testing.T) {
	tokenizer, err := tiktoken.ForModel("gpt-5-mini")
	require.NoError(t, err)
	layouts := map[openai.API]forktest.Layout{
		openai.Responses:       {Turns: "input", Free: []string{"max_output_tokens", "temperature", "stream"}},
		openai.ChatCompletions: {Turns: "messages", Free: []string{"max_tokens", "max_completion_tokens", "temperature", "stream", "stream_options"}},
	}
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			counted := 0
			s := newServer(t, func(_ openai.API, request gjson.Result) reply {
				if strings.Contains(request.Raw, forktest.Ask) {
					return reply{items: []item{message("msg_s", "<summary>\nThe files were counted.\n</summary>")}, usage: usage{in: 1000, cached: 900, out: 20}}
				}
				if counted++; counted > 12 {
					return reply{items: []item{message(fmt.Sprint("msg", counted), "There are 42.")}, usage: usage{in: 100, out: 10}}
				}
				return reply{items: []item{
					reasoning(fmt.Sprint("rs_", counted), "", "gAAA"), call(fmt.Sprint("fc_a", counted), fmt.Sprint("a", counted), "count", `{"z":"*.go"}`),
					call(fmt.Sprint("fc_b", counted), fmt.Sprint("b", counted), "count", `{"z":"*.md"}`),
				}, usage: usage{in: 100, out: 10}}
			})
			done := forktest.Agent{
				Model: s.model(api, "gpt-5-mini"), Tokenizer: openai.Counter(api, tokenizer), Tools: []chat.Tool{countTool}, Budget: 3000,
			}.Run(t)
			bodies := make([]string, len(s.requests))
			for i, r := range s.requests {
				bodies[i] = r.Raw
			}
			require.Equal(t, len(done), layouts[api].Check(t, bodies))
			for _, e := range done {
				require.Equal(t, 1000, e.Usage.Input)
				require.Equal(t, 900, e.Usage.CacheRead, "an event says what the cache served")
			}
		})
	}
}

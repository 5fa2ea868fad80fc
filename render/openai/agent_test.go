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
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/policy"
)

// The agent makes calls, some in parallel and some that fail, with reasoning, and is compacted by the same model. The
// server refuses requests that break a rule or are larger than its context window.
func TestAnAgentThatIsCompactedRunsToItsEnd(t *testing.T) {
	const rounds = 40
	for name, api := range apis {
		for _, streamed := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " streamed"}[streamed], func(t *testing.T) {
				tokenizer, err := tiktoken.ForModel("gpt-5-mini")
				require.NoError(t, err)
				window := sizing.Window{Tokens: 3000, Answer: tiktoken.ReplyPriming}
				tools := []chat.Tool{countTool}
				budget, err := window.Budget(tokenizer.CountTools(tools))
				require.NoError(t, err)

				asked, summaries := 0, 0
				s := newServer(t, func(api openai.API, request gjson.Result) reply {
					list := request.Get("messages").Raw + request.Get("input").Raw
					if n := tokenizer.CountText(list) * 2 / 3; n > window.Tokens { // JSON around the texts is not the model's
						return reply{status: 400, body: errorBody(fmt.Sprintf(
							"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", window.Tokens, n),
							"invalid_request_error", "context_length_exceeded")}
					}
					if request.Get("tool_choice").String() == "none" {
						summaries++
						return reply{items: []item{reasoning(fmt.Sprint("rs_s", summaries), "", "gSUM"),
							message(fmt.Sprint("msg_s", summaries), fmt.Sprintf("<analysis>All of it.</analysis>\n<summary>%d rounds were made.</summary>", asked))}}
					}
					asked++
					id := func(kind string) string { return fmt.Sprint(kind, "_", asked) }
					thought := reasoning(id("rs"), "", "gAAA"+strings.Repeat("x", 40))
					if asked == rounds {
						return reply{items: []item{thought, message(id("msg"), "There are 42 files.")}, usage: usage{in: 100, out: 10}}
					}
					items := []item{thought, call(id("fc"), id("c"), "count", `{"z":"*.go"}`)}
					if asked%3 == 0 {
						items = append(items, call(id("fc_b"), id("c_b"), "count", `{"z":"*.md"}`))
					}
					if asked%4 == 0 {
						items = append(items, reasoning(id("rs_b"), "", "gBBB"), call(id("fc_c"), id("c_c"), "count", `{"z":"*"}`))
					}
					return reply{items: items, usage: usage{in: 100, out: 10}}
				})
				model := s.model(api, "gpt-5-mini")
				model.OnRepair = func(changes []chat.Repair) { t.Errorf("repaired: %v", changes) }
				done, answer := forktest.Agent{
					Model: model, Tokenizer: openai.Counter(api, openai.Options{}, tokenizer), Budget: budget, Tools: tools,
				}.RunUnder(t, policy.Policy{}, streamed)
				require.Equal(t, "There are 42 files.", answer)
				require.Equal(t, rounds, asked)
				require.GreaterOrEqual(t, len(done), 3)
				require.GreaterOrEqual(t, summaries, len(done), "a large history is summarised in parts")
			})
		}
	}
}

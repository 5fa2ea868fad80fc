package summarize_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// needed is a tool that must stay, and offered one that may be pruned.
var (
	needed  = chat.Tool{Name: "read_transcript", Description: words(40)}
	offered = chat.Tool{Name: "browse", Description: words(60)}
)

// toolsAt returns tools as elements, with a priority if it is not nil.
func toolsAt(priority *int, tools ...chat.Tool) elements.Node {
	return el.Each(tools, func(t chat.Tool) elements.Node {
		return elements.Tool{Props: elements.Props{Priority: priority}, Tool: t}
	})
}

func TestToolsInThePromptCountLikeThoseOfTheTarget(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		p.Counting.Threshold = 0 // with tools in the prompt, a tenth of it is kept free
		var before policy.Measurement
		var requests []chat.Request
		var sent []chat.Message
		for _, inPrompt := range []bool{false, true} {
			d := newFixture(t, overflowing()...)
			d.Policy = p
			d.Policy.Trigger = policy.Trigger{{Ratio: 0.5}, {On: policy.OnBudgetExceeded}}
			d.Target.ContextWindow = 4_000 + d.Target.Tokenizer.CountTools([]chat.Tool{needed})
			var tree elements.Node = prompt(d.Session)
			if inPrompt {
				tree = elements.Nodes{toolsAt(nil, needed), tree}
				d.Target.Budget = d.Target.ContextWindow
			} else {
				d.Target.Tools = []chat.Tool{needed}
			}
			d.Always(models.SaySummary("Steps 1 to 5 of the build are done."))
			r := d.Rendered(tree)
			m := d.Explain(t.Context()).Measurement
			if !inPrompt {
				before, requests, sent = m, d.Requests(), r.Messages
				require.NotEmpty(t, requests)
				continue
			}
			require.Equal(t, []chat.Tool{needed}, r.Tools)
			require.Equal(t, []any{before.Count, before.Tools, before.Used, before.Base}, []any{m.Count, m.Tools, m.Used, m.Base})
			require.Equal(t, before.Budget+m.Tools, m.Budget, "the tokens of the tools are part of the budget")
			require.Equal(t, requests[0].Tools, d.Requests()[0].Tools)
			require.Len(t, r.Messages, len(sent))
		}
	})
}

func TestToolsOfferedToPruningTriggerNothing(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	tree := elements.Nodes{toolsAt(nil, needed), toolsAt(new(1), offered), prompt(d.Session)}
	r := d.Rendered(tree)
	require.Equal(t, []chat.Tool{needed, offered}, r.Tools)
	m := d.Explain(t.Context()).Measurement
	require.Equal(t, d.Target.Tokenizer.CountTools([]chat.Tool{needed}), m.Tools)
	require.Equal(t, count(d.Target.Tokenizer, r.Messages), m.Count, "messages only")
	require.Equal(t, m.Count+m.Tools, m.Used)

	d.Target.Budget = m.Used + 10
	r = d.Rendered(tree)
	require.Equal(t, []chat.Tool{needed}, r.Tools)
	require.Empty(t, d.Requests())
}

func TestToolsOfThePromptAndOfTheTargetAreBothCounted(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Tools, d.Target.Prices = []chat.Tool{needed}, cached
	r := d.Rendered(elements.Nodes{toolsAt(nil, offered), prompt(d.Session)})
	require.Equal(t, []chat.Tool{offered}, r.Tools)
	m := d.Explain(t.Context()).Measurement
	one := d.Target.Tokenizer.CountTools([]chat.Tool{needed})
	require.Equal(t, one+d.Target.Tokenizer.CountTools([]chat.Tool{offered}), m.Tools)
	require.Equal(t, count(d.Target.Tokenizer, r.Messages), m.Count, "messages only")
	require.Equal(t, m.Tools, d.Breakdown(t.Context()).Tools)
	u := d.Usage(r, chat.Response{Usage: chat.Usage{Input: 77, Output: 5}}, "e9")
	require.Equal(t, r.Tokens+one, u.Counted)
	require.Equal(t, sizing.ChangeNone, u.Sent.Compare(r.Messages, []chat.Tool{needed, offered}).Change)
}

func TestUsageCountsTheToolsThatWereSent(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Prices = cached
	r := d.Rendered(elements.Nodes{toolsAt(nil, needed), prompt(d.Session)})
	u := d.Usage(r, chat.Response{Usage: chat.Usage{Input: 77, Output: 5}}, "e9")
	require.Equal(t, r.Tokens, u.Counted)
	require.Equal(t, sizing.ChangeNone, u.Sent.Compare(r.Messages, r.Tools).Change)
	require.Equal(t, sizing.ChangeTools, u.Sent.Compare(r.Messages, nil).Change)
}

func TestTruncationKeepsTheToolsThatAreNeeded(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Policy.Trigger, d.Policy.Overflow.LastResort = nil, policy.ResortTruncate
	r := d.Rendered(elements.Nodes{toolsAt(nil, needed), toolsAt(new(1), offered), prompt(d.Session)})
	require.Equal(t, []chat.Tool{needed}, r.Tools)
	require.Equal(t, count(d.Target.Tokenizer, r.Messages)+d.Target.Tokenizer.CountTools(r.Tools), r.Tokens)
	require.LessOrEqual(t, r.Tokens, d.Target.Budget)
}

func TestToolsInThePromptKeepATenthOfTheThreshold(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Policy.Counting.Threshold = 2_000
	d.Rendered(prompt(d.Session))
	require.Equal(t, 2_000, d.Explain(t.Context()).Measurement.Budget)
	d.Rendered(elements.Nodes{toolsAt(new(1), offered), prompt(d.Session)})
	require.Equal(t, 1_800, d.Explain(t.Context()).Measurement.Budget)
}

package adkagent_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize/adkagent"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// tally adds up the tokens that a model is sent.
type tally struct {
	largest, input, over int
	questions            int // of the user in the last request
}

func (c *tally) add(tokens, budget int) {
	c.largest, c.input = max(c.largest, tokens), c.input+tokens
	if tokens > budget {
		c.over++
	}
}

// counting is a model for summaries that adds its requests to a tally.
type counting struct {
	chat.Model
	tally *tally
}

func (c counting) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	c.tally.input += compacttest.Count(tokenizer, req.Messages)
	return c.Model.Generate(ctx, req)
}

// The run is synthetic. The table in the package comment is from this test's log.
func TestEveryPolicySendsLessThanNoCompaction(t *testing.T) {
	if testing.Short() {
		t.Skip("eight runs of 72 requests")
	}
	const turns, roundsEach, budget = 12, 5, 10_000
	play := func(t *testing.T, config llmagent.Config, policy *policy.Policy) tally {
		var c tally
		m := &scripted{}
		m.answer = func(n int, r request) (*model.LLMResponse, error) {
			ours, err := adkagent.FromADK(r.contents)
			require.NoError(t, err)
			c.add(compacttest.Count(tokenizer, append(ours, chat.SystemMessage(r.instruction))), budget)
			c.questions = 0
			text := compacttest.Text(ours)
			for i := range turns {
				if strings.Contains(text, fmt.Sprintf("wish %d.", i)) {
					c.questions++
				}
			}
			if n%(roundsEach+1) == roundsEach {
				return says("done"), nil
			}
			return reads(fmt.Sprintf("f%d.go", n)), nil
		}
		config.Model, config.Tools = m, []tool.Tool{readTool(t, nil)}
		var plugins []*plugin.Plugin
		if policy != nil {
			compactor := compactorOn(t, &history.Session{})
			compactor.Policy, compactor.Target.Budget = *policy, budget
			compactor.Target.Model = counting{models.Offline{Tokenizer: tokenizer}, &c}
			plugins = append(plugins, pluginOn(t, compactor))
			defer compactor.Close()
		}
		r := runnerOf(t, session.InMemoryService(), agentFrom(t, config), plugins...)
		for i := range turns {
			require.NoError(t, run(t, r, false, fmt.Sprintf("This is wish %d.", i)).err)
		}
		return c
	}
	show := func(name string, c tally) {
		t.Logf("%-24s %8d %12d %8d %8d", name, c.largest, c.input, c.over, c.questions)
	}
	whole := play(t, llmagent.Config{}, nil)
	show("adk, everything", whole)
	show("adk, current turn", play(t, llmagent.Config{IncludeContents: llmagent.IncludeContentsNone}, nil))
	all := policies.All()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		policy := all[name]
		c := play(t, llmagent.Config{}, &policy)
		show(name, c)
		require.Zero(t, c.over, name)
		require.Less(t, c.input, whole.input, name)
	}
}

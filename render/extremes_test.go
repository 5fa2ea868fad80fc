package render_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
)

// numbers are all numbers that a caller can set in a prompt.
type numbers struct {
	Budget, Window     int
	LowWater           float64
	History            int // a mode
	Priority, FlexGrow int
	FlexBasis          float64
	Reserve            elements.Reserve
	Limit, Opaque      int
	Rank               int // of a list
	Other              elements.Props
}

func (n numbers) tree() elements.Node {
	props := elements.Props{Priority: &n.Priority, FlexGrow: n.FlexGrow, FlexBasis: n.FlexBasis, FlexReserve: n.Reserve}
	return elements.Nodes{
		elements.UserMessage{Props: n.Other, Children: elements.Nodes{
			elements.TextChunk{Props: props, BreakOnWhitespace: true, Children: elements.Nodes{elements.Text("one two three four")}},
			elements.Opaque{Value: []byte(`{}`), Tokens: n.Opaque},
			elements.PrioritizedList{Props: elements.Props{Priority: &n.Rank}, Children: elements.Nodes{line("a"), line("b")}},
		}},
		elements.TokenLimit{Max: n.Limit, Children: elements.Nodes{userAt(2, chunk(1, "long"), chunk(2, "longer"))}},
		elements.Wrap{Props: props, Children: elements.Nodes{user(texter("filled")), user(elements.Expandable{Value: always(elements.Text("grown"))})}},
	}
}

func TestAPromptOfAnyNumbersFitsOrIsAnError(t *testing.T) {
	base := numbers{
		Budget: 60, Window: 100, LowWater: 0.5, Priority: 1, FlexGrow: 1, FlexBasis: 2, Reserve: elements.Reserve{Tokens: 1, Share: 0.5},
		Limit: 6, Opaque: 3, Other: elements.Props{FlexReserve: elements.Reserve{Tokens: 2}},
	}
	for _, tokenizer := range append(joiners(t), runes) {
		extremes.Each(base, func(field string, number any, n numbers) {
			what := fmt.Sprintf("%s %v", field, number)
			o := render.Options{Budget: n.Budget, Tokenizer: tokenizer, PromptBudget: n.Window, LowWater: n.LowWater, History: render.HistoryMode(n.History)}
			for _, o.Compatible = range []bool{false, true} {
				_, _ = render.Transfer(t.Context(), line("a"), o)
				layout, err := render.Lay(t.Context(), n.tree(), o)
				if err != nil {
					continue
				}
				for _, budget := range append(extremes.Ints, 60, 10, 1) {
					for _, unranked := range []bool{false, true} {
						r, err := layout.FitWith(t.Context(), render.FitOptions{Budget: budget, KeepUnranked: unranked})
						if err != nil {
							_, counting := errors.AsType[*render.TokenizerError](err)
							require.False(t, counting, "%s, budget %d: %v", what, budget, err)
							continue
						}
						require.GreaterOrEqual(t, r.Tokens, 0, "%s, budget %d", what, budget)
						require.LessOrEqual(t, r.Tokens, budget, "%s, budget %d", what, budget)
						sent := 0
						for _, m := range r.Messages {
							sent += tokenizer.CountMessage(m)
						}
						require.LessOrEqual(t, sent, budget, "%s, budget %d", what, budget)
						require.NotZero(t, r.Report())
					}
				}
			}
		})
	}
	require.Equal(t, []chat.Message{chat.UserMessage("a")}, rendered(t, user(line("a")), math.MaxInt).Messages)
}

package render_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
)

// fills returns the value of an expandable that takes all tokens that it is offered, by the count of its own text.
func fills(fill string) func(context.Context, elements.Sizing) (elements.Node, error) {
	return func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		text := ""
		for range 50 {
			if s.Tokenizer.CountText(text+fill) > s.TokenBudget {
				break
			}
			text += fill
		}
		if text == "" {
			return nil, nil
		}
		return elements.Text(text), nil
	}
}

func TestAnExpandableNeverCostsItsNeighbours(t *testing.T) {
	t.Parallel()
	words := []string{"the", "context", "if err != nil {", "}", "README.md", "/usr/local/bin", "naïve", "世界", "🙂", "don't", "3.14159", "x", "=>", "...", "\n", " ", "  "}
	for seed := range uint64(extremes.Cases(12)) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := func(words ...string) string {
			s := ""
			for range 1 + r.IntN(6) {
				s += words[r.IntN(len(words))] + []string{"", " "}[r.IntN(2)]
			}
			return s
		}
		tokenizer := joiners(t)[r.IntN(2)]
		var facts elements.Nodes
		for range 6 {
			facts = append(facts, line("fact"+text(words...)))
		}
		before, after, fill := elements.Text("fact"+text(words...)), elements.Text("fact"+text(words...)), text(words...)
		for name, around := range map[string]func(elements.Node) elements.Node{
			"in a chunk, last":   func(e elements.Node) elements.Node { return user(elements.Chunk{Children: append(facts[:6:6], e)}) },
			"last in a message":  func(e elements.Node) elements.Node { return user(append(facts[:6:6], e)...) },
			"first in a message": func(e elements.Node) elements.Node { return user(append(elements.Nodes{e}, facts...)...) },
			"between two texts":  func(e elements.Node) elements.Node { return user(before, e, after) },
			"in a tag, where it escapes": func(e elements.Node) elements.Node {
				return user(before, elements.Tag{Name: "t", Children: elements.Nodes{e, after}})
			},
			"between two messages": func(e elements.Node) elements.Node {
				return elements.Nodes{user(facts...), user(before, e), user(after)}
			},
			"with a lower priority": func(e elements.Node) elements.Node { return elements.Nodes{user(facts...), userAt(1, before, e)} },
			"two of them":           func(e elements.Node) elements.Node { return user(e, before, e, after) },
			"in a limit": func(e elements.Node) elements.Node {
				return user(before, elements.TokenLimit{Max: 40, Children: elements.Nodes{after, e}})
			},
		} {
			alone := renderedWith(t, around(nil), render.Options{Budget: plenty, Tokenizer: tokenizer})
			want := strings.Count(strings.Join(texts(alone.Messages), ""), "fact")
			for budget := alone.Tokens; budget < alone.Tokens+60; budget++ {
				result := renderedWith(t, around(elements.Expandable{Value: fills(fill)}), render.Options{Budget: budget, Tokenizer: tokenizer})
				require.Equal(t, want, strings.Count(strings.Join(texts(result.Messages), ""), "fact"), "seed %d, %s, budget %d: %q", seed, name, budget, texts(result.Messages))
			}
		}
	}
}

// What was rendered for a large budget gives way if the layout is fitted to a smaller one.
func TestAnExpandableShrinksBeforeAnythingIsPruned(t *testing.T) {
	root := user(chunk(1, "least important"), elements.Expandable{Props: at(5), Value: fills("e ")}, line("question"))
	layout := laid(t, root, render.Options{Budget: 100, Tokenizer: runes})
	for budget := 40; budget <= 100; budget++ {
		result := fitted(t, layout, budget)
		require.Contains(t, result.Messages[0].Text(), "least important")
		require.GreaterOrEqual(t, result.Tokens, budget-2)
	}
}

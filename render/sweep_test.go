package render_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// crowds makes prompts of thousands of texts that may go in any order.
type crowds struct {
	*rand.Rand
	blanks float64 // share of texts that are white space
	mixed  int     // one in so many stands beside elements that hold others, or is required
}

func (c *crowds) chunk() elements.Node {
	text := strings.Repeat("word ", 1+c.IntN(6))
	if c.Float64() < c.blanks {
		text = []string{" ", "\n\n", strings.Repeat("\t", 20)}[c.IntN(3)]
	}
	if c.IntN(c.mixed*20) == 0 {
		return elements.TextChunk{Props: must(3), Children: elements.Nodes{elements.Text(text)}}
	}
	return chunk(c.IntN(50), text)
}

func (c *crowds) flat(n int) (list elements.Nodes) {
	for range n {
		list = append(list, c.chunk())
	}
	return list
}

// wrapped is texts in wraps in wraps: some hold only white space.
func (c *crowds) wrapped(n, depth int) (list elements.Nodes) {
	blanks := c.blanks
	for n > 0 {
		few := min(n, 1+c.IntN(12))
		if depth > 0 {
			few = min(n, 10*(1+c.IntN(8)))
		}
		if c.blanks = blanks; c.IntN(5) == 0 {
			c.blanks = 1 - (1-blanks)*0.1
		}
		props := elements.Props{}
		if c.IntN(2) == 0 {
			props = at(c.IntN(50))
		}
		switch {
		case c.IntN(c.mixed) == 0:
			list = append(list, c.chunk())
			few = 1
		case c.IntN(c.mixed) == 0:
			list = append(list, wrap(must(3), c.chunk()))
			few = 1
		case depth > 0:
			list = append(list, wrap(props, c.wrapped(few, depth-1)...))
		default:
			list = append(list, wrap(props, c.flat(few)...))
		}
		n -= few
	}
	c.blanks = blanks
	return list
}

// crowd is many texts among which one choice is made.
func (c *crowds) crowd() elements.Node {
	n := 2100 + c.IntN(1000)
	switch c.IntN(5) {
	case 0:
		return elements.TokenLimit{Props: at(c.IntN(3)), Max: 1000 + c.IntN(10_000), Children: c.wrapped(n, 0)}
	case 1:
		return wrap(at(c.IntN(3)), c.flat(n)...)
	case 2:
		return elements.Tag{Props: at(c.IntN(3)), Name: "many", Children: c.flat(n)}
	default:
		return elements.LegacyPrioritization{Props: at(c.IntN(3)), Children: c.wrapped(n, c.IntN(3))}
	}
}

func (c *crowds) message() elements.Node {
	list := elements.Nodes{c.crowd()}
	switch c.IntN(4) {
	case 0:
		list = c.flat(2100)
	case 1:
		list = append(list, c.chunk(), elements.Image{Props: at(30), Source: "https://example.com/i.png"})
	}
	if c.IntN(2) == 0 {
		return elements.AssistantMessage{
			Props: at(c.IntN(3)), Children: list,
			ToolCalls: []elements.ToolCall{{ToolCall: chat.ToolCall{ID: "1", Name: "look", Arguments: "{}"}}},
		}
	}
	return elements.UserMessage{Props: at(c.IntN(3)), Children: list}
}

// Very many texts go as few do, one by one: with a tokenizer that cannot join nothing is taken out ahead.
func TestManyTextsGoOneByOne(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			c := crowds{rand.New(rand.NewPCG(seed, 3)), []float64{0, 0.02, 0.3, 0.9}[seed%4], []int{40, 1 << 50}[seed%2]}
			root := elements.Fragment{c.message(), c.message()}
			low := []float64{0, 0, 0, 0.5}[c.IntN(4)]
			requireOneByOne(t, root, low, 20, 2, 200, 5)
		})
	}
}

// Required white space stays, and so does what it stands in.
func TestManyTextsGoOneByOneBesideRequiredWhiteSpace(t *testing.T) {
	t.Parallel()
	list := shuffled(3000, 0)
	list = append(list, wrap(elements.Props{}, chunk(1, "word"), elements.TextChunk{Props: must(2), Children: elements.Nodes{elements.Text(" ")}}))
	root := user(elements.LegacyPrioritization{Props: at(1), Children: elements.Nodes{wrap(elements.Props{}, list[:3000]...), list[3000]}}, line("last"))
	requireOneByOne(t, root, 0, 220, 20, 2)
}

// A message that was counted before is counted anew, though nothing in it was taken out too soon and brought back.
func TestManyTextsGoOneByOneWhereTheyWereCounted(t *testing.T) {
	t.Parallel()
	root := elements.LegacyPrioritization{Children: elements.Nodes{
		user(chunk(-1, "goes first"), chunk(30_000, "goes last")),
		user(append(shuffled(3000, 0), shuffled(3000, 20_000)...)...), user(shuffled(3000, 10_000)...),
	}}
	requireOneByOne(t, root, 0.9, 2)
}

// shuffled is texts with priorities from one on, in no order.
func shuffled(n, from int) (list elements.Nodes) {
	for i := range n {
		list = append(list, chunk(from+i*7919%n, "word"))
	}
	return list
}

// requireOneByOne fits a layout of a prompt to shares of its tokens, one after the other, and compares with what becomes of
// it with a tokenizer that cannot join.
func requireOneByOne(t *testing.T, root elements.Node, low float64, shares ...int) {
	t.Helper()
	joins := summing{runes}
	cannot := struct{ sizing.Tokenizer }{joins}
	most, err := render.Render(t.Context(), root, render.Options{Budget: plenty, Tokenizer: joins})
	require.NoError(t, err)
	layout, err := render.Lay(t.Context(), root, render.Options{Budget: plenty, Tokenizer: joins, LowWater: low})
	require.NoError(t, err)
	for _, share := range shares {
		budget := most.Tokens / share
		want, err := render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: cannot, LowWater: low})
		got, errGot := layout.Fit(t.Context(), budget)
		if err != nil {
			require.EqualError(t, errGot, err.Error())
			continue
		}
		require.NoError(t, errGot)
		require.Empty(t, cmp.Diff(want.Messages, got.Messages))
		require.Equal(t, want.Tokens, got.Tokens)
		require.Empty(t, cmp.Diff(want.Report(), got.Report()))
	}
}

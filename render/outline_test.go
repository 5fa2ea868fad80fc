package render_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
)

// reviewPrompt returns a prompt of instructions, many files and a question.
func reviewPrompt() elements.Node {
	var files elements.Nodes
	for i := range 6 {
		files = append(files, elements.Tag{Name: "file", Props: at(10 * min(i, 2)), Children: elements.Nodes{
			elements.TextChunk{BreakOn: "\n", Least: 1, Children: elements.Nodes{elements.Text(fmt.Sprintf("package p%d\nfunc f%d() {}\nfunc g%d() {}", i, i, i))}},
		}})
	}
	return elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You review code.")}},
		user(elements.Wrap{Props: elements.Props{Priority: new(20), ReportName: "handlers"}, Children: files}, elements.Image{Source: "https://example.com/a.png"}, line("Is it right?")),
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{{ToolCall: chat.ToolCall{ID: "1", Name: "read", Arguments: `{}`}}}},
	}
}

func ExampleCompare() {
	layout, err := render.Lay(context.Background(), reviewPrompt(), render.Options{Budget: 200, Tokenizer: words})
	if err != nil {
		fmt.Println(err)
		return
	}
	var results []*render.Result
	for _, budget := range []int{100, 47, 30} {
		result, err := layout.Fit(context.Background(), budget)
		if err != nil {
			fmt.Println(err)
			return
		}
		results = append(results, result)
	}
	fmt.Print(render.Compare(3, results...))
	// Output:
	// 100   47               30
	// Root                 kept  31 of 61         18 of 61
	//   System             kept  kept             kept
	//   User               kept  26 of 56         13 of 56
	//     handlers         kept  18 of 48         5 of 48
	//       file ×3        kept  dropped          dropped
	//       file#4         kept  trimmed: 2 of 8  dropped
	//       file#5         kept  kept             dropped
	//       file#6         kept  kept             trimmed: 5 of 8
	//     Image (image)    kept  kept             kept
	//     Text             kept  kept             kept
	//   Assistant          kept  kept             kept
	//     read (toolCall)  kept  kept             kept
	// joins and frames     21    15               11
}

func TestAComparisonShowsElementsOfDifferentShapeInOneLine(t *testing.T) {
	result := func(children ...elements.Node) *render.Result {
		return rendered(t, elements.Nodes{user(children...), user(line("b"), line("c"))}, plenty)
	}
	require.Equal(t, ""+
		"                  1,000,000  1,000,000\n"+
		"Root              kept       kept\n"+
		"  User#1          kept       kept\n"+
		"  User#2          kept       kept\n"+
		"    Text ×2       kept       kept\n"+
		"joins and frames  7          8\n", render.Compare(9, result(line("a")), result(line("a"), line("c"))))
}

func TestAnOutlineHoldsEveryPieceOfTheReport(t *testing.T) {
	t.Parallel()
	for seed := range trees() {
		r := rand.New(rand.NewPCG(seed, 9))
		v := vocabulary{required: r.IntN(3) == 0, blank: r.IntN(3) == 0, trims: r.IntN(2) == 0, sized: true, breaks: true, parts: r.IntN(3) == 0, tools: r.IntN(3) == 0}
		layout := laid(t, newGrower(seed, v).prompt(), render.Options{Budget: plenty, Tokenizer: summing{runes}})
		result, err := layout.Fit(t.Context(), 1+r.IntN(300))
		if err != nil {
			continue
		}
		report, outline := result.Report(), result.Outline()
		pieces := []render.Piece{}
		var walk func(o *render.Outline)
		walk = func(o *render.Outline) {
			var sum render.OutlineTokens
			if o.Piece != nil {
				require.Empty(t, o.Children)
				pieces = append(pieces, *o.Piece)
				sum = o.Tokens
			}
			for _, c := range o.Children {
				walk(c)
				sum.Kept, sum.Trimmed, sum.Dropped = sum.Kept+c.Tokens.Kept, sum.Trimmed+c.Tokens.Trimmed, sum.Dropped+c.Tokens.Dropped
			}
			require.Equal(t, sum, o.Tokens, "seed %d, %s", seed, o.Name)
		}
		walk(outline)
		require.Equal(t, append([]render.Piece{}, report.Pieces...), pieces, "seed %d", seed)
		require.Equal(t, counts(result.Messages), countsIn(outline), "seed %d", seed)
		require.Equal(t, result.Tokens, outline.Counted)
		require.True(t, json.Valid(sure.JSON(t, outline)))
	}
}

func TestAnOutlineHasTheOpeningEndOfATagAndTheDescriptionOfATool(t *testing.T) {
	result := renderedWith(t, elements.Nodes{
		elements.Tool{Tool: chat.Tool{Name: "read", Description: "reads a file"}},
		user(elements.Tag{Name: "file", Attributes: []elements.Attribute{{Name: "path", Value: `a"b.go`}}, Children: elements.Nodes{line("package a")}}),
	}, render.Options{Budget: 1000, Tokenizer: words})
	outline := result.Outline()
	require.Equal(t, "reads a file", outline.Children[0].Text)
	require.Equal(t, `<file path="a&quot;b.go">`, outline.Children[1].Children[0].Tag)
}

// counts returns the tokens of messages.
func counts(messages []chat.Message) (list []int) {
	for _, m := range messages {
		list = append(list, runes.CountMessage(m))
	}
	return list
}

// countsIn returns the tokens of the messages in an outline.
func countsIn(o *render.Outline) (list []int) {
	if o.Role != "" && o.Counted > 0 {
		list = append(list, o.Counted)
	}
	for _, c := range o.Children {
		list = append(list, countsIn(c)...)
	}
	return list
}

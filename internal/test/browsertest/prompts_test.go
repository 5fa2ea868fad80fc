package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func tokenizer(t testing.TB) chat.Tokenizer {
	tok, err := tiktoken.New("o200k_base")
	require.NoError(t, err)
	return tok
}

func props(priority int) elements.Props { return elements.Props{Priority: &priority} }

// review returns a prompt of instructions, tools, hints, many files and a question.
func review(files int) elements.Node {
	var list elements.Nodes
	for i := range files {
		var text strings.Builder
		fmt.Fprintf(&text, "package p%d\n", i)
		for n := range 2 + i*7%31 {
			fmt.Fprintf(&text, "\nfunc f%d(a, b int) int { return a*%d + b }\n", n, n)
		}
		list = append(list, elements.Tag{
			Name: "file", Props: props(i * 37 % 101), Attributes: []elements.Attribute{{Name: "path", Value: fmt.Sprintf("internal/p%d/p%d.go", i%7, i)}},
			Children: elements.Nodes{elements.TextChunk{BreakOn: "\n", Children: elements.Nodes{elements.Text(text.String())}}},
		})
	}
	group := &elements.Group{Name: "style guide"}
	return elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{
			elements.TextChunk{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You review changes to a Go repository. Name what is wrong, and where.")}},
			elements.CacheBreakpoint{},
			elements.Chunk{Props: props(90), Children: elements.Nodes{elements.Text("Hints:\n"), elements.Text("Look at errors first.\n"), elements.Text("Then at names.")}},
			elements.KeepWith{Group: group, Props: props(95), Children: elements.Nodes{elements.Text("The style guide is below.")}},
		}},
		elements.Tool{Props: elements.Props{Required: true}, Tool: chat.Tool{Name: "read_file", Description: "Reads a file of the repository.", Parameters: []byte(`{"type":"object"}`)}},
		elements.Tool{Props: elements.Props{Required: true}, Tool: chat.Tool{Name: "comment", Description: "Comments on a line of the change.", Parameters: []byte(`{"type":"object"}`)}},
		elements.UserMessage{Children: elements.Nodes{
			elements.KeepWith{Group: group, Props: props(95), Children: elements.Nodes{elements.Text("Style: errors say what, where, and what to do.")}},
			elements.Wrap{Props: elements.Props{Priority: new(60), ReportName: "changed files"}, Children: list},
			elements.TextChunk{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("Is the change right? Answer with a list.")}},
		}},
	}
}

// laid lays a prompt out.
func laid(t testing.TB, prompt elements.Node) *render.Layout {
	t.Helper()
	layout, err := render.Lay(t.Context(), prompt, render.Options{Budget: 1 << 20, Tokenizer: tokenizer(t)})
	require.NoError(t, err)
	return layout
}

// fitted fits a layout to a share of its tokens.
func fitted(t testing.TB, layout *render.Layout, share float64) *render.Result {
	t.Helper()
	whole, err := layout.Fit(context.Background(), 1<<20)
	require.NoError(t, err)
	result, err := layout.Fit(t.Context(), int(float64(whole.Tokens)*share))
	require.NoError(t, err)
	return result
}

// requestOf returns a request with every field that a page can show.
func requestOf(t testing.TB, result *render.Result, name string) inspect.Rendered {
	return inspect.Rendered{
		Result: result, Name: name, Model: "gpt-5.4", Tokenizer: tokenizer(t), Prices: sizing.Prices{Rates: sizing.Rates{Input: 2.5, CacheRead: 0.25, Output: 15}},
		Tools: []chat.Tool{{Name: "list_files", Description: "Lists a folder.", Parameters: []byte(`{"type":"object"}`)}},
	}
}

// quote returns a value as JavaScript.
func quote(v any) string {
	text, _ := json.Marshal(v) // strings and numbers always encode
	return string(text)
}

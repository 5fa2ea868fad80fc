package render_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// mistaken is a tokenizer that counts wrongly or panics.
type mistaken struct {
	chat.Tokenizer
	count func() int
}

func (m mistaken) CountText(string) int { return m.count() }

// The golden file lists the error of each mistake. Read it from top to bottom.
func TestMistakesSayWhatIsWrongWhereAndWhatToDo(t *testing.T) {
	text := elements.Text("You are a helpful assistant that answers questions about the code base.")
	renders := func(f func(context.Context, elements.Sizing) (elements.Node, error)) elements.Node {
		return own{render: f}
	}
	itself := make(elements.Nodes, 1)
	itself[0] = itself
	tests := []struct {
		mistake string
		root    elements.Node
		change  func(*render.Options)
	}{
		{"no tokenizer", user(text), func(o *render.Options) { o.Tokenizer = nil }},
		{"a tokenizer that is a nil pointer", user(text), func(o *render.Options) { o.Tokenizer = (*tiktoken.Counter)(nil) }},
		{"a tokenizer that panics", user(text), func(o *render.Options) {
			o.Tokenizer = mistaken{runes, func() int { panic("no table") }}
		}},
		{"a tokenizer that counts less than nothing", user(text), func(o *render.Options) {
			o.Tokenizer = mistaken{runes, func() int { return -1 }}
		}},
		{"no budget", user(text), func(o *render.Options) { o.Budget = 0 }},
		{"a budget below 0", user(text), func(o *render.Options) { o.Budget = -100 }},
		{"a window below 0", user(text), func(o *render.Options) { o.PromptBudget = -1 }},
		{"a low water in percent", user(text), func(o *render.Options) { o.LowWater = 70 }},
		{"a history mode that there is not", user(text), func(o *render.Options) { o.History = 7 }},
		{"a nil tree", nil, nil},
		{"text outside a message", elements.Nodes{text, user(text)}, nil},
		{"a text chunk outside a message", wrap(elements.Props{}, elements.TextChunk{Children: elements.Nodes{text}}), nil},
		{"a tag outside a message", elements.Tag{Name: "rules", Children: elements.Nodes{text}}, nil},
		{"an image outside a message", elements.Image{Source: "https://example.com/a.png"}, nil},
		{"a message in a message", user(user(text)), nil},
		{"a tool in a message", user(wrap(at(1), tool(at(1), "search"))), nil},
		{"two tools of one name", elements.Nodes{tool(at(1), "search"), wrap(at(1), tool(at(2), "search")), user(text)}, nil},
		{"a tool without a name", elements.Nodes{elements.Tool{}, user(text)}, nil},
		{"a nil pointer as an element", user((*elements.Tag)(nil)), nil},
		{"an element that fails", user(renders(func(context.Context, elements.Sizing) (elements.Node, error) {
			return nil, fmt.Errorf("no index at /tmp/index")
		})), nil},
		{"an element that panics", user(renders(func(context.Context, elements.Sizing) (elements.Node, error) {
			panic("no index")
		})), nil},
		{"an element that renders itself", user(endless{}), nil},
		{"a list that holds itself", user(itself), nil},
		{"two breaks", user(elements.TextChunk{BreakOn: "\n", BreakOnWhitespace: true, Children: elements.Nodes{text}}), nil},
		{"a mark without a break", user(elements.TextChunk{Mark: "…", Children: elements.Nodes{text}}), nil},
		{"a break that matches nothing", user(elements.TextChunk{BreakOnPattern: regexp.MustCompile(`\s*`), Children: elements.Nodes{text}}), nil},
		{"a message in a text chunk", user(elements.TextChunk{Children: elements.Nodes{user(text)}}), nil},
		{"text in an image", user(elements.Image{Source: "https://example.com/a.png", Children: elements.Nodes{text}}), nil},
		{"a limit of nothing", user(elements.TokenLimit{Children: elements.Nodes{text}}), nil},
		{"a FlexGrow below 0", user(elements.Wrap{Props: elements.Props{FlexGrow: -1}}), nil},
		{"a FlexBasis that is not a number", user(elements.Wrap{Props: elements.Props{FlexBasis: math.NaN()}}), nil},
		{"a FlexBasis by a division by 0", user(elements.Wrap{Props: elements.Props{FlexBasis: math.Inf(1)}}), nil},
		{"a reserve of a quarter, written as 4", user(elements.Wrap{Props: elements.Props{FlexReserve: elements.Reserve{Share: 4}}}), nil},
		{"a tag whose name holds a space", user(elements.Tag{Name: "the file"}), nil},
		{"an attribute without a name", user(elements.Tag{Name: "file", Attributes: []elements.Attribute{{Value: "a.go"}}}), nil},
		{"a cache breakpoint in a wrapper", user(wrap(elements.Props{}, elements.CacheBreakpoint{})), nil},
		{"an expandable without a value", user(elements.Expandable{}), nil},
		{"two tool calls of one id", elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("a", nil), call("a", nil)}}, nil},
		{"a tree from elsewhere that is cut off", user(elements.Transferred{Data: []byte(`{"node":{"type":1,`)}), nil},
		{"a tree from elsewhere of another form", user(elements.Transferred{Data: []byte(`{"node":{"type":9}}`)}), nil},
		{"a priority that leaves no lower ones", user(elements.PrioritizedList{Props: at(math.MinInt), Children: elements.Nodes{text, text}}), nil},
		{"a required text that does not fit", elements.Nodes{
			elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{text}}, user(line(strings.Repeat("question ", 20))),
		}, func(o *render.Options) { o.Budget = 40 }},
		{"a prompt that is pruned to nothing", user(line(strings.Repeat("question ", 20))), func(o *render.Options) { o.Budget = 40 }},
		{"a required text in a limit that it does not fit", user(elements.TokenLimit{Max: 10, Children: elements.Nodes{
			elements.TextChunk{Props: elements.Props{Required: true}, Children: elements.Nodes{text}},
		}}), nil},
	}
	var b strings.Builder
	for _, test := range tests {
		opts := render.Options{Budget: 1000, Tokenizer: runes}
		if test.change != nil {
			test.change(&opts)
		}
		_, err := render.Render(t.Context(), test.root, opts)
		if err == nil {
			t.Errorf("%s: there is no error", test.mistake)
			continue
		}
		fmt.Fprintf(&b, "%s\n\t%v\n", test.mistake, err)
	}
	golden.Equal(t, "mistakes.golden", b.String())
}

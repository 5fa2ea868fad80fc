package elements_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/render"
)

// parts renders a prompt and prints the types of its messages' parts.
func parts(prompt elements.Node, budget int) {
	result, err := render.Render(context.Background(), prompt, render.Options{Budget: budget, Tokenizer: words{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range result.Messages {
		fmt.Printf("%s:", m.Role)
		for _, p := range m.Content {
			fmt.Printf(" %T", p)
		}
		fmt.Println()
	}
}

func ExampleImage() {
	prompt := el.User(
		elements.Image{Source: "https://example.com/plum.png", Detail: chat.DetailLow, Props: elements.Props{Priority: new(1)}},
		el.Text("What is this?", el.Required),
	)
	parts(prompt, 100)
	parts(prompt, 6)
	// Output:
	// user: chat.Image chat.Text
	// user: chat.Text
}

func ExampleDocument() {
	parts(el.User(elements.Document{Data: "JVBERi0=", MediaType: "application/pdf"}, el.Text("What does it say?")), 100)
	// Output:
	// user: chat.Document chat.Text
}

// The thinking is sent back before the text of the same message.
func ExampleThinking() {
	parts(el.Assistant(
		elements.Thinking{Thought: chat.Thinking{Text: "A plum?", Signature: "c2lnbmVk"}},
		el.Text("It is a plum."),
	), 100)
	// Output:
	// assistant: chat.Thinking chat.Text
}

func ExampleOpaque() {
	parts(el.User(elements.Opaque{Value: json.RawMessage(`{"type":"search_result"}`), Tokens: 3}, el.Text("And now?")), 100)
	// Output:
	// user: chat.Opaque chat.Text
}

// The text before the breakpoint stays, although its priority is lower.
func ExampleCacheBreakpoint() {
	result, err := render.Render(context.Background(), el.Prompt(
		el.System(el.Text("a manual of five words", el.Priority(1)), elements.CacheBreakpoint{Type: "ephemeral"}),
		el.User(el.Priority(2), el.Text("a note")),
		el.User(el.Text("Well?")),
	), render.Options{Budget: 12, Tokenizer: words{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range result.Messages {
		for _, p := range m.Content {
			fmt.Printf("%T %v\n", p, p)
		}
	}
	// Output:
	// chat.Text a manual of five words
	// chat.CacheBreakpoint {ephemeral 0s}
	// chat.Text Well?
}

func ExampleLineBreak() {
	show(elements.UserMessage{Children: elements.Nodes{
		elements.Text("Explain "), elements.Text("this:"), elements.LineBreak{}, elements.Text("x := x"),
	}}, 100)
	// Output:
	// -- 8 tokens of 100
	// user: Explain this:
	// x := x
}

// The result has the definitions that are left.
func ExampleTool() {
	prompt := el.Prompt(
		elements.Tool{Tool: chat.Tool{Name: "view"}},
		elements.Tool{Props: elements.Props{Priority: new(1)}, Tool: chat.Tool{Name: "browse"}},
		el.User(el.Text("Which test fails?", el.Required)),
	)
	for _, budget := range []int{100, 7} {
		result, err := render.Render(context.Background(), prompt, render.Options{Budget: budget, Tokenizer: words{}})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, t := range result.Tools {
			fmt.Printf("%d: %s\n", budget, t.Name)
		}
	}
	// Output:
	// 100: view
	// 100: browse
	// 7: view
}

// The result lists the sources whose text was kept apart from those whose text was dropped.
func ExampleReference() {
	prompt := el.User(
		elements.TextChunk{Props: elements.Props{Priority: new(2)}, Children: elements.Nodes{elements.Text("a long text"), elements.Reference{Name: "a.md"}}},
		elements.TextChunk{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{elements.Text("another text"), elements.Reference{Name: "b.md"}}},
	)
	result, err := render.Render(context.Background(), prompt, render.Options{Budget: 7, Tokenizer: words{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("kept", result.References[0].Name, "and not", result.OmittedReferences[0].Name)
	// Output:
	// kept a.md and not b.md
}

// The answer of a tool is pruned piece by piece in the prompt of its caller.
func ExampleTransferred() {
	answer, err := render.Transfer(context.Background(), el.Prompt(
		el.Text("the first hit", el.Priority(2)), el.Text("the second hit", el.Priority(1)),
	), render.Options{Budget: 100, Tokenizer: words{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(el.User(elements.Transferred{Data: answer}, el.Text("Well?", el.Required)), 8)
	// Output:
	// -- 7 tokens of 8
	// user: the first hit
	// Well?
}

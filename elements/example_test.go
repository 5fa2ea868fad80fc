package elements_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// show renders a prompt within a budget and prints its messages. In these examples a word is a token, and a message
// takes 3 more.
func show(prompt elements.Node, budget int) {
	result, err := render.Render(context.Background(), prompt, render.Options{Budget: budget, Tokenizer: words{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("-- %d tokens of %d\n", result.Tokens, budget)
	for _, m := range result.Messages {
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%s: %s", m.Role, m.Text())))
		for _, c := range m.ToolCalls {
			fmt.Printf("    calls %s(%s)\n", c.Name, c.Arguments)
		}
	}
}

// Lookup is an element that fills its share of the budget with the entries that it finds.
type Lookup struct {
	elements.Props
	Word string
}

func (l Lookup) Render(_ context.Context, s elements.Sizing) (elements.Node, error) {
	found := elements.Nodes{elements.Meta[string]{Value: "looked up " + l.Word}}
	for _, entry := range []string{"prune: to cut away", "prune: a dried plum", "pruner: one who prunes"} {
		if strings.HasPrefix(entry, l.Word) {
			found = append(found, elements.TextChunk{Children: elements.Nodes{elements.Text(entry)}})
		}
	}
	return found, nil
}

func Example() {
	prompt := elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{
			elements.Text("You explain words."),
		}},
		elements.UserMessage{Children: elements.Nodes{
			Lookup{Props: elements.Props{Priority: new(10), FlexGrow: 1}, Word: "prune"},
			elements.TextChunk{Props: elements.Props{Priority: new(20)}, Children: elements.Nodes{
				elements.Text("What does pruning mean?"),
			}},
		}},
	}
	tokenizer := tiktoken.O200k()
	result, err := render.Render(context.Background(), prompt, render.Options{Budget: 32, Tokenizer: tokenizer})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range result.Messages {
		fmt.Printf("%s: %s\n", m.Role, m.Text())
	}
	note, _ := elements.MetaOf[string](result.Metadata)
	fmt.Println(note)
	// Output:
	// system: You explain words.
	// user: prune: a dried plum
	// pruner: one who prunes
	// What does pruning mean?
	// looked up prune
}

// Lookup embeds Props, so it has a priority among its siblings and may be laid out after them.
func ExampleElement() {
	prompt := elements.UserMessage{Children: elements.Nodes{
		elements.Text("Explain this."),
		Lookup{Props: elements.Props{Priority: new(1)}, Word: "pruner"},
	}}
	show(prompt, 20)
	show(prompt, 8)
	// Output:
	// -- 9 tokens of 20
	// user: Explain this.
	// pruner: one who prunes
	// -- 5 tokens of 8
	// user: Explain this.
}

func ExamplePrioritizedList() {
	prompt := elements.UserMessage{Children: elements.Nodes{
		elements.PrioritizedList{Descending: true, Children: elements.Nodes{
			elements.Text("the best match"), elements.Text("a good match"), elements.Text("some match"),
		}},
		elements.TextChunk{Children: elements.Nodes{elements.Text("Which is it?")}},
	}}
	show(prompt, 100)
	show(prompt, 12) // the last is dropped first
	// Output:
	// -- 14 tokens of 100
	// user: the best match
	// a good match
	// some match
	// Which is it?
	// -- 12 tokens of 12
	// user: the best match
	// a good match
	// Which is it?
}

func ExampleTextChunk() {
	log := elements.TextChunk{
		Props: elements.Props{Priority: new(1)}, BreakOn: "\n", Least: 2, Children: elements.Nodes{elements.Text("line one\nline two\nline three")},
	}
	show(elements.UserMessage{Children: elements.Nodes{elements.Text("The log:"), log}}, 10)
	// Output:
	// -- 9 tokens of 10
	// user: The log:
	// line one
	// line two
}

func ExampleTag() {
	file := elements.Tag{Name: "file", Attributes: []elements.Attribute{{Name: "path", Value: "a.go"}}, Children: elements.Nodes{
		elements.Text("if a < b && c {"),
	}}
	show(elements.UserMessage{Children: elements.Nodes{elements.Text("Explain this."), file}}, 40)
	// Output:
	// -- 15 tokens of 40
	// user: Explain this.
	// <file path="a.go">
	// if a &lt; b &amp;&amp; c {
	// </file>
}

func ExampleChunk() {
	example := elements.Chunk{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{
		elements.UserMessage{Children: elements.Nodes{elements.Text("2 + 2")}},
		elements.AssistantMessage{Children: elements.Nodes{elements.Text("4")}},
	}}
	question := elements.UserMessage{Children: elements.Nodes{elements.Text("3 + 4")}}
	show(elements.Nodes{example, question}, 16)
	show(elements.Nodes{example, question}, 15) // the example is dropped as a whole
	// Output:
	// -- 16 tokens of 16
	// user: 2 + 2
	// assistant: 4
	// user: 3 + 4
	// -- 6 tokens of 15
	// user: 3 + 4
}

func ExampleTokenLimit() {
	notes := elements.TokenLimit{Max: 4, Children: elements.Nodes{
		elements.TextChunk{Props: elements.Props{Priority: new(2)}, Children: elements.Nodes{elements.Text("an important note")}},
		elements.TextChunk{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{elements.Text("a lesser note")}},
	}}
	show(elements.UserMessage{Children: elements.Nodes{notes, elements.TextChunk{Children: elements.Nodes{elements.Text("Well?")}}}}, 100)
	// Output:
	// -- 7 tokens of 100
	// user: an important note
	// Well?
}

func ExampleKeepWith() {
	round := &elements.Group{Name: "round"}
	prompt := elements.Nodes{
		elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("How many files?")}},
		elements.AssistantMessage{Props: elements.Props{Priority: new(2)}, ToolCalls: []elements.ToolCall{
			{ToolCall: chat.ToolCall{ID: "1", Name: "count", Arguments: `"*.go"`}, KeepWith: round},
		}},
		elements.KeepWith{Props: elements.Props{Priority: new(1)}, Group: round, Children: elements.Nodes{
			elements.ToolMessage{ToolCallID: "1", Children: elements.Nodes{elements.Text("there are 42")}},
		}},
	}
	show(prompt, 100)
	show(prompt, 15) // the result is dropped, and the call with it
	// Output:
	// -- 17 tokens of 100
	// user: How many files?
	// assistant:
	//     calls count("*.go")
	// tool: there are 42
	// -- 6 tokens of 15
	// user: How many files?
}

func ExampleIfEmpty() {
	var results elements.Nodes
	show(elements.UserMessage{Children: elements.Nodes{
		elements.Text("Search results:"),
		elements.LineBreak{},
		elements.IfEmpty{Alt: elements.Text("none"), Children: results},
	}}, 100)
	// Output:
	// -- 6 tokens of 100
	// user: Search results:
	// none
}

func ExampleExpandable() {
	quote := strings.Fields("as many of these words as there is room for in the prompt")
	prompt := elements.UserMessage{Children: elements.Nodes{
		elements.Text("Quote: "),
		elements.Expandable{Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
			n := min(len(quote), max(0, s.TokenBudget))
			return elements.Text(strings.Join(quote[:n], " ")), nil
		}},
	}}
	show(prompt, 8)
	show(prompt, 12)
	// Output:
	// -- 8 tokens of 8
	// user: Quote: as many of these
	// -- 12 tokens of 12
	// user: Quote: as many of these words as there is
}

func ExampleMessage() {
	conversation := []chat.Message{
		chat.UserMessage("first question"), chat.AssistantMessage("first answer"), chat.UserMessage("second question"),
	}
	var prompt elements.Nodes
	for i, m := range conversation {
		prompt = append(prompt, elements.Message(elements.Props{Priority: new(i)}, m))
	}
	show(prompt, 100)
	// Output:
	// -- 15 tokens of 100
	// user: first question
	// assistant: first answer
	// user: second question
}

func ExampleMetaOf() {
	type source struct{ file string }
	prompt := elements.UserMessage{Children: elements.Nodes{
		elements.TextChunk{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{
			elements.Text("some text"), elements.Meta[source]{Value: source{"a.md"}, Local: true},
		}},
		elements.TextChunk{Props: elements.Props{Priority: new(2)}, Children: elements.Nodes{
			elements.Text("other text"), elements.Meta[source]{Value: source{"b.md"}, Local: true},
		}},
	}}
	result, err := render.Render(context.Background(), prompt, render.Options{Budget: 5, Tokenizer: words{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, ok := elements.MetaOf[source](result.Metadata)
	fmt.Println(first.file, ok)
	fmt.Println(elements.AllMeta[source](result.Metadata))
	// Output:
	// b.md true
	// [{b.md}]
}

// The notes have one priority as a whole, and their own among each other.
func ExampleWrap() {
	notes := elements.Wrap{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{
		el.Text("the first note", el.Priority(20)), el.Text("the second note", el.Priority(10)),
	}}
	show(el.User(notes, el.Text("a file", el.Priority(5)), el.Text("Well?", el.Required)), 10)
	// Output:
	// -- 9 tokens of 10
	// user: the first note
	// a file
	// Well?
}

func ExampleWithPriority() {
	header := el.Text("a header that somebody else made")
	show(el.User(elements.WithPriority{Priority: 1, Node: header}, el.Text("a note", el.Priority(2))), 8)
	// Output:
	// -- 5 tokens of 8
	// user: a note
}

// The text with the lowest priority is dropped, although its message has the higher one.
func ExampleLegacyPrioritization() {
	show(elements.LegacyPrioritization{Children: elements.Nodes{
		el.User(el.Priority(1), el.Text("a question", el.Priority(30))),
		el.User(el.Priority(2), el.Text("an aside", el.Priority(10)), el.Text("another question", el.Priority(20))),
	}}, 11)
	// Output:
	// -- 10 tokens of 11
	// user: a question
	// user: another question
}

// The same rounds occur in several prompts, and each is counted once.
func ExampleFinished() {
	var rounds elements.Nodes
	for i, said := range []string{"first", "second", "third"} {
		rounds = append(rounds, &elements.Finished{Props: elements.Props{Priority: new(i)}, Messages: []chat.Message{
			chat.UserMessage("the " + said + " question"), chat.AssistantMessage("the " + said + " answer"),
		}})
	}
	for _, budget := range []int{30, 20} {
		show(rounds, budget)
	}
	// Output:
	// -- 24 tokens of 30
	// user: the second question
	// assistant: the second answer
	// user: the third question
	// assistant: the third answer
	// -- 12 tokens of 20
	// user: the third question
	// assistant: the third answer
}

func ExampleAssistantMessage() {
	show(elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You count files.")}},
		elements.UserMessage{Children: elements.Nodes{elements.Text("How many files?")}},
		elements.AssistantMessage{
			ToolCalls: []elements.ToolCall{{ToolCall: chat.ToolCall{ID: "1", Name: "count", Arguments: `"*.go"`}}},
			Children:  elements.Nodes{elements.Text("I count them.")},
		},
		elements.ToolMessage{ToolCallID: "1", Children: elements.Nodes{elements.Text("there are 42")}},
	}, 100)
	// Output:
	// -- 26 tokens of 100
	// system: You count files.
	// user: How many files?
	// assistant: I count them.
	//     calls count("*.go")
	// tool: there are 42
}

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

package el_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/render"
)

// show renders a prompt within a budget and prints its messages. In these examples four bytes are a token, and a
// message takes 3 more.
func show(prompt el.Node, budget int) {
	result, err := render.Render(context.Background(), prompt, render.Options{Budget: budget, Tokenizer: sizingtest.Quarter{}})
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

// Change is a change for review.
type Change struct {
	Diff, Question string
	Files          []File
	Comments       []string
	Examples       []Exchange
}

type File struct {
	Path, Source string
	Importance   int
}

type Exchange struct{ Question, Answer string }

// Review returns the prompt of a code review. Examples are pruned first, then comments from the oldest on, then files
// from the least important on, of which the last is trimmed.
func Review(c Change) el.Node {
	return el.Prompt(
		el.System(el.Text("You review Go code. Name each defect with its file and line.")),
		el.Each(c.Examples, func(e Exchange) el.Node {
			return el.Together(el.Priority(10), el.User(el.Text(e.Question)), el.Assistant(el.Text(e.Answer)))
		}),
		el.User(
			el.Each(c.Files, func(f File) el.Node {
				return el.Tag("file", el.Priority(f.Importance), el.Attr("path", f.Path), el.Fence("go", f.Source))
			}),
			el.If(len(c.Comments) > 0, el.Tag("comments", el.Priority(50),
				el.Chronological(el.Each(c.Comments, func(s string) el.Node { return el.Text(s) })),
			)),
			el.Fence("diff", c.Diff, el.Required),
			el.Text(c.Question, el.Required),
		),
	)
}

func Example() {
	change := Change{
		Diff:     "-\tprintln(\"hello\")\n+\tfmt.Println(\"hello\")",
		Question: "Is this change right?",
		Files:    []File{{"main.go", "package main\n\nimport \"fmt\"\n", 200}, {"doc.go", "// Package main says hello.\npackage main\n", 100}},
		Comments: []string{"Please use fmt.", "Done."},
		Examples: []Exchange{{"Is `x := x` right?", "No: main.go:3 declares x and does not use it."}},
	}
	show(Review(change), 92)
	// Output:
	// -- 88 tokens of 92
	// system: You review Go code. Name each defect with its file and line.
	// user: <file path="main.go">
	// ```go
	// package main
	//
	// import "fmt"
	// ```
	// </file>
	// <file path="doc.go">
	// ```go
	// // Package main says hello.
	// package main
	// ```
	// </file>
	// <comments>
	// Please use fmt.
	// Done.
	// </comments>
	// ```diff
	// -	println("hello")
	// +	fmt.Println("hello")
	// ```
	// Is this change right?
}

func ExampleLines() {
	log := "compiling\nlinking\ntesting\nFAIL: TestAll: want 1, got 2\n"
	show(el.User(el.Lines(log, el.CutStart, el.Least(4)), el.Text("What failed?", el.Required)), 17)
	// Output:
	// -- 16 tokens of 17
	// user: testing
	// FAIL: TestAll: want 1, got 2
	// What failed?
}

func ExampleFence() {
	source := "if a < b && c {\n\treturn\n}\n"
	show(el.User(el.Tag("file", el.Attr("path", "a.go"), el.Fence("go", source)), el.Text("Is it right?")), 50)
	// Output:
	// -- 22 tokens of 50
	// user: <file path="a.go">
	// ```go
	// if a < b && c {
	// 	return
	// }
	// ```
	// </file>
	// Is it right?
}

func ExampleFirst() {
	manual := el.First(
		el.Text("The flag -v prints each file that is read, and -q prints nothing but errors."),
		el.Text("Flags: -v, -q."),
	)
	show(el.User(manual, el.Text("How do I silence it?", el.Required)), 50)
	show(el.User(manual, el.Text("How do I silence it?", el.Required)), 20)
	// Output:
	// -- 28 tokens of 50
	// user: The flag -v prints each file that is read, and -q prints nothing but errors.
	// How do I silence it?
	// -- 12 tokens of 20
	// user: Flags: -v, -q.
	// How do I silence it?
}

func ExampleRanked() {
	found := []string{"the best match", "a good match", "some match"}
	prompt := el.User(
		el.Ranked(el.Each(found, func(s string) el.Node { return el.Text(s) })),
		el.Text("Which is it?", el.Required),
	)
	show(prompt, 15)
	// Output:
	// -- 13 tokens of 15
	// user: the best match
	// a good match
	// Which is it?
}

func ExampleCallsWith() {
	round := &elements.Group{Name: "round"}
	prompt := el.Prompt(
		el.User(el.Required, el.Text("How many files?")),
		el.Assistant(el.Priority(2), el.CallsWith(round, chat.ToolCall{ID: "1", Name: "count", Arguments: `"*.go"`})),
		el.KeepWith(round, el.Priority(1), el.ToolResult("1", el.Text("there are 42"))),
	)
	show(prompt, 100)
	show(prompt, 16) // the result is dropped, and the call with it
	// Output:
	// -- 20 tokens of 100
	// user: How many files?
	// assistant:
	//     calls count("*.go")
	// tool: there are 42
	// -- 7 tokens of 16
	// user: How many files?
}

func ExampleFunc() {
	search := func(_ context.Context, s elements.Sizing) (el.Node, error) {
		return el.Textf("found with room for %d tokens", s.TokenBudget), nil
	}
	show(el.User(el.Func(search, el.Priority(1), el.Grow(1)), el.Text("What is it?")), 40)
	// Output:
	// -- 14 tokens of 40
	// user: found with room for 34 tokens
	// What is it?
}

func ExampleExpand() {
	quote := strings.Fields("as many of these words as there is room for in the prompt")
	prompt := el.User(el.Text("Quote:"), el.Expand(func(_ context.Context, s elements.Sizing) (el.Node, error) {
		n := 0
		for n < len(quote) && len(strings.Join(quote[:n+1], " ")) <= 4*s.TokenBudget {
			n++
		}
		return el.Text(strings.Join(quote[:n], " ")), nil
	}))
	show(prompt, 12)
	// Output:
	// -- 11 tokens of 12
	// user: Quote:
	// as many of these words as
}

// The answer cites what it was shown: each passage has its source, and its rank, which is pruned with it. The wrapper passes
// the passages' priorities on, so that they compete with the note below them.
func ExampleRef() {
	type query string
	type rank int
	passage := func(r rank, source, text string) el.Node {
		return el.Together(el.Priority(40-10*int(r)), el.Ref(source), el.LocalMeta(r), el.Text(text))
	}
	prompt := el.Prompt(el.Meta(query("constants")), el.User(
		el.Wrap(el.PassPriority,
			passage(1, "go.dev/ref/spec", "A constant is a value."),
			passage(2, "go.dev/blog/constants", "Constants may be untyped."),
			passage(3, "go.dev/doc/faq", "Constants are not converted."),
		),
		el.Text("The best passage comes first.", el.Priority(15)),
		el.Text("What is a constant?", el.Required),
	))
	result, err := render.Render(context.Background(), prompt, render.Options{Budget: 30, Tokenizer: sizingtest.Quarter{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	q, _ := elements.MetaOf[query](result.Metadata)
	fmt.Println("query:", q, "ranks:", elements.AllMeta[rank](result.Metadata))
	for _, r := range result.References {
		fmt.Println("shown:", r.Name)
	}
	for _, r := range result.OmittedReferences {
		fmt.Println("left out:", r.Name)
	}
	fmt.Println(result.Messages[0].Text())
	// Output:
	// query: constants ranks: [1 2]
	// shown: go.dev/ref/spec
	// shown: go.dev/blog/constants
	// left out: go.dev/doc/faq
	// A constant is a value.
	// Constants may be untyped.
	// The best passage comes first.
	// What is a constant?
}

// Whether a search finds anything is known only when it has run.
func ExampleIfEmpty() {
	search := func(context.Context, elements.Sizing) (el.Node, error) { return nil, nil }
	show(el.User(
		el.IfEmpty(el.Text("Nothing was found."), el.Func(search)),
		el.Text("What is a monad?"),
	), 40)
	// Output:
	// -- 12 tokens of 40
	// user: Nothing was found.
	// What is a monad?
}

// A bug report with a screenshot and a manual, and an attempt of the model to read the log. The screenshot is worth its tokens,
// the manual is the first to go.
func ExampleImage() {
	report := func(screenshot, manual string) el.Node {
		return el.Prompt(
			el.User(
				el.Image(screenshot, el.Detail(chat.DetailHigh), el.Priority(20)),
				el.Document("application/pdf", manual, el.Priority(10)),
				el.Text("The page stays empty.", el.Required),
			),
			el.Together(
				el.Assistant(el.Calls(chat.ToolCall{ID: "1", Name: "read", Arguments: `{"path":"app.log"}`})),
				el.ToolResult("1", el.Failed, el.Text("app.log: permission denied")),
			),
		)
	}
	result, err := render.Render(context.Background(), report("https://example.com/page.png", "JVBERi0="), render.Options{Budget: 60, Tokenizer: sizingtest.Quarter{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, part := range result.Messages[0].Content {
		fmt.Printf("%T\n", part)
	}
	if failed := result.Messages[2]; failed.IsError {
		fmt.Println("failed:", failed.Text())
	}
	// Output:
	// chat.Image
	// chat.Text
	// failed: app.log: permission denied
}

// The search is laid out first and may take all that the notes, with ten tokens, and the hints, with a tenth of the rest, do
// not need.
func ExampleReserve() {
	told := func(name string) func(context.Context, elements.Sizing) (el.Node, error) {
		return func(_ context.Context, s elements.Sizing) (el.Node, error) {
			return el.Textf("%s: room for %d", name, s.TokenBudget), nil
		}
	}
	show(el.User(
		el.Func(told("hints"), el.Grow(1), el.ReserveShare(0.1)),
		el.Func(told("notes"), el.Grow(2), el.Reserve(10)),
		el.Func(told("search"), el.Grow(3)),
	), 100)
	// Output:
	// -- 18 tokens of 100
	// user: hints: room for 87
	// notes: room for 83
	// search: room for 78
}

func ExampleIf() {
	hints := []string{"be brief"}
	show(el.User(
		el.Text("Explain pruning."),
		el.If(len(hints) > 0, el.Tag("hints", el.Each(hints, func(h string) el.Node { return el.Text("- " + h) }))),
	), 40)
	// Output:
	// -- 14 tokens of 40
	// user: Explain pruning.
	// <hints>
	// - be brief
	// </hints>
}

func ExampleIff() {
	var lastError error
	show(el.User(
		el.Text("Go on."),
		// Without an error, the node is not made, so lastError.Error is not called.
		el.Iff(lastError != nil, func() el.Node { return el.Text(lastError.Error()) }),
	), 20)
	// Output:
	// -- 5 tokens of 20
	// user: Go on.
}

func Example_misplacedOption() {
	show(el.User(el.Attr("path", "a.go"), el.Text("Explain this.")), 100)
	// Output:
	// render: User: el: the option does not apply here: write Attr directly among the arguments of Tag
}

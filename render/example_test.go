package render_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// prompt returns the prompt of the examples: required rules, notes that may be dropped, and a question.
func prompt(question string, notes ...string) elements.Node {
	return el.Prompt(
		el.System(el.Text("You answer in one sentence.")),
		el.User(
			el.Ranked(el.Each(notes, func(n string) elements.Node { return el.Text(n) })),
			el.Text(question, el.Required),
		),
	)
}

func ExampleRender() {
	tokenizer := tiktoken.O200k()
	root := prompt("Who is on call tonight?",
		"Ada is on call from Monday to Wednesday.",
		"Grace is on call from Thursday to Sunday.",
		"The office is closed on public holidays, and the canteen on Fridays.")

	result, err := render.Render(context.Background(), root, render.Options{Budget: 48, Tokenizer: tokenizer})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range result.Messages {
		fmt.Printf("%s:\n%s\n", m.Role, m.Text())
	}
	fmt.Println(result.Tokens, "tokens of", result.Budget)
	fmt.Print(result.Report())
	// Output:
	// system:
	// You answer in one sentence.
	// user:
	// Ada is on call from Monday to Wednesday.
	// Grace is on call from Thursday to Sunday.
	// Who is on call tonight?
	// 38 tokens of 48
	// System > Text           6 tokens   -            kept: required
	// User > Ranked > Text#1  9 tokens   priority 0   kept
	// User > Ranked > Text#2  9 tokens   priority -1  kept
	// User > Ranked > Text#3  15 tokens  priority -2  dropped for the budget
	// User > Text             6 tokens   -            kept: required
	// kept: 30 tokens, pieces: 4; dropped: 15 tokens, pieces: 1
	// joins and frames: 8 tokens; in all: 38 tokens
}

func ExampleBudgetExceededError() {
	tokenizer := tiktoken.O200k()
	_, err := render.Render(context.Background(), prompt("Who is on call tonight?"), render.Options{Budget: 10, Tokenizer: tokenizer})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		fmt.Printf("needs %d tokens, has %d\n", over.Needed, over.Budget)
		for _, piece := range over.Largest {
			fmt.Printf("%d tokens in %s\n", piece.Tokens, piece.Path)
		}
	}
	// Output:
	// needs 20 tokens, has 10
	// 6 tokens in System > Text
	// 6 tokens in User > Text
}

// One layout can be fitted to many budgets.
func ExampleLayout_Fit() {
	tokenizer := tiktoken.O200k()
	root := prompt("Who is on call tonight?", "Ada is on call from Monday to Wednesday.", "Grace is on call from Thursday to Sunday.")
	layout, err := render.Lay(context.Background(), root, render.Options{Budget: 100, Tokenizer: tokenizer})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, budget := range []int{100, 35, 25} {
		result, err := layout.Fit(context.Background(), budget)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d tokens of %d, %d pieces dropped\n", result.Tokens, budget, len(result.Report().Dropped()))
	}
	// Output:
	// 38 tokens of 100, 0 pieces dropped
	// 29 tokens of 35, 1 pieces dropped
	// 20 tokens of 25, 2 pieces dropped
}

func ExampleReport() {
	tokenizer := tiktoken.O200k()
	root := prompt("Who is on call tonight?", "Ada is on call.", "Grace is on holiday.")
	result, err := render.Render(context.Background(), root, render.Options{Budget: 25, Tokenizer: tokenizer})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, piece := range result.Report().Dropped() {
		fmt.Println(piece.Path, piece.Dropped)
	}
	// Output:
	// User > Ranked > Text#2 priority
}

// told is an element that prints the budget that it is told.
type told struct{ elements.Props }

func (told) Render(_ context.Context, s elements.Sizing) (elements.Node, error) {
	fmt.Println(s.TokenBudget)
	return nil, nil
}

// The budget is 10,000.
func Example_shares() {
	tokenizer := tiktoken.O200k()
	brief := el.System(el.Text("be brief"))
	for _, prompt := range []elements.Nodes{
		{brief, el.User(told{})},
		{brief, brief, brief, brief, el.User(told{})},
		{brief, el.User(told{}, told{})},
		{brief, el.User(told{el.Props(el.Basis(3))}, told{})},
	} {
		if _, err := render.Render(context.Background(), prompt, render.Options{Budget: 10_000, Tokenizer: tokenizer}); err != nil {
			fmt.Println(err)
		}
	}
	// Unordered output:
	// 9990
	// 9972
	// 4995
	// 4995
	// 7492
	// 2497
}

// Tools in the tree are pruned by priority, like any other element.
func ExampleResult_tools() {
	tool := func(priority int, name, description string) elements.Tool {
		return el.Tool(chat.Tool{Name: name, Description: description}, el.Priority(priority))
	}
	prompt := elements.Nodes{
		el.Tool(chat.Tool{Name: "read_file", Description: "Reads a file."}), // without a priority: the last to go
		tool(20, "search", "Searches the repository for a regular expression."),
		tool(10, "browse", "Opens a page of the web in a browser."),
		el.User(el.Text("Which test fails?")),
	}
	tokenizer := tiktoken.O200k()
	for _, budget := range []int{100, 60} {
		result, err := render.Render(context.Background(), prompt, render.Options{Budget: budget, Tokenizer: tokenizer})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(result.Tokens, " of ", budget, ":")
		for _, t := range result.Tools { // for chat.Request.Tools
			fmt.Print(" ", t.Name)
		}
		fmt.Println()
	}
	// Output:
	// 68 of 100: read_file search browse
	// 51 of 60: read_file search
}

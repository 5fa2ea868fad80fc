package promptree_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
)

// File is a source file of a program.
type File struct {
	Path, Source string
	Importance   int
}

var files = []File{
	{"doc.go", "// Package main prints a greeting, as the first program in any language does.\npackage main", 10},
	{"greeting.go", "package main\n\n// greeting is what is printed.\nconst greeting = \"hello\"", 20},
	{"main.go", "package main\n\nfunc main() { println(greeting) }", 30},
}

var (
	ctx       = context.Background()
	tokenizer = tiktoken.O200k() // shared, because it remembers the words that it has counted
)

// show prints the messages of a result.
func show(result *render.Result) {
	for _, m := range result.Messages {
		fmt.Printf("%s: %s\n", m.Role, m.Text())
	}
}

func Example_step1String() {
	prompt := "You are a coding agent.\n"
	for _, f := range files {
		prompt += fmt.Sprintf("<file path=%q>\n%s\n</file>\n", f.Path, f.Source)
	}
	prompt += "What does the program print?"
	fmt.Println(strings.Count(prompt, "<file"), "files, and nobody knows how many tokens")
	// Output: 3 files, and nobody knows how many tokens
}

func Example_step2Tree() {
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		el.User(
			el.Each(files, func(f File) el.Node {
				return el.Tag("file", el.Attr("path", f.Path), el.Fence("go", f.Source))
			}),
			el.Text("What does the program print?"),
		),
	)
	result, err := render.Render(ctx, prompt, render.Options{Budget: 85, Tokenizer: tokenizer})
	if err != nil {
		log.Fatal(err)
	}
	show(result)
	// Output:
	// system: You are a coding agent.
	// user: <file path="greeting.go">
	// ```go
	// package main
	//
	// // greeting is what is printed.
	// const greeting = "hello"
	// ```
	// </file>
	// <file path="main.go">
	// ```go
	// package main
	//
	// func main() { println(greeting) }
	// ```
	// </file>
	// What does the program print?
}

func Example_step3Priorities() {
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		el.User(
			el.Each(files, func(f File) el.Node {
				return el.Tag("file", el.ReportName(f.Path), el.Priority(f.Importance),
					el.Attr("path", f.Path), el.Fence("go", f.Source))
			}),
			el.Text("What does the program print?", el.Required),
		),
	)
	result, err := render.Render(ctx, prompt, render.Options{Budget: 55, Tokenizer: tokenizer})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Report())
	// Output:
	// System > Text       6 tokens   -            kept: required
	// User > doc.go       18 tokens  priority 10  dropped for the budget
	// User > greeting.go  16 tokens  priority 20  dropped for the budget
	// User > main.go      12 tokens  priority 30  kept
	// User > Text         6 tokens   -            kept: required
	// kept: 24 tokens, pieces: 3; dropped: 34 tokens, pieces: 2
	// joins and frames: 23 tokens; in all: 47 tokens
}

func Example_step4Trimmed() {
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		el.User(
			el.Each(files, func(f File) el.Node {
				return el.Tag("file", el.Priority(f.Importance), el.Attr("path", f.Path),
					el.Fence("go", f.Source, el.Least(4), el.Mark("…")))
			}),
			el.Text("What does the program print?", el.Required),
		),
	)
	result, err := render.Render(ctx, prompt, render.Options{Budget: 75, Tokenizer: tokenizer})
	if err != nil {
		log.Fatal(err)
	}
	show(result)
	// Output:
	// system: You are a coding agent.
	// user: <file path="greeting.go">
	// ```go
	// package main
	//
	// // greeting is what is printed.
	// …
	// ```
	// </file>
	// <file path="main.go">
	// ```go
	// package main
	//
	// func main() { println(greeting) }
	// ```
	// </file>
	// What does the program print?
}

func Example_step5Element() {
	passages := []string{
		"println writes to standard error.",
		"A constant is declared with const.",
		"The order of evaluation of package variables is that of their dependencies.",
	}
	search := func(ctx context.Context, s elements.Sizing) (el.Node, error) {
		room := s.TokenBudget
		var found el.Nodes
		for _, passage := range passages {
			if room -= s.CountText(passage + "\n"); room < 0 {
				break // as many as fit
			}
			found = append(found, el.Text(passage))
		}
		return found, nil
	}
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		el.User(
			el.Func(search, el.Priority(10), el.Grow(1)),
			el.Text("Where does the program print?", el.Required),
		),
	)
	result, err := render.Render(ctx, prompt, render.Options{Budget: 40, Tokenizer: tokenizer})
	if err != nil {
		log.Fatal(err)
	}
	show(result)
	// Output:
	// system: You are a coding agent.
	// user: println writes to standard error.
	// A constant is declared with const.
	// Where does the program print?
}

// talk appends turns to a session.
func talk(session *history.Session, turns int) {
	for i := range turns {
		question := chat.UserMessage(fmt.Sprintf("Question %d: what is in the file notes-%d.txt, and why is it there at all?", i, i))
		answer := chat.AssistantMessage("It holds what was noted on that day, so that nobody has to remember it.")
		if err := session.Append(ctx, question, answer); err != nil {
			log.Fatal(err)
		}
	}
}

func Example_step6Conversation() {
	session := &history.Session{} // in memory; history.Open keeps it in a file
	talk(session, 30)
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		history.All{Session: session},
	)
	_, err := render.Render(ctx, prompt, render.Options{Budget: 1000, Tokenizer: tokenizer})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		fmt.Printf("it takes %d tokens and has %d\n", over.Needed, over.Budget)
	}
	// Output:
	// it takes 1420 tokens and has 1000
}

func Example_step7Compaction() {
	session := &history.Session{}
	talk(session, 30)
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		history.All{Session: session},
	)
	compactor := &summarize.Compactor{
		Session: session,
		Target:  summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 1000},
		Policy:  copilotchat.Policy(),
	}
	defer compactor.Close()
	result, err := compactor.Render(ctx, prompt)
	if err != nil {
		log.Fatal(err)
	}
	kept := 0
	for e, err := range session.Entries(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Type() == entry.TypeMessage {
			kept++
		}
	}
	fmt.Printf("%d messages in %d tokens; the session has all %d\n", len(result.Messages), result.Tokens, kept)
	// Output:
	// 4 messages in 237 tokens; the session has all 60
}

// The model is scripted: it calls a tool, and answers with the tool's result.
func Example_step8Agent() {
	model := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == chat.RoleTool {
			return chat.Response{Message: chat.AssistantMessage("It is " + last.Text() + ".")}, nil
		}
		call := chat.ToolCall{ID: "call_1", Name: "time", Arguments: "{}"}
		return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}}, nil
	})
	session := &history.Session{}
	prompt := el.Prompt(history.All{Session: session})
	compactor := &summarize.Compactor{
		Session: session,
		Target:  summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Name: "gpt-4o", Tokenizer: tokenizer, Budget: 1000},
		Policy:  copilotchat.Policy(),
	}
	defer compactor.Close()
	now, err := agent.Tool("time", "The time of day.", func(context.Context, struct{}) (string, error) { return "noon", nil })
	if err != nil {
		log.Fatal(err)
	}
	compactor.Target.Model = model
	worker := &agent.Agent{Compactor: compactor, Prompt: prompt, Tools: []chat.Toolbox{now}}
	answer, err := worker.Run(ctx, "How late is it?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Message().Text())
	// Output: It is noon.
}

// One prompt at four budgets: the hints are dropped one by one, and a file is trimmed to the lines that fit.
func Example_budgets() {
	type file struct {
		path, source string
		priority     int
	}
	files := []file{
		{"main.go", "package main\n\nfunc main() {\n\tprintln(greeting)\n\tprintln(farewell)\n}\n", 30},
		{"greeting.go", "package main\n\nconst greeting = \"hello\"\nconst farewell = \"goodbye\"\n\n// Nobody says these.\nconst (\n\ta = \"ahoy\"\n\tb = \"hey\"\n)\n", 20},
		{"doc.go", "// Package main prints a greeting and a farewell.\npackage main\n", 10},
	}
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		el.User(
			el.Ranked(el.Priority(20), el.ReportName("hints"),
				el.Text("The program was built with Go 1.26."),
				el.Text("It has no tests."),
				el.Text("It was written on a Monday."),
			),
			el.Each(files, func(f file) el.Node {
				return el.Tag("file", el.Priority(f.priority), el.ReportName(f.path), el.Attr("path", f.path), el.Fence("go", f.source))
			}),
			el.Text("What does the program print?", el.Required),
		),
	)
	layout, err := render.Lay(context.Background(), prompt, render.Options{Budget: 200, Tokenizer: tiktoken.O200k()})
	if err != nil {
		fmt.Println(err)
		return
	}
	var results []*render.Result
	for _, budget := range []int{200, 120, 95, 75} {
		result, err := layout.Fit(context.Background(), budget)
		if err != nil {
			fmt.Println(err)
			return
		}
		results = append(results, result)
	}
	fmt.Print(render.Compare(2, results...))
	// Output:
	// 200   120        95                 75
	// Root              kept  81 of 101  53 of 101          31 of 101
	//   System          kept  kept       kept               kept
	//   User            kept  75 of 95   47 of 95           25 of 95
	//     hints         kept  16 of 23   dropped            dropped
	//     main.go       kept  kept       kept               kept
	//     greeting.go   kept  kept       trimmed: 22 of 34  dropped
	//     doc.go        kept  dropped    dropped            dropped
	//     Text          kept  kept       kept               kept
	// joins and frames  54    39         39                 23
}

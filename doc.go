// Package promptree is the entry page of a module for people who build agents on language models. Write the prompt as a
// tree with priorities, and it always fits its token budget. If the conversation itself does not fit, it is compacted
// without losing a word.
//
// There is nothing to import here. The packages, in the order in which you meet them:
//
//   - elements/el: constructors to write a prompt with; elements has the structs that they return.
//   - render: turns a tree into messages within a budget, and reports what was dropped.
//   - sizing: budgets, prices and estimates; sizing/counters picks the best counter of a model, and sizing/local asks
//     local servers for their context windows.
//   - history: conversations in an append-only log, and the elements that show them.
//   - sources/instructions, sources/skills, sources/tools, sources/mcp: AGENTS.md files, skills, tools found by a search, and
//     servers of the Model Context Protocol.
//   - summarize: compacts a conversation that overflows its window; summarize/agent runs an agent.
//   - elements/chat: messages, parts, tool calls and the Model interface, as plain data.
//   - render/openai, render/anthropic, render/gemini: models, each in a module of its own.
//
// The tutorial grows one prompt from a string to an agent. Each step is an example, to run and to copy.
//
// # Step 1: a string
//
// A prompt may be put together with fmt:
//
//	prompt := "You are a coding agent.\n"
//	for _, f := range files {
//		prompt += fmt.Sprintf("<file path=%q>\n%s\n</file>\n", f.Path, f.Source)
//	}
//	prompt += "What does the program print?"
//
// Nobody knows how many tokens that takes, or what to leave out if it is too many.
//
// # Step 2: a tree
//
// The same prompt as a tree, rendered within a budget:
//
//	prompt := el.Prompt(
//		el.System(el.Text("You are a coding agent.")),
//		el.User(
//			el.Each(files, func(f File) el.Node {
//				return el.Tag("file", el.Attr("path", f.Path), el.Fence("go", f.Source))
//			}),
//			el.Text("What does the program print?"),
//		),
//	)
//	result, err := render.Render(ctx, prompt, render.Options{Budget: 85, Tokenizer: tokenizer})
//
// result.Messages are the messages to send, and they fit. Here the first file was dropped: among pieces of equal
// priority, the earliest is dropped first. el.Tag escapes text; el.Fence puts code between fences and leaves it as it
// is.
//
// # Step 3: priorities
//
// Among siblings, the lowest priority is pruned first. A Required piece is never pruned:
//
//	el.Each(files, func(f File) el.Node {
//		return el.Tag("file", el.ReportName(f.Path), el.Priority(f.Importance),
//			el.Attr("path", f.Path), el.Fence("go", f.Source))
//	}),
//	el.Text("What does the program print?", el.Required),
//
// The report lists each piece with its tokens and its outcome.
//
// # Step 4: text that is trimmed
//
// A fence, like el.Lines, ends at the last line that fits instead of being dropped, unless too little would be left: 16
// tokens by default. So of files with priorities, the most important are whole, one is trimmed, and the budget is used:
//
//	return el.Tag("file", el.Priority(f.Importance), el.Attr("path", f.Path),
//		el.Fence("go", f.Source, el.Least(4), el.Mark("…")))
//
// # Step 5: an element of your own
//
// To look something up, write an element: it is told how many tokens it may use. el.Func makes one from a function; any
// type with this Render method is one too:
//
//	search := func(ctx context.Context, s elements.Sizing) (el.Node, error) {
//		room := s.TokenBudget
//		var found el.Nodes
//		for _, passage := range passages {
//			if room -= s.CountText(passage + "\n"); room < 0 {
//				break // as many as fit
//			}
//			found = append(found, el.Text(passage))
//		}
//		return found, nil
//	}
//
// # Step 6: a conversation
//
// A session stores the conversation, and an element shows it:
//
//	prompt := el.Prompt(
//		el.System(el.Text("You are a coding agent.")),
//		history.All{Session: session},
//	)
//
// It is required by default, so that no message is lost silently. If it does not fit, the render fails:
//
//	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
//		fmt.Printf("it takes %d tokens and has %d\n", over.Needed, over.Budget)
//	}
//
// # Step 7: compaction
//
// A compactor renders the same prompt, and has a model summarise old history if the prompt does not fit. The session
// keeps every word. This model, which needs no network, only writes summaries:
//
//	compactor := &summarize.Compactor{
//		Session: session,
//		Target:  summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 1000},
//		Policy:  copilotchat.Policy(),
//	}
//	defer compactor.Close()
//	result, err := compactor.Render(ctx, prompt)
//
// Who renders without a compactor goes from the error to the summary in six lines:
//
//	result, err := render.Render(ctx, prompt, options)
//	if _, over := errors.AsType[*render.BudgetExceededError](err); over {
//		if _, err = compactor.Compact(ctx, ""); err == nil {
//			result, err = render.Render(ctx, prompt, options)
//		}
//	}
//
// summarize.History is an element that does the same.
//
// # Step 8: an agent
//
// An agent says what the user says, and makes steps until the model has finished. A step renders, compacts, asks the model,
// retries after failures that may pass, recovers if the provider refuses the request as too large, appends the answer, and
// calls the tools. The compactor's target is now a model that answers, such as one of package render/openai. A tool is a
// function; its parameters are the fields of a struct:
//
//	now, err := agent.Tool("time", "The time of day.", func(context.Context, struct{}) (string, error) { return "noon", nil })
//	if err != nil {
//		log.Fatal(err)
//	}
//	compactor.Target.Model = model
//	worker := &agent.Agent{Compactor: compactor, Prompt: prompt, Tools: []chat.Toolbox{now}}
//	answer, err := worker.Run(ctx, "How late is it?")
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(answer.Message().Text())
//
// # Recipes
//
// More examples are recipes: retrieval that fills the remaining tokens, files with their tests, few-shot examples that are
// dropped first, many tools, instruction files with skills and tools that the model finds, cheap summaries, a switch of
// models, resuming a session, a model on a server of your own, and sub-agents. go doc prints no examples: they are in
// example_test.go and recipes_test.go of the module. The directory examples has whole programs.
package promptree

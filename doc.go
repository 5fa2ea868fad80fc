// Package promptree is the front door of a module for people who build agents on language models: write the prompt as a
// tree, say what matters, and it always fits; when it cannot, the conversation is compacted without losing a word.
//
// There is nothing to import here. The packages, in the order in which one meets them:
//
//   - elements/el: constructors to write a prompt with; elements has the structs that they return.
//   - render: from a tree to messages within a budget, and a report of what was dropped.
//   - sizing: what things cost, and what a window holds; sizing/tiktoken has exact counters, and
//     sizing/local asks local servers for their windows.
//   - history: what was said, in an append-only log, and the elements that show it.
//   - summarize: what happens when the window overflows; summarize/agent is one request of an agent with all around it.
//   - elements/chat: messages, parts, tool calls and the Model interface, as plain data.
//   - render/openai, render/anthropic, render/gemini: models, each in a module of its own.
//
// What follows grows one prompt from a string to an agent. Each step is an example below, to run and to copy from.
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
// Nobody knows how many tokens that takes, and nothing says what may go if it is too many.
//
// # Step 2: a tree
//
// The same as a tree, rendered within a budget:
//
//	prompt := el.Prompt(
//		el.System(el.Text("You are a coding agent.")),
//		el.User(
//			el.Each(files, func(f File) el.Node {
//				return el.Tag("file", el.Attr("path", f.Path), el.Text(f.Source))
//			}),
//			el.Text("What does the program print?"),
//		),
//	)
//	result, err := render.Render(ctx, prompt, render.Options{Budget: 75, Tokenizer: tokenizer})
//
// The messages to send are those of the result, and they fit. Here the first file had to go: among pieces of one priority the earliest
// goes first.
//
// # Step 3: what matters
//
// Priorities say what goes first, the lowest of siblings; what is Required never goes:
//
//	el.Each(files, func(f File) el.Node {
//		return el.Tag("file", el.ReportName(f.Path), el.Priority(f.Importance),
//			el.Attr("path", f.Path), el.Text(f.Source))
//	}),
//	el.Text("What does the program print?", el.Required),
//
// The report lists each piece with its tokens and what became of it.
//
// # Step 4: text that is trimmed
//
// el.Lines ends at a line that still fits instead of going whole. It is cut to its share of the budget when it is laid out, and
// el.Grow says who is given room first, so let it fall as the priorities do:
//
//	return el.Tag("file", el.Priority(f.Importance), el.Grow(f.Importance),
//		el.Attr("path", f.Path), el.Lines(f.Source))
//
// # Step 5: an element of your own
//
// What has to be looked up is an element that is told how much room it has. el.Func makes one of a function, and so is any type
// with this Render method:
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
// A session keeps what was said, and three elements show it:
//
//	prompt := el.Prompt(
//		el.System(el.Text("You are a coding agent.")),
//		history.Conversation{Session: session}, // the turns that are over
//		history.TurnStart{Session: session},    // what the user asks now
//		history.TurnRounds{Session: session},   // what the agent has done about it
//	)
//
// They are required, so that nothing that was said is lost silently. What does not fit is an error:
//
//	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
//		fmt.Printf("it takes %d tokens and has %d\n", over.Needed, over.Budget)
//	}
//
// # Step 7: compaction
//
// A compactor renders the same prompt, and has a model write a summary of what is old if it does not fit. The session keeps
// every word:
//
//	compactor := &summarize.Compactor{
//		Session: session,
//		Target:  summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 1000},
//		Policy:  copilotchat.Policy(),
//	}
//	defer compactor.Close()
//	result, err := compactor.Render(ctx, prompt)
//
// # Step 8: an agent
//
// An agent's step renders, compacts, asks the model, waits if a failure may pass, recovers if the request is refused as too large,
// and appends the answer. What tools return is yours to append:
//
//	steps := &agent.Agent{Compactor: compactor, Prompt: prompt}
//	for {
//		answer, err := steps.Step(ctx)
//		if err != nil {
//			log.Fatal(err)
//		}
//		for _, call := range answer.Message().ToolCalls {
//			if err := session.Append(ctx, chat.ToolResult(call.ID, run(call))); err != nil {
//				log.Fatal(err)
//			}
//		}
//		if len(answer.Message().ToolCalls) == 0 && !answer.GoOn {
//			fmt.Println(answer.Message().Text())
//			return
//		}
//	}
//
// # Recipes
//
// The other examples below are recipes: retrieval that fills what is left, files with their tests, examples for the model that go first,
// many tools, cheap summaries, a switch of models, and a session that is resumed. The directory examples has whole programs.
package promptree

// Package inspect writes a page that shows where the tokens of a prompt went: which pieces were kept, trimmed and
// dropped, why, and what another budget would keep.
//
//	result, err := render.Render(ctx, prompt, render.Options{Budget: 8_000, Tokenizer: tokenizer})
//	…
//	file, err := os.Create("prompt.html")
//	…
//	err = inspect.Prompt(ctx, file, inspect.Options{}, inspect.Rendered{Result: result, Tokenizer: tokenizer})
//
// A page is one HTML file. It needs no server and no network, and a policy in it forbids both. It holds the texts of
// the prompt, each once, as data that cannot become markup or script; [Options.HideContent] leaves them out.
//
// [Prompt] shows one prompt. It can compare it with others, for example the same prompt before a change: their first
// difference, and how much of a provider's cache that costs. [Session] shows the steps of an agent that a [Steps]
// collected: what filled the context window, what was compacted or cleared, where the cache broke, and each step's
// prompt. Package summarize/record collects the steps of a compactor.
//
// # Other budgets
//
// The page's slider shows what a prompt keeps at other budgets. Nothing is rendered for that: [render.Result.Survey]
// returns the exact budget from which on each piece is kept. If it is refused, or says nothing about a budget, the page
// says so. The messages are always those that were sent, wherever the slider is.
//
// # Costs
//
// A page takes 125 kB, plus the texts, plus some 200 bytes a piece. In a session, anything that steps have in common is
// written once: 484 steps with 1,003 messages of 2.3 MB are a page of 2.5 MB, and 1,000 steps, each with all previous
// messages, one of 3.3 MB.
//
// Adding a step takes a pass over its prompt: 5 ms for 1,500 messages.
//
// # The front end
//
// page.js and page.css are built from the sources in web, by
//
//	go generate ./render/inspect
//
// which needs Node. A test checks that they are up to date.
package inspect

//go:generate npm --prefix web ci --ignore-scripts
//go:generate npm --prefix web run build

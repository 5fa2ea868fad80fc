// Package inspect writes a page that shows where the tokens of a prompt went: what was kept, trimmed and dropped, why, and what another
// budget would keep.
//
//	result, err := render.Render(ctx, prompt, render.Options{Budget: 8_000, Tokenizer: tokenizer})
//	…
//	file, err := os.Create("prompt.html")
//	…
//	err = inspect.Prompt(ctx, file, inspect.Options{}, inspect.Request{Result: result, Tokenizer: tokenizer})
//
// A page is one HTML file that needs no server and no network, and a policy in it forbids both. It holds the texts of the prompt, each once, as data
// that cannot become markup or script; [Options.HideContent] leaves them out.
//
// [Prompt] shows one prompt, and beside it others, such as the same one before a change: their first difference, and how much of a
// provider's cache that costs. [Session] shows the steps of an agent that a [Log] collected: what filled the context window, what was
// compacted or cleared, where the cache broke, and each step's prompt. Package summarize/record collects them from a compactor.
//
// # Other budgets
//
// The page's slider shows what a prompt keeps at other budgets. Nothing is rendered for that: [render.Result.Survey] says from which
// budget on each piece is kept, exactly. For budgets of which it says nothing, or if it is refused, the page says so. The messages are
// those that were sent, whatever the slider shows.
//
// # Costs
//
// A page takes 120 kB, the texts, and some 200 bytes a piece. In a session what steps have in common is there once, so that a step adds what
// is new in it: 484 steps with 1,003 messages of 2.3 MB are a page of 2.5 MB, and 1,000 steps, each of which shows all before it, one of 3.3 MB.
//
// To add a step takes a pass over its prompt: 5 ms if it shows 1,500 messages.
//
// # The front end
//
// page.js and page.css are made of the sources in web, by
//
//	go generate ./render/inspect
//
// which needs Node. A test checks that they are what the sources give.
package inspect

//go:generate npm --prefix web ci --ignore-scripts
//go:generate npm --prefix web run build

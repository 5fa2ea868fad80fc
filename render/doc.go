// Package render turns a tree of elements into messages that fit a token budget, and says what it dropped.
//
//	result, err := render.Render(ctx, prompt, render.Options{Budget: 8_000, Tokenizer: tokenizer})
//	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
//		log.Printf("needs %d tokens, has %d", over.Needed, over.Budget)
//	}
//	send(result.Messages)
//
// [Render] says in which steps it works. What goes first when a prompt is too large is written down, rule by rule, at
// the function prune in prune.go; the rules are those of @vscode/prompt-tsx 0.4. [Result.Report] lists every piece with
// its path, its tokens and what became of it.
//
// # Required pieces
//
// Props.Required keeps an element from ever being pruned. A chunk, and a KeepWith group, with a required piece in it is
// required whole. What does not fit then is a [*BudgetExceededError] that names the largest pieces that could not go.
//
// # Reading the source
//
// A stage is a file. layout.go renders elements and shares the budget (share.go); tree.go is the tree that is pruned and
// how its pieces join to messages; fit.go keeps the limits and grows what may grow; prune.go takes pieces out, but for
// what required.go has locked; report.go tells.
package render

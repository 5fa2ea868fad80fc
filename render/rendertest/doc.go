// Package rendertest tests prompts at several budgets: what is kept, trimmed and dropped, as a golden file, and what a
// render costs, as a benchmark. Each takes one line:
//
//	func TestPrompt(t *testing.T) {
//		rendertest.Golden(t, prompt(), render.Options{Tokenizer: tiktoken.O200k()}, 80, 400, 2_000)
//	}
//
//	func BenchmarkPrompt(b *testing.B) {
//		rendertest.Benchmark(b, prompt(), render.Options{Tokenizer: tiktoken.O200k()}, 80, 400, 2_000)
//	}
//
// The golden file of a test is testdata/NAME.golden. Write it, and write it again after a change that is meant, with
//
//	PROMPTREE_UPDATE=1 go test ./...
//
// It has a block for each budget, in which a line is one piece, or several that differ only in their numbers:
//
//	80 tokens: 72 used, 2 messages
//	  kept     System > Text (6)
//	  kept     User > file ×2 (21)
//	  dropped  User > file#3 (19)
//
// To test one thing in code, [render.Result.Kept] reports whether something of an element is left, by its name.
package rendertest

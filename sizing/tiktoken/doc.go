// Package tiktoken counts tokens as OpenAI's models do.
//
// A [Counter] is a [chat.Tokenizer]. [ForModel] makes the one that fits a model, [O200k] and its like one of an encoding:
//
//	counter, err := tiktoken.ForModel("gpt-4o")
//	...
//	tokens := counter.CountMessage(chat.UserMessage("How many Go files are there?"))
//
// [WindowOf] says how much a model takes in, so that a budget follows:
//
//	window, err := tiktoken.WindowOf("gpt-4o")
//	...
//	budget, err := window.Budget(counter.CountTools(tools))
//
// # What is exact
//
// Texts are counted exactly, with the byte pair encodings that OpenAI publishes. Nothing is downloaded: the tables are
// linked into the program. What is a letter, a mark or a number is what it is to OpenAI's own tiktoken, which goes by
// Unicode 16; 5,055 characters that Unicode has had since version 15.1 or 16 are others in Go's tables, and so to tiktoken-go.
// One thing is as in tiktoken-go and not as in OpenAI's: a long s (ſ) after an apostrophe makes no contraction.
//
// A message costs 3 tokens beyond its texts, and 1 for each name in it, which is the rule that OpenAI's cookbook gives.
// A request costs [ReplyPriming] more, whatever its messages, and that belongs in [sizing.Window.Answer].
//
// The rest is as near as what OpenAI has published allows:
//
//   - Images are counted by the formula for the model's family. What OpenAI decides by itself (the detail "auto", an
//     image behind an https URL) is taken at its upper bound.
//   - Tool definitions reach the model in a form that OpenAI has not documented. [Counter.CountTools] counts the form
//     that the community has found out.
//   - Documents are counted by a rule of thumb, see [Counter.CountPart].
//
// # What it costs
//
// A program carries the tables of the encodings that it names: o200k_base is 4.8 MB, cl100k_base 2.4, p50k_base and r50k_base 1.2
// each. [ForModel] carries the first two, [New] all four. They are used where they lie, and nothing is built from them: a first
// counter takes 0.1 to 0.2 milliseconds, and of the tables only the pages are read that a text
// leads to (3.6 MB for a session of 2.4 MB), which take no room on the heap. Time is proportional to the length of a
// text, whatever it says: prose and code take 5 to 10 milliseconds a megabyte, random letters without a break some
// 100.
//
// Counts add up, see [Counter.SafeCut].
//
// A counter remembers what it counted lately, so that a long conversation rendered again and again is counted once: up
// to 32,768 texts of 64 bytes or more, each as a hash of 128 bits and a number, and up to 16,384 words of more than one
// token; 1.2 MB in all. Keep one counter and share it: it is safe for concurrent use.
package tiktoken

// Package tiktoken counts tokens as OpenAI's models do.
//
// A [Counter] is a [chat.Tokenizer]. [ForModel] returns the counter of a model, and [O200k], [Cl100k], [P50k] and
// [R50k] that of an encoding:
//
//	counter, err := tiktoken.ForModel("gpt-4o")
//	...
//	tokens := counter.CountMessage(chat.UserMessage("How many Go files are there?"))
//
// A model's context window, from which the budget follows, is in sizing/modelinfo:
//
//	model, err := modelinfo.Find("gpt-4o")
//	...
//	budget, err := model.WindowFor(8192 + tiktoken.ReplyPriming).Budget(counter.CountTools(tools))
//
// # What is exact
//
// Texts are counted exactly, with the byte pair encodings that OpenAI publishes. Nothing is downloaded: the tables are
// linked into the program. Letters, marks and numbers are classified as in OpenAI's own tiktoken, by Unicode 16; Go's
// tables, and so tiktoken-go, classify 5,055 characters differently that were added by Unicode 15.1 and 16. In one case
// the count follows tiktoken-go and not OpenAI: a long s (ſ) after an apostrophe is not a contraction.
//
// A message costs 3 tokens beyond its texts, and 1 for each name in it, by the rule in OpenAI's cookbook. A request
// costs [ReplyPriming] more, whatever its messages; that belongs in [sizing.Window.Answer].
//
// The rest is as close as OpenAI's publications allow:
//
//   - Images are counted by the formula for the model's family. What OpenAI decides by itself (the detail "auto", an
//     image behind an https URL) is counted at its upper bound.
//   - Tool definitions reach the model in a form that OpenAI has not documented. [Counter.CountTools] counts the form
//     that the community has worked out.
//   - Documents are counted by a rule of thumb, see [Counter.CountPart].
//
// # What it costs
//
// A program links the tables of the encodings that it names: o200k_base is 5.1 MB, cl100k_base 2.6, p50k_base and
// r50k_base 1.3 each. [ForModel] links the first two, [New] all four. The tables are used in place and nothing is built
// from them: creating the first counter takes 0.1 to 0.2 milliseconds, and only the pages that a text needs are read
// (3.6 MB for a session of 2.4 MB), none of it on the heap. Time is proportional to the length of a text, whatever it
// says: prose and code take 5 to 10 milliseconds a megabyte, runs of a character and other repetitions up to 40, random
// letters without a break about 100, and a word of many runs of different signs up to 250.
//
// Counts add up, see [Counter.SafeCut].
//
// A counter remembers recent counts, so that a long conversation rendered again and again is counted once: up to 32,768
// texts of 64 bytes or more, each as a hash of 128 bits and a number, and up to 16,384 words of more than one token;
// 1.4 MB in all, with buffers. Keep one counter and share it: it is safe for concurrent use.
package tiktoken

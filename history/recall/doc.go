// Package recall holds tools by which an agent reads and searches everything that was said in its session, also
// what its prompt no longer shows or shows cut:
//
//	session, err := history.Open("session.jsonl", history.Options{Recall: true})
//	...
//	steps := &agent.Agent{Compactor: compactor, Prompt: prompt, Tools: []chat.Toolbox{recall.Tools{}}}
//
// The agent (package summarize/agent) declares the tools and answers their calls; so do mirrors and the adapters to agent
// frameworks. Elsewhere, declare [Tools.Declared] and call [Tools.Answer]. With [history.Options].Recall, the marks in a
// prompt hold calls of these tools.
//
// # Reading
//
// [history.ReadTool] returns a part of what an entry says ([entry.Entry.Text]), by offsets in bytes:
//
//	read_session({"entry":"0c1…","from":1200,"to":90400})
//
// An answer begins and ends at whole characters, says how long the text is, and ends with the call that reads on. By
// following those calls every byte can be read. The text stands between tags; in it, as in what a search shows, a backslash
// is put into what would end them or reads as a mark of promptree's. The end of an id, of 4 bytes or more, may stand
// for the id if no other entry's id ends in it. Bytes that are not UTF-8 are shown as U+FFFD.
//
// # Searching
//
// [history.SearchTool] finds the entries that were said and hold all of some words, or match a pattern, the newest
// first:
//
//			search_session({"query":"policy.go \"let it go\" retr*"})
//			search_session({"pattern":"E[0-9]{4}"})
//
//		  - A word is found in any case, and anywhere, also within a longer word, so that parts of paths and identifiers are
//		    found. With a * at its end it is found only at the start of a word.
//		  - A phrase in quotes is found as it stands, in any case. It is also found in JSON, where quotes and line ends in it
//		    are escaped.
//		  - A pattern is a regular expression of package [regexp]. It has at most 1,000 bytes, and repetitions with
//	    counts that are not large.
//
// Each match is shown with its role, the name of the tool, the places of the word that occurs least there, first those
// near which the others stand, and the call that reads from the first. An answer says how many older entries match, and holds the call that shows them. A call
// searches at most 32 MiB for at most 2 seconds, also within an entry; its answer then holds the call that goes on.
// Calls of these two tools and their results are not searched.
//
// # Pinning
//
// With [Tools].Pins the agent may pin entries, which then stay word for word through compactions:
//
//	pin_session({"entry":"0c1…"})
//
// # Limits
//
// No answer exceeds [Tools].MaxBytes and MaxTokens, unless ids or names of tools have more than 64 bytes. A prompt cuts
// results that take more than half of its budget ([history.Limits]), so set MaxTokens to an eighth of the budget or
// less, which [MinBytes] allows for budgets of 4,000 tokens or more: 1,000 bytes are 250 to 500 tokens.
package recall

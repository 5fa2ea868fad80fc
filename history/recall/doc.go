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
// [history.SearchTool] finds what was said near some words, the more of them the better:
//
//	search_session({"query":"policy.go retry budget clearing Loss"})
//
// What was said is ranked in pieces of some 900 bytes, by BM25 over the first 64 words of the query: in any case, in any
// language, words of camel and snake case as a whole and by their parts, and in JSON without its escapes. The best 20
// pieces are shown, unless they match much less than the best; of equal ones the newest comes first, and what the prompt
// shows as it was said comes last. A piece beside one that matches ranks higher. Those of one entry stand together, each
// after its offset, with the entry's role, the name of the tool, and the call that reads on from the best. With less room
// for the answer the pieces are cut around the rarest words, and then there are fewer, down to 10. Words that are in no
// piece are looked for within longer ones, as below.
//
// Phrases, starts of words and patterns are looked for in whole entries, in which all must occur; the newest come first:
//
//		search_session({"query":"policy.go \"let it go\" retr*"})
//		search_session({"pattern":"E[0-9]{4}"})
//
//	  - A phrase in quotes is found as it stands, in any case. It is also found in JSON, where quotes and line ends in it
//	    are escaped.
//	  - A word with a * at its end is found at the start of words. One without is found anywhere, also within a longer word.
//	  - A pattern is a regular expression of package [regexp]. It has at most 1,000 bytes, and repetitions with counts that
//	    are not large.
//
// Each match is shown with the places of the word that occurs least there, first those near which the others stand. An
// answer says how many older entries match, and holds the call that shows them.
//
// A call searches at most 32 MiB so, or 96 MiB by rank, for at most 2 seconds, also within an entry; its answer then holds
// the call that goes on. Calls of these two tools and their results are not searched.
//
// # Memory
//
// What was read to rank the path to the leaf is kept, in about half of the bytes of the texts, so that the next search
// reads only what is new. It is kept in the session's [history.Cache], which holds entries too, and forgets what was not
// used for longest: so one bound, 64 MiB by default, holds for all sessions of a process, and whoever makes the cache
// owns it. What has no room there is read again by each search.
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
// results that take more than half of its budget ([history.RoundLimits]), so set MaxTokens to an eighth of the budget or
// less. An answer always has room for 1,000 bytes, 250 to 500 tokens, so that this holds for budgets of 4,000 tokens or more.
package recall

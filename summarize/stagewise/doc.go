// Package stagewise has the policy by which the agent of stagewise compacts its history, as its documentation describes
// it.
//
// A model writes a briefing of the older part of a conversation while the agent works on. The briefing replaces that
// part, and the newest messages stay word for word. Each later briefing includes the previous one.
//
//	compactor := &summarize.Compactor{
//		Session: session,
//		Target:  target,
//		Models:  models, // those named below, by their names
//		Policy:  stagewise.Policy(),
//	}
//
// [Policy] returns the policy, [Briefing] is its prompt, [CompactHistory] shows the history in it, and
// [ToolLines] are for changes to it.
//
// # When it compacts
//
// It compacts once more than 65% of the context window is used, or more than 200,000 tokens, whichever is less. The
// tokens used are our own count of the prompt, scaled by what the provider reported of the newest request. They are
// checked with each prompt, and after a turn by [summarize.Compactor.AfterTurn]. The briefing is made in the
// background, one at a time, and the first prompt after it is finished shows it. The chat agent of stagewise compacts
// at 50%:
//
//	p.Trigger[0].Ratio = 0.5
//
// # Where it cuts
//
// From the end, messages are kept until there are 10, as long as they take at most 20% of the context window and at
// most 40,000 tokens. A last message that takes more is kept alone, with a warning: [event.Started] has Over
// set. If there is nothing before the cut, nothing is done. A policy that keeps as much as it compacts at is refused.
//
// # What the model is shown and asked for
//
// Nothing is cleared. The history is text: each message of the user in <user>, with its attachments and mentions before
// what was said, and each of the assistant in <assistant>, with one line for each tool call, such as [read: go.mod] or
// [shell: go test → exit 1]. The output of tools is left out. An error follows ✗, and an unknown tool is shown by its
// name. Calls of stagewise's own tools have the lines that its program of May 2026 (1.0.0-alpha) writes, made of the same
// arguments and results:
//
//	write                  [created: path] if the message of the result says so, or [wrote: path]
//	multiEdit              [edited: path (2 edits)]
//	copy                   [copied: path → path] or [moved: path → path]
//	delete                 [deleted: path]
//	glob                   [glob: **/*.go]
//	grepSearch             [searched: "query" in *.go]
//	executeShellCommand    [shell: explanation → ✓], → exit 1 or → timed out
//	executeSandboxJs       [sandbox: explanation]
//	getLintingDiagnostics  [lint: path, path → clean] or → 2 errors, 1 warnings
//	askUserQuestions       [asked user: title → label: answer; label: answer], or the reason why there are none
//	listLibraryDocs        [docs-search: name]
//	searchInLibraryDocs    [docs-read: library → topic]
//
// The previous briefing comes first, in <previous-chat-history>, and nothing that it covers is shown again. Its length
// decides what the model does with it:
//
//   - Below 60% of the target it is taken over word for word.
//   - From 60% on its oldest sections are tightened a little.
//   - From 85% on its oldest settled sections are condensed.
//
// A briefing aims at 30,000 characters: a heading of the second level for each topic, with prose below. Old, settled
// topics get two to four sentences. Recent ones are told in full, and the end describes the current state. Links,
// decisions of the user, colours, directories and settings are copied word for word.
//
// Three models are asked one after the other: gemini-3.1-flash-lite, gpt-5.4-nano, claude-haiku-4.5; then the agent's
// own, unless it was one of them. Each has 30 seconds and 20,000 tokens, at a temperature of 0.1. An answer of fewer
// than 30 characters is refused.
//
// # What is put in place
//
// One user message replaces everything before the cut: the briefing in <previous-chat-history>. The cut is found again
// by the id of its entry. If that entry was undone while the model wrote, the briefing is dropped with a warning.
//
// # What happens on failure
//
// If all models fail, [event.Failed] says so, at the level of warnings in a log, and the agent goes on with
// its history as it is.
//
// # What differs
//
// The policy differs from the documentation of stagewise in these points:
//
//   - A prompt that does not fit [policy.Target].Budget waits up to a minute for a briefing that is being made, or
//     is compacted before it is returned. If that fails, rendering it is an error: no request is sent that is known to
//     be too large. If it takes longer than a minute, the error is a [*summarize.PendingError]; the briefing is made to
//     its end, and a later prompt shows it.
//   - The documentation has no answer to a request that the provider refuses as too large. Here
//     [summarize.Compactor.Recover] returns the same prompt after a first refusal that names no limit, because it may
//     be a mistake, and then the prompt without its oldest history: nine tenths of the limit, or half of the size with
//     each refusal. The session keeps the history, and nothing is compacted.
//   - After failures an attempt is made after 1 step of the agent, then 2, then 4, up to 10, and not at every step:
//     models that are down would be asked each time. A prompt that does not fit asks once each time that it is
//     rendered.
//   - Nothing is done if the covered history takes no more than a briefing may take: it might save nothing.
//   - A briefing may take a fifth of the budget, and at most 20,000 tokens, so that the prompt fits with it. In a
//     budget of less than about 38,000 tokens that is less than 30,000 characters of English, and then it is both the
//     target and a limit. A longer briefing is shortened by the model once, and then cut at a section. A model may
//     answer half as much again as there is room for, or 2,000 tokens more, and at most half of its window, but never
//     more than 20,000 tokens.
//   - An answer that was cut off at the output limit is refused: its newest sections, which matter most, are missing.
//   - If a turn is cut, its first message is still shown, because it holds the user's request, and its tokens count as
//     kept.
//   - Messages count as they are sent: a call and its result are two, which are never parted. So 10 messages may be 5
//     rounds.
//   - The application chooses how tokens are counted ([policy.Target].Tokenizer). [sizing.Estimator] estimates as
//     stagewise does: four characters a token, and 400 characters more for each message. It counts what is sent, which
//     is texts, calls, results and attachments; mentions and snapshots of the environment are not part of a message
//     here. The kept messages are measured by the provider's count, if that is known, and the briefing does not count
//     as kept.
//   - Mentions of a message are named if the application says how ([Briefing].Mentions): by the message, or by the data
//     that it keeps with it ([entry.Message].Data).
//   - A briefing is dropped even if its cut is still there, if the session went back to an entry before the one at
//     which it was begun. If a condition still holds, another is begun at once.
//   - If a model writes a wrapper tag nevertheless, a backslash is added to it, so that it closes nothing.
//   - One text takes at most a quarter of a request; the middle of a longer one is cut. A history that is larger than
//     the model takes in is summarised in segments, each with the briefing of those before it, unless [Briefing].Packs is
//     set. A tool's line has at most 400 bytes, and its error 200; there a label and the first line of an error have 80
//     characters.
//   - There are lines for the tools of other agents too, and for more tools, such as those that list folders. A call
//     without a result is marked.
//   - A tag stands on a line of its own, and texts are not escaped as in XML. An attachment is named by its type and URL,
//     because a message here has no names of files.
//   - After the briefing comes a pointer to the transcript, if the session is in a file. It takes about 100 tokens in
//     each prompt ([policy.Replace].NoBreadcrumb leaves it out).
//   - Of the three models only those in [summarize.Compactor].Models are asked. If there are none, the agent's own
//     reads the history.
//
// # Newer versions
//
// The values above are those of the documentation of 14 May 2026, which stagewise 1.29.0, of August 2026, still has. The
// program differs. 1.29.0 compacts above 100,000 tokens at the latest:
//
//	p.Trigger[0].Cap = 100_000
//
// It also differs in these points:
//
//   - 1.29.0 keeps 12 messages for the chat agent, which still compacts at 50%: set Cut.Messages to 12. Its setting
//     minUncompressed is at least 5.
//   - 1.29.0 asks its model "default", then deepseek-v4-flash, gpt-5.6-luna, gemini-3.1-flash-lite and claude-haiku-4.5,
//     or the models that the user chose for it, each with its provider and thinking; then those of the agent's preset.
//   - 1.29.0 asks no further model if a request goes on for 2 seconds after its 30 seconds are over, so that no two are
//     paid for at once.
//   - 1.29.0 escapes as in XML what stands in the lines of tools too, and not the texts alone.
//   - 1.29.0 lets an application add lines for its tools, as [ToolLines] does, and has lines for sessions of a shell and
//     for watchers.
//
// # What it costs
//
// A compaction changes the prompt right after the system messages: the provider's cache breaks once. The request for a
// briefing does not continue one of the agent's, so none of it is read from that cache, whichever model is asked. A
// briefing of the target's length takes about 7,500 tokens of English in each prompt from then on.
package stagewise

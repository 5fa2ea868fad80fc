// Package history keeps what was said and shows it in a prompt. It takes:
//
//   - A session: [Open] keeps it in a file, the zero [Session] in memory.
//   - [Session.Append], for what the user, the model and the tools say.
//   - The element [All], which shows it in a prompt.
//
// A session is only ever appended to. In a file it is one JSON object a line:
//
//	session, err := history.Open("session.jsonl", history.Options{})
//	if err != nil {
//		return err
//	}
//	defer session.Close()
//	err = session.Append(ctx, chat.UserMessage("Why does the build fail?"))
//
// An entry that Append has acknowledged outlives a crash and a loss of power ([storage.FileOptions] can trade that for
// speed). A line that a crash cut short is moved to a separate file by the next Open. A second writer gets a
// [*storage.LockedError] that names the first; readers are always let in. Only erasure rewrites what was said, so the
// file is also the transcript in which an agent looks up what a compaction left out.
//
// # What is kept
//
// An [entry.Entry] is a message or something else of a session. [Session.Add] takes all of them:
//
//	session.Add(ctx, entry.Entry{Body: entry.Shell{Command: "go vet", Output: out, ExitCode: 1}})
//	session.Add(ctx, entry.Entry{Body: entry.ModelChange{Model: "gpt-4o"}})
//
// A model sees messages, what the user ran ([entry.Shell]), what the application says in the user's place
// ([entry.CustomMessage]) and what was done on a branch that was left ([entry.BranchSummary]). It does not see the
// others, such as an [entry.Label], an [entry.Todos] or the [entry.Usage] of a request; [Session.Latest] finds the
// newest of a kind.
//
// # The tree
//
// Each entry follows another, its parent. Usually that is the entry appended before it, the leaf. To go back, continue
// from an earlier entry:
//
//	err := session.Branch(ctx, id)                                // an undo
//	err = session.Append(ctx, chat.UserMessage("Rather this.")) // starts a new branch after that entry
//
// The entries after it stay as another branch, to which Branch can return, and [Session.Abandoned] returns them for
// a summary:
//
//	old := session.Leaf()
//	summary := summarise(session.Abandoned(ctx, old, id))
//	session.Add(ctx, entry.Entry{Parent: id, Body: entry.BranchSummary{From: old, Summary: entry.Summary{Text: summary}}})
//
// [Turns] splits a path ([Session.PathTo]) into turns: a turn is a user message, or what takes its place, and the
// rounds that answer it; a round is one assistant message and the results of its calls.
//
//	for turn, err := range history.Turns(session.PathTo(ctx, "")) { … }
//
// # What a model sees
//
// [Session.View] returns what a model sees of the path to the leaf. After a compaction ([Session.Compact]) it starts
// with the messages of the latest [entry.Compaction] on the path, followed by the entries from the first one that the
// compaction keeps:
//
//	entries  e1 user  e2 assistant  e3 user  e4 assistant  e5 compaction, first kept e3  e6 user
//	view     the compaction's messages         e3 user  e4 assistant                     e6 user
//
// An [entry.Clearing] replaces old tool output, or old arguments of tool calls, by placeholders in what is shown from
// there on; a branch from before it shows the old output again.
//
// The same path always has the same view: a session that is opened again shows the same bytes, and a branch from before
// a compaction is not affected by it. A compaction names the entry at which it cuts, so it may take its time: what was
// said in the meantime is kept.
//
// [All] shows the view in a prompt:
//
//	prompt := el.Prompt(
//		el.System(el.Text(instructions)),
//		history.All{Session: session},
//	)
//
// A prompt that has something of its own in between shows the parts, each once and in this order: [Compacted], the
// summaries; [Conversation], the turns that are over (TurnsOnly after a Compacted); [TurnStart], what the user asks
// now; [TurnRounds], what the agent has done about it. [Session.WithView] sets the view that the elements show.
//
// The elements are required unless Droppable is set: history that does not fit is an error, which package summarize
// answers with a compaction, and is never lost silently. What they show obeys the providers' rules at any budget
// ([Round.Messages]), and is cached from one render to the next, so that a step of an agent costs only what it added.
//
// # Where it may be cut
//
// A [Cut] is a rule that says where a view is cut in two: what is older is summarised, what is newer is kept word for
// word. Its page lists its fields, which may be combined. A call is never separated from its result, and what is kept
// is never empty:
//
//	view, err := session.View(ctx)
//	sizing := elements.Sizing{Tokenizer: tokenizer, PromptBudget: budget, TokenBudget: budget} // as the prompt is rendered
//	point, err := history.Cut{Tokens: 20_000}.Find(ctx, view, sizing) // the newest 20,000 tokens are kept
//	summary := summarise(point.Covered())
//	err = session.Compact(ctx, entry.Compaction{FirstKept: point.FirstKept, Messages: []chat.Message{chat.UserMessage(summary)}})
//
// The budgets bound long results ([RoundLimits]). Package summarize does this whenever a prompt does not fit; by hand,
// summarize.MaterialOf cuts and says what to summarise.
//
// # Saving tokens without a model
//
// These change what is shown or sent; the session keeps every word:
//
//   - A [ClearRule] finds the [entry.Clearing] of old tool output, each result replaced by a placeholder, to be added
//     to the session.
//   - [RoundLimits] bound the fraction of the prompt's budget that the results of one round take; [Clip] cuts one text
//     in its middle.
//   - A [Truncator] is the last guard before a request: it removes the oldest messages from a list that is too long,
//     and reports what it did.
//   - A [PreviewRule] finds new output that is large, to be shown as a preview from its first request on.
//
// # What is left out can be read again
//
// Whatever is left out of what an agent sees leaves a mark with its size and its handle ([Session.Handle]): the call
// that reads it, or the file that has it.
//
//	[... 34928 tokens cut here: read_session({"entry":"0c1…","from":1200,"to":90400}) ...]
//	[output of 640 tokens left out here: /logs/s.jsonl.texts/0c1….txt]
//
// If the agent has the tools of package recall, open the session with [Options.Recall], and marks name them. Otherwise
// a session in a file keeps the texts of long entries beside it, in a folder of the log's name with ".texts", where
// tools for files can read them ([storage.FileOptions].NoTexts turns that off, [Session.TextsErr] says why some are
// missing). A session in memory without the tools has no handles. [Session.Pin] keeps an entry word for word through
// compactions.
//
// # Secrets
//
// [Options.Redact] is a function of yours. It is called with each text before the text is written, and returns the
// replacement:
//
//	key := regexp.MustCompile(`sk-[A-Za-z0-9]{20,}`)
//	session, err := history.Open(path, history.Options{
//		Redact: func(p entry.Passage) string { return key.ReplaceAllString(p.Text, "[key]") },
//	})
//
// It sees everything that people, models, tools and the application say, including data and arguments; [entry.Passage]
// lists the exceptions. The original text is neither in the log nor in anything that is made from the session.
//
// # Sessions of other agents
//
// Package importer reads what other agents recorded into a session.
//
// # Where it is kept
//
// A [storage.Store] keeps the lines of a session: a [storage.File], a [storage.Memory], or one of your own, for which
// package historytest has tests. Module history/postgres keeps sessions in PostgreSQL, so that any replica of a service
// serves any of them. A log is opened from its end back to what the newest compaction keeps, so a session of a million
// entries opens as fast as one of a thousand. Older entries are read from the store on demand; recently read ones
// are in a [Cache] that all sessions of the process share.
//
// If a store or a function of yours panics or never returns, the error names it ([*storage.StoreError],
// [*chat.CallbackError], [*entry.RedactError]).
//
// A line that cannot be read is a [*storage.CorruptError] that names it, returned when the line is needed. [Verify]
// reads everything and lists what is wrong; [Options.Salvage] opens the log without the lines that cannot be read.
//
// # Several writers
//
// A log in a file has one writer. A store that is a [storage.Sharer] may have several, each with a session of its own:
//
//	err := session.Append(ctx, answer)
//	if _, ok := errors.AsType[*storage.ConflictError](err); ok {
//		err = session.Refresh(ctx) // and look at what was said
//	}
//
// Messages are added directly after the last entry that the session has read, or not at all. Everything else is added
// after whatever was appended in the meantime; so is a compaction, unless its entry is gone ([*entry.BoundaryError]).
// [Session.Claim] claims work, such as running an [entry.Plan].
//
// # Erasure
//
// [Session.Erase] erases the content of entries for good, with the word for word copies of it, and lists the summaries
// that cover it. [Session.Remove] removes a session.
package history

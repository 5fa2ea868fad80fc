// Package history keeps what was said and shows it in a prompt. Three things are needed:
//
//   - A session: [Open] keeps it in a file, the zero [Session] in memory.
//   - [Session.Append], for what the user, the model and the tools say.
//   - The elements [Conversation], [TurnStart] and [TurnRounds], which show it in a prompt.
//
// A [Session] is a conversation that is only ever appended to, in memory or in a file of one JSON object a line:
//
//	session, err := history.Open("session.jsonl", history.Options{})
//	if err != nil {
//		return err
//	}
//	defer session.Close()
//	err = session.Append(ctx, chat.UserMessage("Why does the build fail?"))
//
// An entry that Append has acknowledged is on disk, and outlives a crash and a loss of power ([FileOptions] takes less
// for more speed). What a crash leaves of a write is set aside by the next Open. A second writer is refused, and told who
// the first is; readers are not. If the file is removed, renamed or replaced meanwhile, Append fails with [ErrMoved].
// Nothing is ever rewritten, so the file is also the transcript in which an agent looks up what a compaction left out.
//
// # What is kept
//
// An [Entry] is a message, or one of the other things that make up a session. [Session.Add] takes all of them:
//
//	session.Add(ctx, history.Entry{Body: history.Shell{Command: "go vet", Output: out, ExitCode: 1}})
//	session.Add(ctx, history.Entry{Body: history.ModelChange{Model: "gpt-4o"}})
//
// A model sees messages, what the user ran in a shell ([Shell]), what the application says in the user's place
// ([CustomMessage]) and what was done on a branch that was left ([BranchSummary]). The others, such as a [Label], a
// [Todos] or the [Usage] of a request, only the session knows; [Session.Latest] finds the newest of a kind. An entry of a
// kind that a later version wrote is kept as it is.
//
// # The tree
//
// Each entry follows another, its parent. Usually that is the one appended before it, which is the leaf. Going back is
// going on from an earlier entry:
//
//	err := session.Branch(ctx, id)                                // an undo
//	err = session.Append(ctx, chat.UserMessage("Rather this.")) // begins a new branch after that entry
//
// What is left is not lost. It is another branch, to which Branch can go back, and [Session.Abandoned] lists it for whoever
// wants it summarised:
//
//	old := session.Leaf()
//	summary := summarise(session.Abandoned(ctx, old, id))
//	session.Add(ctx, history.Entry{Parent: id, Body: history.BranchSummary{From: old, Summary: history.Summary{Text: summary}}})
//
// [Session.PathTo] gives the entries from the root to one, and [Turns] and [AllRounds] part such a path: a turn is what
// the user, or somebody in the user's place, said, and the rounds that answer it; a round is one message of the assistant
// and the results of its calls.
//
//	for turn, err := range history.Turns(session.PathTo(ctx, "")) { … }
//
// # What a model sees
//
// [Session.View] is what a model sees of the path to the leaf. Once something was compacted ([Session.Compact]) it begins
// with the messages of the latest [Compaction] on the path, and goes on with the first entry that this one keeps:
//
//	entries  e1 user  e2 assistant  e3 user  e4 assistant  e5 compaction, first kept e3  e6 user
//	view     the compaction's messages         e3 user  e4 assistant                     e6 user
//
// Where the model's thinking is to go on, the compaction has that too, and the first assistant message after it begins with
// it ([Compaction].Thinking).
//
// A [Clearing] leaves old tool output, or old arguments of tool calls, out of what is shown from its place on. It is an entry
// as well, and holds the finished text that stands in place of each; a branch from before it shows the old output again.
//
// A path always gives the same view: that of a session that was opened again is the one before, byte for byte, and one
// that goes back to before a compaction does not see it. Where a compaction takes its time, it holds its place by the id
// of an entry: what was said meanwhile is kept, and where that entry is gone the compaction is dropped with a
// [*BoundaryError].
//
// Three elements show the view in a prompt:
//
//	prompt := el.Prompt(
//		el.System(el.Text(instructions)),
//		history.Conversation{Session: session}, // the turns that are over
//		history.TurnStart{Session: session},    // what the user asks now
//		history.TurnRounds{Session: session},   // what the agent has done about it
//	)
//
// One context may pin the view that they show ([WithView]): that at the leaf when a render began, or what a compaction would
// show before it is made ([Session.ViewWith]). An element of your own that shows a session takes its view from [ViewIn].
//
// They are required unless Droppable is set: history that does not fit is an error, which package summarize answers with
// a compaction, and never silently lost. What they show obeys the providers' rules at any budget; see [Round.Messages].
//
// What they show is kept from one render to the next, for one window and one tokenizer that counts the same each time, so
// that a step of an agent costs what it added.
//
// # Where it may be cut
//
// A [Cut] is a rule that says where a view is cut in two: what is older is summarised, what is newer is kept word for word.
// Its fields may be combined. A cut lies between units ([View.Units]):
// what starts a turn is one, and so is a round. A call is never parted from its result, and what is kept is never empty:
//
//	view, err := session.View(ctx)
//	point, err := history.Cut{Tokens: 20_000}.Find(ctx, view, s) // the newest 20,000 tokens are kept
//	summary := summarise(point.Covered())
//	err = session.Compact(ctx, history.Compaction{FirstKept: point.FirstKept, Messages: []chat.Message{chat.UserMessage(summary)}})
//
// [CutPoint.Later] is the next cut, which keeps less, and [Cut.Earliest] the first.
//
// Package summarize does this whenever a prompt does not fit.
//
// # Less without a model
//
// The session keeps every word whatever of these is used; they change what is shown or sent:
//
//   - A [ClearRule] finds the [Clearing] of old tool output, each result replaced by a placeholder, to be added to the
//     session.
//   - [Limits] bound what the results of one round take of the window; [Clip] cuts one text in its middle.
//   - A [Truncator] is the last guard before a request: of a list of messages that is too long it leaves the oldest out,
//     and reports what it did.
//
// [FileTools] tell which files were read and modified on a path, compacted or not.
//
// # Secrets
//
// [Options.Redact] is a function of your own that is given each text before it is written, and returns what is written in
// its place:
//
//	key := regexp.MustCompile(`sk-[A-Za-z0-9]{20,}`)
//	session, err := history.Open(path, history.Options{
//		Redact: func(p history.Passage) string { return key.ReplaceAllString(p.Text, "[key]") },
//	})
//
// It is given all that people, models, tools and the application say, in data and arguments too; [Passage] lists what it is
// not given. What it changed is neither in the log nor in what is made from the session: views, plans and summaries.
// [Entry.Redacted] says where that was.
//
// # Sessions of others
//
// Package importer reads what pi and oh-my-pi, Claude Code and the Codex CLI recorded, and lists of messages of OpenAI and
// Anthropic, into a session.
//
// # Where it is kept
//
// A [Store] keeps the lines of a session: a [FileStore], a [MemoryStore], or one of your own, which package historytest tests. Module
// history/postgres keeps sessions in PostgreSQL, so that any replica of a service serves any of them. A
// log is opened from its end back to what the newest compaction keeps, and nothing else is read, so that a session of a million
// entries opens as fast as one of a thousand. Each compaction carries forward what later ones need from before it
// ([Compaction.Carried]). In memory a session holds what it shows; entries that were read last are in a [Cache] of 64 MiB that
// all sessions of the process share ([Options.Cache]). What lies further back is read from the store when it is asked for, which
// is why most methods take a context and return an error.
//
// A store of your own that panics, returns what cannot be, or has not returned a second after the context ended is a
// [*StoreError]; the functions of [Options] are looked at alike ([*CallbackError], [*RedactError]).
//
// A line that cannot be read is a [*CorruptError] that names it, once it is wanted. [Verify] reads everything and lists what is
// wrong; [Options.Salvage] opens the log without the lines that cannot be read.
//
// Ids of entries are 20 letters that sort by time, half of them random, so that two writers do not choose the same one.
// [Options.IDs] and [Options.Now] take other sources, for tests and replays.
//
// # Several writers
//
// A log in a file has one writer. A store that says that it is [Sharer] may have several, each with a session of its own:
//
//	err := session.Append(ctx, answer)
//	if _, ok := errors.AsType[*history.ConflictError](err); ok {
//		err = session.Refresh(ctx) // and look at what was said
//	}
//
// What is said comes behind what the session has read, or not at all. Labels, usage, plans, clearings and the like are put behind
// whatever was appended meanwhile, and so is a compaction, unless its place is gone.
//
// # Erasure
//
// [Session.Erase] makes the content of entries unreadable for good, with what compactions, clearings and plans copied of it word
// for word, and lists the summaries that cover it. [Session.Remove] removes a session.
//
// # Reading the source
//
// Files are named for what they are part of:
//
//	entry_*    what a session is made of, and how it is written as a line
//	store_*    where lines are kept: files, memory, and what guards a store of your own
//	session_*  appending, the tree, paths, compactions, erasure
//	view_*     what a model sees: turns, rounds, the elements that show them
//	cut_*      where a view may be cut, and the units that cuts work on, for package summarize too
//	clear*, clip, truncate, fileops
//	           less without a model, and the files that tools touched
package history

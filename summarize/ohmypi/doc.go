// Package ohmypi has the policy by which the agent of oh-my-pi compacts its history, as its documentation describes it.
//
// Old tool output is cleared as the work goes on. Once the context window is nearly full, a model writes notes on the
// older part of the conversation, from which another agent could go on. The notes replace that part, and the newest
// messages stay word for word. Each later compaction brings the notes up to date. A branch of the conversation that the
// user leaves can be summarised too.
//
//	compactor := &summarize.Compactor{Session: session, Target: target, Policy: ohmypi.Policy()}
//	defer compactor.Close()
//	result, err := compactor.Render(ctx, prompt)
//
// [Policy] returns the policy, and [Handoff] is its prompt.
//
// # When it compacts
//
//   - After a turn ([summarize.Compactor.AfterTurn]), once more than the context window less 16,384 tokens is used.
//     Then the message "Continue if you have next steps." is appended in the user's place, and the agent goes on.
//   - If the provider refuses a request as too large ([summarize.Compactor.Recover]), and names a limit or refuses it
//     again. The failed answer is taken out, and the request is made again, without a message in the user's place.
//     Package summarize/agent does this by itself.
//   - If somebody asks for it, with or without instructions ([summarize.Compactor.Compact]). Hooks.Interrupt is called
//     first, to stop the agent's work.
//
// The tokens used are our own count of the prompt, with its tools, scaled by what the provider reported of the newest
// request.
//
// # What is cleared
//
// Before each check of a limit, old tool output is cleared, however few tokens are used. The newest 40,000 tokens of
// output stay, and so does the output of the tools skill and read. Each other result is replaced by
//
//	[Output truncated - 2000 tokens]
//
// Nothing is cleared if that saves less than 20,000 tokens in all. If the prompt is below the limit afterwards, no
// model is asked.
//
// # Where it cuts
//
// At most 20,000 of the newest tokens are kept word for word, by the provider's count if that is known. The cut is at a
// user or assistant message, a shell command, a custom message or a branch summary, and never at a tool result. It is
// after the previous compaction. Entries directly before the cut that no model sees, such as a change of model or a
// label, are kept too.
//
// A user message, a shell command, a custom message and a branch summary start a turn. If the cut is within a turn, two
// summaries are made concurrently: one of everything before the turn, and one of the turn's beginning. They are joined:
//
//	<the notes>
//
//	---
//
//	**Turn Context (split turn):**
//
//	<what the turn's beginning was about>
//
// # What the model is shown and asked for
//
// The agent's own model is asked. It is told that it reads a transcript and writes notes, and shown these in one
// message:
//
//   - The conversation as text, in <conversation>. A tool result, and the arguments of a call, are cut in their middle
//     to 200 tokens.
//   - The notes of the previous compaction, in <previous-summary>.
//   - What a hook adds, as a list in <additional-context>.
//   - The question: for notes in six sections, from "Goal" to "Needed to go on", or for an update of the previous
//     notes. For the beginning of a turn, it is asked what is needed to understand the rest of the turn, in three
//     sections.
//
// Once the compaction is made the model is asked for one sentence about it, for people. It is a label of the
// compaction's entry, and [event.Titled] has it.
//
// Ask.Names names models to be asked before the agent's own. An HTTP endpoint can be one of them: it is a Remote of
// package summarize/models, which posts {"systemPrompt", "prompt"} and reads {"summary"}.
//
// # What is put in place
//
// One user message: the notes in <conversation-summary>, and after them <read-files> and <modified-files>, a file a
// line. The files are those of the calls of read, write and edit in the covered history, and of earlier compactions. A
// file that was modified is not listed as read. A summary that a hook supplied does not count, nor do the files that it
// covers. If there is too little room, files are left out, read ones before modified ones.
//
// # Branches
//
// [summarize.Compactor.Navigate] lets the session go on from another entry. If Branch.On or the caller says so, the
// messages since the two branches parted are summarised first, and the summary follows that entry. The newest of them
// that fit the context window less 16,384 tokens are shown. If the first that does not fit is a summary, and less than
// nine tenths of that room are used, it is shown nevertheless. The files of all of them are listed. Instructions
// replace the question. If no summary is made, or somebody aborts, the session stays where it is.
//
// # What happens on failure
//
//   - A model with a transient failure is asked up to three times more, after 2, 4 and 8 seconds. Then the next model
//     is asked.
//   - If none brings a summary, [event.Failed] says so and the prompt is sent as it is. The next attempt is
//     made after 1 step of the agent, then 2, then 4, up to 10.
//   - If the prompt does not fit the budget without a summary, rendering it is an error. Each render asks once then,
//     without a pause, and waits for a minute at most: after that the error is a [*summarize.PendingError], the summary
//     is made to its end, and a later render puts it in place.
//   - A request that was refused as too large is compacted once. If that fails or the request is refused again, history
//     is left out of it, the oldest first: down to nine tenths of the limit that was named, or half of the size with
//     each refusal. If it cannot be made smaller, or after 7 attempts in all, the error is a
//     [*summarize.RecoveryError], which says "context overflow recovery failed".
//   - [summarize.Compactor.Abort] ends a compaction, whoever asked for it, and the summary of a branch.
//
// # Settings
//
//   - Off turns it off. A compactor keeps nothing that is not in its session, so another one with another policy goes
//     on from it.
//   - Trigger[0].Reserve is the reserve, and Cut.Tokens is how much is kept.
//   - Continue is the message that is appended after a turn; "" appends none.
//   - Branch.On summarises each branch that is left. It is off by default. Branch.Reserve is its reserve.
//
// # What differs
//
// The policy differs from the documentation of oh-my-pi in these points:
//
//   - The limit is checked before each request too, and not only after a turn, because a single turn can fill the
//     window. Nothing is appended in the user's place then.
//   - The reserve is never more than half of the window. In a window of less than about 45,500 tokens, 20,000 tokens
//     and the room for a summary take more than the reserve leaves: fewer are kept, so that the next request is not
//     compacted again.
//   - In a session of a single turn, the prompt of a first compaction summarises everything that is covered. The prompt
//     for the beginning of a turn is not used, because its few words would be all that is left. If a later compaction
//     covers nothing but a part of the current turn, the previous notes are brought up to date instead.
//   - Two summaries share the room of one. If the part for the turn's beginning would be less than 100 tokens, one
//     summary is made of everything.
//   - If a turn is cut, its first message is still shown, because it holds the user's request, and its tokens count as
//     kept.
//   - The messages that the previous compaction had kept are covered by the next one. The documentation says that only
//     entries since that compaction are looked at; what it had kept would be lost.
//   - A cut is never at an earlier summary: the next summary takes it in.
//   - A cut is never between a call and its result, however late that came.
//   - Clearing is an entry of the session, and the session is not rewritten: the output can still be looked up.
//   - The files of the kept messages are not listed, because those messages show them. Tools of other agents that read
//     and modify files are known too ([history.DefaultFileTools]).
//   - The short summary for people is a label, and not a field of the compaction, which is written before it. Title of
//     the compaction is the summary's first heading, or else its first line.
//   - The message in the user's place is a custom message, and so is shown in a tag that says so.
//   - Nothing is done if the covered history takes no more than a summary may: a fifth of the budget and at most 10,000
//     tokens. If somebody asks for a compaction, 100 tokens are enough; with less the error is
//     [summarize.ErrNothingToCompact].
//   - A summary that is too long is shortened by the model once, and then cut at a section, of two each. That of a branch is
//     cut at half of the reserve.
//   - [summarize.ContextLimit] decides which errors mean that a request is too large. The application names the failed
//     answer, if it has appended one.
//   - The same request is made again after a first refusal that names no limit, because it may be a mistake. If it
//     takes more than half of the budget, it is made smaller.
//   - A model is asked again at most once after a compaction that failed, and not after two: each pause is a wait already.
//   - The documentation has no answer to a second refusal. Here history is left out, which the session keeps.
//   - If a refused request could not be made smaller, it is not made again.
//   - For "Auto-compaction failed" there is [event.Failed], with the error.
//   - The texts of the prompts, and the sentences before a summary and before that of a branch, are ours: the
//     documentation names them and does not show them.
//   - An endpoint is one model among several: if it fails the agent's own is asked.
//   - A hook that supplies a compaction may move the cut back, and not forward, because nobody would have summarised
//     the entries between.
//   - A history that is larger than the model takes in is summarised in segments, each with the notes on those before it,
//     unless [Handoff].Packs is set. One text takes at most a quarter of a request.
//   - Behind a placeholder stands how the agent reads the output ([history.Session.Handle]), if it can.
//   - After the summary comes a pointer to the transcript, if the session is in a file. It takes about 70 tokens in
//     each prompt ([policy.Replace].NoBreadcrumb leaves it out).
//
// # Newer versions
//
// The values are those of the documentation. Version 18 works by newer ones, some of which serve better. A larger reserve
// in large windows; output of fewer than 50 tokens stays; nothing is cleared in front of more than 8,000 tokens that the
// provider's cache holds, unless the agent was idle for 30 minutes; and the notes end with the user's open question:
//
//	p := ohmypi.Policy()
//	p.Trigger[0].ReserveShare = 0.15
//	p.Clear.Rule.Least = 50
//	p.Clear.Behind, p.Clear.Idle = 8_000, 30*time.Minute
//	p.Ask.Prompts = []policy.Prompt{ohmypi.Handoff{Question: true}.Prompt()}
//
// Seen in version 18 too, and not part of the policy:
//
//   - Thresholds by percent or tokens, per agent. A reserve that cannot be right in a small window becomes 15% of it.
//   - The summary takes at most four fifths of the reserve and at most 16,384 tokens, and that of a turn's beginning half.
//   - Only reads of skills are spared by clearing. Superseded reads and useless results are cleared first.
//   - The usage is the larger of the reported and the own estimate: Counting.By = [policy.ByLarger].
//   - Before a summary, other methods are tried: the provider's own, images, a handoff.
//   - The notes name the repository's state. The short summary is of the kept messages, and there is one list of files.
//
// # What it costs
//
// A clearing changes the prompt from the first result on that it clears, and the provider's cache is lost from there.
// Because output is cleared before each prompt, that happens about each time that the agent's tools have written 20,000
// tokens more, even if the window is nearly empty. If Clear.Always is off, output is cleared only once the limit is
// reached. A compaction changes the prompt right after the system messages, and loses the cache once. Its requests do
// not continue those of the agent, so none of them is read from the cache. There are up to three: for the notes, for
// the beginning of the turn, and for the label, which is shown the notes alone.
package ohmypi

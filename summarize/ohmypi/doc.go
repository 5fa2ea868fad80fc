// Package ohmypi has the policy by which the agent of oh-my-pi compacts its history, as its documentation describes it.
//
// Old tool output is cleared as the work goes on. Once the context window is nearly full, a model writes notes on the older part
// of the conversation, from which another agent could go on. The notes take the place of that part, and the newest messages stay
// word for word. Each later compaction brings the notes up to date. A branch of the conversation that the user leaves can be
// summarised too.
//
//	compactor := &summarize.Compactor{Session: session, Target: target, Policy: ohmypi.Policy()}
//	defer compactor.Close()
//	result, err := compactor.Render(ctx, prompt)
//
// [Policy] returns the policy, [Handoff] is its prompt, and [Replacement] makes what is put in place.
//
// # When it compacts
//
//   - After a turn ([summarize.Compactor.AfterTurn]), once more than the context window less 16,384 tokens is used. Then
//     "Continue if you have next steps." is said in the user's place, and the agent goes on.
//   - If the provider refuses a request as too large ([summarize.Compactor.Recover]). The failed answer is taken out, and the
//     request is made again, without a word in the user's place. Package summarize/agent does this by itself.
//   - If somebody asks for it, with instructions or without ([summarize.Compactor.Compact]). Hooks.Interrupt is called first, to
//     stop what the agent does.
//
// What is used is our own count of the prompt, with its tools, scaled by what the provider reported of the newest request.
//
// # What is cleared
//
// Before a limit is looked at, old tool output is cleared, whatever is used. The newest 40,000 tokens of output stay, and so does
// that of the tools skill and read. In place of each other result stands
//
//	[Output truncated - 2000 tokens]
//
// Nothing is cleared that saves less than 20,000 tokens in all. If the prompt is below the limit afterwards, no model is asked.
//
// # Where it cuts
//
// At most 20,000 of the newest tokens are kept word for word, by the provider's count if that is known. The cut lies at something
// that the user or the assistant said, a shell command, a custom message or a branch summary, and never at a tool result. It lies
// after the compaction before. Entries right before it that no model sees, such as a change of model or a label, are kept with
// it.
//
// A user's message, a shell command, a custom message and a branch summary start a turn. If the cut lies within a turn, two
// summaries are made at the same time: of what was before the turn, and of the turn's beginning. They are joined:
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
// The agent's own model is asked. It is told that it reads a transcript and writes notes, and shown these in one message:
//
//   - The conversation as text, in <conversation>. A tool result, and the arguments of a call, are cut in their middle to 200
//     tokens.
//   - The notes of the compaction before, in <previous-summary>.
//   - What a hook adds, as a list in <additional-context>.
//   - The question: for notes in six sections, from "Goal" to "Needed to go on", or for the notes before to be brought up to
//     date. Of the beginning of a turn it is asked what the rest of the turn cannot be understood without, in three sections.
//
// Once the compaction is made the model is asked for one sentence about it, for people. It is a label of the compaction's entry,
// and [summarize.EventTitled] has it.
//
// Models that are to be asked before the agent's own are named in Ask.Names. An HTTP endpoint can be one of them: it is a Remote
// of package summarize/models, is posted {"systemPrompt", "prompt"}, and answers {"summary"}.
//
// # What is put in place
//
// One message of the user's: the notes in <conversation-summary>, and after them <read-files> and <modified-files>, a file a
// line. The files are those of the calls of read, write and edit in what is covered, and of the compactions before. A file that
// was modified is not listed as read. A summary that a hook supplied does not count, nor do the files of what it covers. Files
// that there is no room for are left out, those that were read first.
//
// # Branches
//
// [summarize.Compactor.Navigate] lets the session go on from another entry. If Branch.On or the caller says so, what was said
// since the two branches parted is summarised first, and the summary follows that entry. The newest of it is shown that fits the
// context window less 16,384 tokens. If less than nine tenths of that are used, a summary that is the first not to fit is shown
// all the same. The files of all of it are listed. Instructions take the place of the question. If no summary comes, or somebody
// aborts, the session stays where it is.
//
// # What happens on failure
//
//   - A model whose failure may pass is asked up to three times more, after 2, 4 and 8 seconds. Then the next model is asked.
//   - If none brings a summary, [summarize.EventFailed] says so and the prompt goes out as it is. The next attempt is made after
//     1 step of the agent, then 2, then 4, up to 64.
//   - If the prompt does not fit the budget without a summary, rendering it is an error.
//   - A request that was refused as too large is made smaller once. After that the error is a [*summarize.RecoveryError], which
//     says "context overflow recovery failed".
//   - [summarize.Compactor.Abort] ends a compaction, whoever asked for it, and the summary of a branch.
//
// # Settings
//
//   - Off turns it off. A compactor keeps nothing that is not in its session, so another one with another policy goes on from it.
//   - Trigger[0].Reserve is the reserve, and Cut.Tokens is how much is kept.
//   - Continue is what is said after a turn; "" says nothing.
//   - Branch.On summarises each branch that is left. It is off by default. Branch.Reserve is its reserve.
//
// # What differs
//
// Here and in the documentation of oh-my-pi, these are not the same:
//
//   - The limit is looked at before each request too, and not only after a turn: a single turn can fill the window. Nothing is
//     said in the user's place then.
//   - The reserve is never more than half of the window. In a window of less than about 45,500 tokens, 20,000 tokens and the room
//     for a summary take more than the reserve leaves: fewer are kept, so that the next request is not compacted again.
//   - Of a session of a single turn all that is covered is summarised by the first prompt, not by that for the beginning of a
//     turn: its few words would be all that is left. If a later compaction covers nothing but a part of the current turn, the
//     notes before are brought up to date instead.
//   - Two summaries share the room of one. If the part of the turn's would be less than 100 tokens, one is made of everything.
//   - If a turn is cut, its first message is shown all the same, and its tokens count as kept: it is what the user asked for.
//   - What the compaction before had kept is covered by the next one. The documentation says that only entries since that
//     compaction are looked at; what it had kept would be lost.
//   - A cut never lies at an earlier summary: the next summary takes it in.
//   - A cut never lies between a call and its result, however late that came.
//   - Clearing is an entry of the session, and the session is not rewritten: the output can still be looked up.
//   - The files of what is kept are not listed: what is kept shows them by itself. Tools of other agents that read and modify
//     files are known too ([history.DefaultFileTools]).
//   - The short summary for people is a label, and no field of the compaction, which is written before it. Title of the
//     compaction is the summary's first heading, or else its first line.
//   - What is said in the user's place is a custom message, and so stands in a tag that says so.
//   - Nothing is done if what would be covered takes no more than a summary may: a fifth of the budget and at most 10,000 tokens.
//     If somebody asks for it, 100 tokens are enough; with less the error is [summarize.ErrNothingToCompact].
//   - A summary that is too long is shortened by the model once, and then cut at a section. That of a branch is cut at half of
//     the reserve.
//   - [summarize.ContextLimit] decides which errors mean that a request is too large. The application names the failed answer, if
//     it has appended one.
//   - If a refused request could not be made smaller, it is not made again.
//   - For "Auto-compaction failed" there is [summarize.EventFailed], with the error.
//   - The texts of the prompts, and the sentences before a summary and before that of a branch, are ours: the documentation names
//     them and does not show them.
//   - An endpoint is one model among several: if it fails the agent's own is asked.
//   - A hook that supplies a compaction may move the cut back, and not forward, since nobody would have summarised what lies
//     between.
//   - A history that is larger than the model takes in is summarised in pieces, each with the notes on those before it, unless
//     [Handoff].Packs is set. One text takes at most a quarter of a request.
//   - After the summary stands a pointer to the transcript, if the session is in a file. It takes about 70 tokens in each prompt
//     ([summarize.Place].NoBreadcrumb leaves it out).
//
// # What it costs
//
// A clearing changes the prompt from the first result on that it clears, and the provider's cache is lost from there. As it is
// looked at with each prompt, that happens about each time that the agent's tools have written 20,000 tokens more, even if the
// window is nearly empty; Clear.Always off clears only once the limit is reached. A compaction changes the prompt right after the
// system's messages, and loses the cache once. Its requests do not go on from the agent's, so nothing of them is read from the
// cache. There are up to three: for the notes, for the beginning of the turn, and for the label, which is shown the notes alone.
package ohmypi

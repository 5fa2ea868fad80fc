// Package copilotchat has the policy by which the agent of Copilot Chat compacts its history, as published descriptions
// of it say.
//
// The prompt is a tree of elements with priorities. If it is too large, the pieces of the lowest priority are pruned.
// If that is not enough, a model writes a summary, which replaces everything but the newest round. Most summaries are
// made in the background, before the prompt is full.
//
//	prompt := el.Prompt(
//		instructions,
//		history.Conversation{Session: session, Props: el.Props(el.Priority(700), el.Grow(1))},
//		history.TurnStart{Session: session, Props: el.Props(el.Priority(900), el.Grow(2))},
//		history.TurnRounds{Session: session, Props: el.Props(el.Priority(899), el.Grow(2))},
//	)
//	compactor := &summarize.Compactor{Session: session, Target: target, Policy: copilotchat.Policy()}
//	defer compactor.Close()
//	result, err := compactor.Render(ctx, prompt)
//
// [Policy] returns the policy. Its prompts and its replacement are parts of package summarize, which the zero policy
// uses too: [prompts.ForkPrompt], [prompts.FullPrompt], [prompts.PackedPrompt] and
// [prompts.ConversationSummary].
//
// # When it compacts
//
//   - In the background, once a prompt takes about 80% of the window, if the prompt cache is warm: the agent has
//     completed a round of tool calls in this turn. The exact limit varies between 78% and 82%.
//   - In the background at 90% if the cache is cold.
//   - In the foreground, before the prompt is returned, if the prompt does not fit although everything that may be
//     pruned has been.
//   - When somebody asks for it, by [summarize.Compactor.Compact].
//
// The size of a prompt is the larger of our own count and the count that follows from the provider's latest report,
// tools included. The window is the largest prompt: the smallest of the threshold, [policy.Target].ContextWindow, and
// [policy.Target].Budget plus the tokens of the tools. Counting.Threshold is a ratio above 0 and up to 1, or a number
// of tokens from 100 on. Any other threshold is a [*sizing.ThresholdError]. With a threshold the prompt has the budget
// that [sizing.Window] works out: a tenth of what the tools leave is kept free.
//
// Where a summary is begun and where a prompt overflows, in thousands of tokens with 10,000 of tools, if the budget is the
// one that [sizing.Window] works out for a window and an answer:
//
//	window  answer       warm       cold  overflows
//	    32       4       21.0       23.6       26.2
//	    32      16       12.3       13.9       15.4
//	    64       4       44.0       49.5       55.0
//	    64      16       35.4       39.8       44.2
//	    64      32       23.8       26.8       29.8
//	   128       4       90.1      101.3      112.6
//	   128      16       81.4       91.6      101.8
//	   128      32       69.9       78.7       87.4
//	   128      64       46.9       52.7       58.6
//	   200       4      141.9      159.7      177.4
//	   200      16      133.3      149.9      166.6
//	   200      32      121.8      137.0      152.2
//	   200      64       98.7      111.1      123.4
//	   400       4      285.9      321.7      357.4
//	   400      16      277.3      311.9      346.6
//	   400      32      265.8      299.0      332.2
//	   400      64      242.7      273.1      303.4
//	  1000       4      717.9      807.7      897.4
//	  1000      16      709.3      797.9      886.6
//	  1000      32      697.8      785.0      872.2
//	  1000      64      674.7      759.1      843.4
//
// # Where it cuts
//
// The newest round and the user's message of this turn stay word for word. Everything from the previous summary up to
// that round is summarised. If the round is the only one of its turn, the turns before it are summarised. Messages that
// are appended while the summary is made stay too.
//
// Nothing is cleared. A tool result that takes more than half of the budget loses its middle: 40% of what stays is from
// its start and 60% from its end. A result of the newest round gets less if less is left beside a long user message, so
// that the round stays.
//
// # What the model is shown and asked for
//
// The agent's own model is asked, at temperature 0, for an <analysis> block, and then for a <summary> block in eight
// sections, from "Conversation Overview" to "Continuation Plan". Only the <summary> block counts. There are three ways
// to ask, each used if the one before it brought no summary:
//
//   - Fork, in the background only: the request that the agent has just sent, with its tools, and the question at its
//     end. The provider's prompt cache serves everything but the question.
//   - Full: the history as messages, the first of which is the previous summary. The tools are declared but may not be
//     called.
//   - Simple: the history as one text, without tools. If the model does not take it in, tool results are clipped, and
//     then the oldest of the assistant's messages are left out; the compaction's entry and event say so
//     ([entry.Compaction].Unseen).
//
// Ask.Mode forces full or simple mode, and leaves the fork as it is. Ask.Routes names another model to be asked first,
// for agents of some models.
//
// Some models need more:
//
//   - Claude Opus is also told not to call tools and to write text only.
//   - The last thinking of a Claude in the covered part of the current turn is put at the start of the round that
//     stays, if that has none of its own.
//   - Full and simple mode leave out a Claude's calls of tool_search, with their results.
//   - GPT-4.1 is reminded after the summary to keep going.
//
// # What is put in place
//
// One user message: the summary in <conversation-summary>. If the session is in a file, a breadcrumb follows in the
// same message: the path of the transcript, its number of lines, the agent's tool that reads files, and an example of a
// call. The message is written once, and replayed byte for byte from then on.
//
// A summary that was made in the background is put in place by the next prompt. It is discarded if that prompt takes
// less than 65% of the window, as after a switch to a model with a larger one. If the limit at which a summary is begun
// is set below 65%, that limit counts.
//
// # What happens on failure
//
//   - In the background, only an event reports it ([event.Failed]), and the prompt is sent as it is.
//   - In the foreground the prompt is rendered once more with its history droppable, the oldest rounds first. The
//     session keeps them. If it does not fit then, there is an error, in which errors.AsType finds the
//     [*render.BudgetExceededError].
//   - A turn waits for one compaction that fails. Further ones of the turn are made in the background, and prompts are
//     rendered as above meanwhile (Background.OncePerTurn).
//   - A prompt waits for a summary for a minute at most (Background.Timeout) and is then rendered as above. The summary
//     is made to its end, and a later prompt puts it in place. If it is made in segments, each prompt waits once the
//     first was answered, or more might be said in each step than is summarised.
//   - A hook before a compaction ([summarize.Hooks].BeforeCompact), such as one that archives the transcript, never
//     blocks it by an error.
//   - Copilot Chat has no answer to a request that the provider refuses as too large. Here
//     [summarize.Compactor.Recover] returns the same prompt after a first refusal that names no limit, because it may
//     be a mistake, and then the prompt without its oldest rounds: nine tenths of the limit, or half of the size with
//     each refusal. Nothing is compacted. Append a condition on [policy.OnContextLimit] to Trigger to have the
//     session compacted then.
//
// The provider's own compaction, where requests ask for it, replaces this one (StandsBack), as in newer versions.
//
// If Off is set, only Compact compacts. A prompt that does not fit is still rendered with its history droppable.
//
// # Newer versions
//
// The values are those of the descriptions. Newer versions ask in simple mode at once if a prompt does not fit, in full
// mode only on demand, and cancel a pending summary if another model answers:
//
//	p := copilotchat.Policy()
//	p.Ask.Prompts[1].OnDemand = true
//	p.Background.PerModel = true
//
// Seen there too, and not part of the policy:
//
//   - A large tool result is written to a file, and the prompt has its path.
//   - Compacting on demand cancels a pending summary, which is used here.
//   - A summary in the background is begun only after a round to which it can be attached.
//   - An answer in the background without a <summary> block is a failure. In the foreground the whole answer is taken.
//   - The setting for another summarising model is gone.
//   - After a compaction within a turn, the user's message of the turn does not stay word for word. Here it does.
//
// # What differs
//
// The policy differs from descriptions of Copilot Chat in these points:
//
//   - History is never pruned before it is compacted, even if its elements are Droppable, so that no message is lost
//     silently. Other pieces with a priority are pruned first.
//   - The jitter is not random but a hash of the session's id and its newest entry. A session that is opened in another
//     process decides the same.
//   - If the prompt fits, nothing is done unless the covered history takes more than a summary may take: it might save
//     nothing.
//   - A summary may take a fifth of the budget, and at most 10,000 tokens. The model is told how much room there is. A
//     longer summary is shortened by the model once, and then cut at a section.
//   - An answer without a <summary> block is asked for again in the other modes, and taken whole, without its <analysis>
//     block, only if none gives a better one.
//   - In full mode a history that is larger than the model takes in is summarised in segments, each with the summary of
//     those before it.
//   - The results of one round share half of the budget, and do not get half of the window each: three parallel ones
//     could not fit. The arguments of its calls share an eighth. [render.Options].PromptBudget sets what both are
//     shares of.
//   - Without a threshold the budget is [policy.Target].Budget as the application sets it, and no tenth is taken off
//     for tools. [sizing.Window] works it out as Copilot Chat does.
//   - Simple mode is tried if the answer is not a summary, or if the provider refuses the request as invalid or too
//     large. It is not tried if the model did not answer, as in an outage: a model that failed is not asked again for
//     the same compaction.
//   - A fork is the agent's own request. So it shows the newest round, which stays word for word all the same, and
//     calls of tool_search, which the provider has just accepted in that very request. If a route names another model,
//     nothing is forked.
//   - A call without a result is not left out, for Gemini or any other model, but answered by a note that it was
//     interrupted. A cut never parts a call from its result.
//   - The newest models of Claude refuse thinking after anything that changed, and so after a summary. Package
//     render/anthropic then has it dropped. Clear Thinking in Ask.Quirks to leave it out from the start.
//   - A prompt that does not fit waits for a summary that is being made. Background.Wait makes it wait earlier.
//   - After a failure the next attempt is made after 1 step of the agent, then 2, then 4, up to 10, even if the prompt
//     does not fit: it is rendered with its history droppable meanwhile.
//   - If the session went back to an entry before the one at which the summary was begun, the summary is dropped
//     ([event.Dropped]).
//   - The wording of the prompts and of the breadcrumb is our own. No model is named in Ask.Routes. Settings are
//     fields.
//
// # What it costs
//
// A compaction changes the prompt right after the system messages: the provider's cache breaks once. A fork reads the
// history from the cache. Full and simple mode begin with a system message of their own, so that the whole history is
// read anew; foreground compactions have no other way. Only the newest round stays, so the agent has to look up again
// what it still needs of the rounds before it; Cut.Share and Cut.Rounds keep more. The breadcrumb takes about 100
// tokens in each prompt.
package copilotchat

// Package copilotcli has the policy by which Copilot CLI compacts its history, as published descriptions of it say.
//
//	p, err := copilotcli.Policy().WithEnv(os.LookupEnv)
//	...
//	compactor := &summarize.Compactor{Session: session, Target: target, Policy: policy, Checkpoints: folder}
//	defer compactor.Close()
//
// [Policy] returns the policy, [Prompt] asks for the summary, and [CompactedSession] makes the replacement.
//
// # When it compacts
//
//   - At 80% of the context window, tool definitions included, and with 4 messages or more, a summary is begun in the
//     background. The request is sent as it is, and so are those after it. Only one summary is made at a time.
//   - A summary that is ready is put in place before the next request. From 95% on, or if the prompt does not fit, a
//     request waits for the summary that is being made, for at most a minute ([policy.Background].Timeout).
//   - If the provider refuses a request as too large, by the status 413 or by a known text, and names a limit or
//     refuses it again, [summarize.Compactor.Recover] compacts and returns what to send instead. After a first refusal
//     without a limit, which may be a mistake, it returns the same prompt, or half of the budget if that is less.
//   - [summarize.Compactor.SwitchModel] compacts if the prompt is too large for the next model. The model that answered
//     so far writes the summary.
//   - [summarize.Compactor.MemoryPressure] needs 4 messages. [summarize.Compactor.Compact], which is the command
//     /compact, needs 2. Both return how many messages and tokens they removed, and need a prompt that was rendered
//     before. Compact is refused while another call compacts, and ends by [summarize.Compactor.Abort].
//
// The environment variables COPILOT_BACKGROUND_COMPACTION_THRESHOLD and COPILOT_BUFFER_EXHAUSTION_THRESHOLD set the
// ratios of 80% and 95%, if WithEnv is called. The hook BeforeCompact is called before each compaction, with its
// reason, and may cancel it.
//
// # Where it cuts
//
// Nothing is cleared. Everything is summarised except the newest message or round and the message with which the
// current turn began. A round is a call with its results, which are never parted; a round whose call has no result yet
// is kept too. Messages that are appended while a summary is made stay word for word.
//
// # What the model is shown and asked for
//
// The agent's own model is shown the system messages, then the history as messages, and then the request, marked as
// conversation compaction. It asks for a title, and for the goal, what was done, how things stand, what was learnt,
// which files matter and what comes next. The agent's tools are declared, and the model may not call them. The summary
// of an earlier compaction is shown in the request.
//
// # What is put in place
//
// One user message: the summary, copies of the user's own messages, the plan, the todo list, the skills that were
// invoked with their instructions, and what a custom agent does. Plan and todo list are the newest [history.Todos] of
// the session, or come from the hook Workspace, which is the only source of skills and agents. Each copy is cut to 500
// tokens, and together they take at most 30% of the room; marks say what was cut and how many messages were left out.
//
// The compaction is an entry of the session, so a session that is opened again is compacted. If
// [summarize.Compactor].Checkpoints is set, the summary is also written to a numbered file, and the index of these
// files is written anew, as it is when [summarize.Compactor.Navigate] goes back.
//
// # What happens on failure
//
// An answer without words, or one that was cut off, is a failure. [event.Failed] reports it, and the session
// stays as it was. The next attempt is made after 1 step of the agent, then after 2, then 4, up to 64; prompts that do
// not fit are truncated meanwhile. A prompt waits for a summary for a minute at most, and is then truncated; the
// summary is made to its end, and a later prompt puts it in place. A summary that was cancelled is discarded.
//
// A prompt that still does not fit is truncated, by the rules of [history.Truncator]. The assistant's work before the
// latest user message goes first, the oldest first, each call with its results. Then the older user messages go, and
// then the assistant's work since the latest one, except its newest round. System messages and the latest user message
// stay. About 5% of the limit are left free. The session keeps everything, and a later request may show it again.
//
// If the provider goes on refusing, up to 3 refusals are answered by a compaction ([policy.Overflow].Attempts), and
// further ones, or those whose compaction failed, by truncation: to nine tenths of the limit that was named, or to half
// of the size with each refusal. After 9 attempts in all, or if the prompt cannot be made smaller, the error is a
// [*summarize.RecoveryError]. What was learnt bounds the next 3 requests that the provider accepts; then the whole
// window is tried again.
//
// # Events
//
// Events report the start of a compaction, a request that waits, the end with its costs, and each truncation. For each
// request [event.Usage] says how many tokens the system messages, the conversation and the tools take.
// [summarize.Compactor.Reported] passes on that a provider or a remote agent compacted by itself, and changes nothing.
//
// # What differs
//
//   - A prompt that does not fit, with no summary being made, is compacted at once. Copilot CLI begins its summary in
//     the background and truncates that request, which loses part of what a compaction would have kept. To have that
//     order, set policy.Background.Always to true. The truncated request breaks the provider's cache once more than the
//     compaction does.
//   - The newest message or round is kept word for word. The documentation names no tail, but without one the agent
//     would have to go on from a summary alone.
//   - Nothing is compacted if the covered history takes no more than a summary may take, which is a fifth of the budget
//     and at most 10,000 tokens: it might save nothing. So 2 messages are not always enough for
//     [summarize.Compactor.Compact].
//   - Ratios are of [policy.Target].ContextWindow. If a model takes a shorter prompt than its window, set that limit
//     as policy.Counting.Threshold. For a model whose window is unknown, the caller has to choose 128,000 tokens:
//     [sizing.Window] has AllowUnknown for it. A [policy.Target] without any size is more often a mistake than
//     intended.
//   - A history that does not fit into the model's window beside an answer is summarised in pieces, each with the
//     summary of those before it.
//   - A summary that is longer than its room is shortened by the model once, and then cut at a section. An empty one,
//     or one that takes no less than what it replaces, is not put in place.
//   - The replacement is one message and not several, so that it never looks like something that was said then. The
//     marks of what was cut are in words.
//   - The documentation gives no number for the size of copies, for the messages that memory pressure needs, for the
//     headroom of the truncator or for the size after a refusal. The numbers above are ours.
//   - The truncator removes the summary of an earlier compaction last of all. Results without a call need not be
//     removed from prompts of a session, which refuses them as they are appended; [history.Truncator] removes those of
//     other lists.
//   - There are no headers: a [chat.Request] has no place for them. A request for a summary is recognised by its tag
//     <conversation-compaction>, and by the mode of events.
//   - Ids of requests are in [event.Answered]. An event of a truncation names the policy and no truncator, and
//     no event says that it is the first; the report of a [history.Truncator] does both.
//   - Signing in, asking the user before a switch of model, garbage collection, remote sessions, the user interface and
//     what later sessions remember are left to the application.
//
// # What it costs
//
// Each compaction changes the prompt right after the system messages, so the provider's cache breaks once for it. The
// request for a summary forbids tools, which the agent's requests do not, and after the first compaction it begins
// differently: do not count on the cache for it. After a compaction the agent sees only the summary and the newest
// round of its own work, and has to look up what else it needs. If the session is in a file, a pointer to it follows
// the summary in each prompt ([policy.Replace].NoBreadcrumb leaves it out).
package copilotcli

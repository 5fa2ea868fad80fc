// Package copilotcli holds the compaction policy of Copilot CLI, as published descriptions of it have it, as a value of
// [summarize.Policy].
//
//	policy, err := copilotcli.Policy().WithEnv(os.LookupEnv)
//	...
//	compactor := &summarize.Compactor{Session: session, Target: target, Policy: policy, Checkpoints: folder}
//	defer compactor.Close()
//
// [Policy] returns the policy, [Prompt] asks for the summary, and [CompactedSession] makes what is put in place.
//
// # When it compacts
//
//   - At 80% of the window, tool definitions included, and with 4 messages or more, a summary is begun in the background. The
//     request is sent as it is, and so are those after it; one summary is made at a time.
//   - A summary that is ready is put in place before the next request. From 95% on, or if the prompt does not fit, a request waits
//     for the summary that is being made, for a minute at most ([summarize.Background].Timeout).
//   - A request that the provider refused as too large, by the status 413 or by a known text, goes to [summarize.Compactor.Recover],
//     which compacts and returns what to send instead. Any other error comes back as it is.
//   - [summarize.Compactor.SwitchModel] compacts, by the model that answered so far, if the prompt is too large for the next one.
//   - [summarize.Compactor.MemoryPressure] takes 4 messages, [summarize.Compactor.Compact], which is the command /compact, takes 2.
//     Both return how many messages and tokens went, and need a prompt that was rendered before. Compact is refused while another
//     call compacts, and ends by [summarize.Compactor.Abort].
//
// The environment variables COPILOT_BACKGROUND_COMPACTION_THRESHOLD and COPILOT_BUFFER_EXHAUSTION_THRESHOLD set the ratios of 80%
// and 95% for whoever calls WithEnv. The hook BeforeCompact is heard before each compaction, with its reason, and may call it off.
//
// # Where it cuts
//
// Nothing is cleared. All is summarised but the newest message or round, and the message with which the current turn began. A
// round is a call with its results, which are never parted; a round whose call has no result yet is kept too. What is said while
// a summary is made stays word for word.
//
// # What the model is shown and asked for
//
// The agent's own model is shown the system's messages, then the history as the messages that it consists of, and then, marked
// as conversation compaction, the request: a title, and what the goal is, what was done, how things stand, what was learnt, which
// files matter and what comes next. The agent's tools are declared, and it may not call them. The summary of an earlier compaction
// is shown in the request.
//
// # What is put in place
//
// One message of the user's: the summary, copies of the user's own messages, the plan, the list of things to do, the skills that
// were invoked with their instructions, and what a custom agent does. Plan and list are the newest [history.Todos] of the session,
// or what the hook Workspace returns, which alone knows skills and agents. Of the user's messages each is cut to 500 tokens and
// together they take at most 30% of the room; marks say what was cut and how many were left out.
//
// The compaction is an entry of the session: whoever opens the session again sees it compacted. If
// [summarize.Compactor].Checkpoints is set, the summary is also written to a numbered file, and the index of these files is
// written anew, as it is when [summarize.Compactor.Navigate] goes back.
//
// # What happens on failure
//
// An answer without words, or one that was cut off, is a failure. A failure is told by [summarize.EventFailed], and the session
// goes on as it was. The next attempt is made after 1 step of the agent, then after 2, then 4, up to 64; a prompt that does not fit
// has one attempt each time. What comes of a summary that was cancelled is thrown away.
//
// A prompt that still does not fit is truncated, by the rules of [history.Truncator]. What the assistant did before the latest
// message of the user's goes first, the oldest first, each call with its results. Then the user's older messages go, and then what
// the assistant did since the latest, but for its newest round. System messages and the latest of the user's stay. About 5% of
// the limit are left free. The session keeps everything, and a later request may show it again.
//
// A limit that the provider named as it refused is kept to from then on. If it named none, 5% of the budget are left free at the
// first refusal, 15% at the second and 35% at the third, which is the last unless [summarize.Overflow].Attempts says more.
//
// # What is told
//
// Events tell of the start of a compaction, of a request that waits, of the end with what it took, and of each truncation. For each
// request [summarize.EventUsage] says what the system's messages, the conversation and the tools take.
// [summarize.Compactor.Reported] passes on that a provider or a remote agent compacted by itself, and changes nothing.
//
// # What differs
//
//   - A prompt that does not fit, with no summary being made, is compacted at once. There its summary is begun in the background
//     and that request is truncated, which takes from it what a compaction would have kept. To have that order, set
//     policy.Background.Always to true. The truncated request breaks the provider's cache once more than the compaction does.
//   - The newest message or round is kept word for word. The documentation names no tail, but without one the agent would be
//     asked to go on from a summary alone.
//   - Nothing is compacted if what would be covered takes no more than a summary may take, which is a fifth of the budget and at
//     most 10,000 tokens: it might save nothing. So 2 messages are not always enough for [summarize.Compactor.Compact].
//   - Ratios are of [summarize.Target].ContextWindow. If a model takes a shorter prompt than its window, set that limit as
//     policy.Measure.Threshold. For a model whose window is not known, 128,000 tokens are for the caller to take:
//     [sizing.Window] has AllowUnknown for it. A [summarize.Target] without any size would be a mistake more often than a wish.
//   - A history that the model does not take in beside an answer is summarised in pieces, each with the summary of those before it.
//   - A summary that is longer than there is room for is shortened by the model once, and then cut at a section. An empty one, or one
//     that takes no less than what it replaces, is not put in place.
//   - What is put in place is one message and not several, so that it never looks like something that was said then. The marks
//     of what was cut are in words.
//   - The documentation gives no number for the size of copies, for the messages that a shortage of memory takes, for the
//     headroom of the truncator or for what is left free after a refusal. Those above are ours.
//   - The truncator takes the summary of what was compacted before last of all. Results without a call need not be removed from
//     prompts of a session, which refuses them as they are appended; [history.Truncator] removes those of other lists.
//   - There are no headers: a [chat.Request] has no place for them. That a request is one for a summary can be seen by its tag
//     <conversation-compaction>, and by the mode of events.
//   - Ids of requests are in [summarize.EventAnswered]. An event of a truncation names the policy and no truncator, and no
//     event says that it is the first; the report of a [history.Truncator] does both.
//   - Signing in, asking the user before a switch of model, collecting garbage, remote sessions, the user interface and what later
//     sessions remember are the application's.
//
// # What it costs
//
// Each compaction changes the prompt right after the system's messages, so the provider's cache breaks once for it. The request for
// a summary forbids tools, which the agent's requests do not, and after the first compaction it begins in another way than they do:
// do not count on the cache for it. After a compaction the agent sees of its own work the summary and the newest round alone, and
// what else it needs it has to look up. If the session is in a file, a pointer to it stands after the summary in each prompt
// ([summarize.Place].NoBreadcrumb leaves it out).
package copilotcli

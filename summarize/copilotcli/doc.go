// Package copilotcli has the policy by which Copilot CLI compacts its history. Its rules are those of published
// descriptions. Numbers that these do not give are those of the published program, version 1.0.40 of the npm package
// @github/copilot: how much of the user's messages is copied, which skills are shown whole, the messages that memory
// pressure needs, and the passes of the truncator.
//
//	policy, err := copilotcli.Policy().WithEnv(os.LookupEnv)
//	...
//	compactor := &summarize.Compactor{Session: session, Target: target, Policy: policy, Checkpoints: folder}
//	defer compactor.Close()
//
// [Policy] returns the policy, and [CompactedSession] makes its replacement.
//
// # When it compacts
//
//   - At 80% of the largest prompt, tool definitions included, and with 4 messages or more, a summary is begun in the
//     background. The request is sent as it is, and so are those after it. Only one summary is made at a time.
//   - A summary that is ready is put in place before the next request. From 95% on, or if the prompt does not fit, a
//     request waits for the summary that is being made, for at most a minute ([policy.Background].Timeout).
//   - If the provider refuses a request as too large, by the status 413 or by a known text, and names a limit or
//     refuses it again, [summarize.Compactor.Recover] compacts and returns what to send instead. After a first refusal
//     without a limit, which may be a mistake, it returns the same prompt, or half of the budget if that is less.
//   - [summarize.Compactor.SwitchModel] compacts if the prompt is too large for the next model. The model that answered
//     so far writes the summary.
//   - [summarize.Compactor.MemoryPressure] and [summarize.Compactor.Compact], which is the command /compact, need 2
//     messages and a prompt that was rendered before. Both return how many messages and tokens they removed. Compact is
//     refused while another call compacts, and ends by [summarize.Compactor.Abort].
//
// The largest prompt is the smallest of Counting.Threshold, [policy.Target].ContextWindow, and [policy.Target].Budget
// plus the tokens of the tools. Where a summary is begun, where a prompt waits for it and where it overflows, in thousands
// of tokens with 10,000 of tools, if the budget is the one that [sizing.Window] works out for a window and an answer:
//
//	window  answer     begins      waits  overflows
//	    32       4       21.0       24.9       26.2
//	    32      16       12.3       14.6       15.4
//	    64       4       44.0       52.2       55.0
//	    64      16       35.4       42.0       44.2
//	    64      32       23.8       28.3       29.8
//	   128       4       90.1      107.0      112.6
//	   128      16       81.4       96.7      101.8
//	   128      32       69.9       83.0       87.4
//	   128      64       46.9       55.7       58.6
//	   200       4      141.9      168.5      177.4
//	   200      16      133.3      158.3      166.6
//	   200      32      121.8      144.6      152.2
//	   200      64       98.7      117.2      123.4
//	   400       4      285.9      339.5      357.4
//	   400      16      277.3      329.3      346.6
//	   400      32      265.8      315.6      332.2
//	   400      64      242.7      288.2      303.4
//	  1000       4      717.9      852.5      897.4
//	  1000      16      709.3      842.3      886.6
//	  1000      32      697.8      828.6      872.2
//	  1000      64      674.7      801.2      843.4
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
// invoked, and what a custom agent does. Plan and todo list are the newest [entry.Todos] of the session, or come from
// the hook Workspace, which is the only source of skills and agents.
//
// Up to 20 messages of the user and 30,000 characters are copied whole. Of more, the 16 newest are copied within 24,001
// characters and the 3 oldest within 5,999, and a line between them says how many were left out. A message that does not
// fit ends its share, and is cut at its end if it is alone. Of the skills, the newest is shown in full and the others by
// name and path. [CompactedSession] says what goes if there is less room.
//
// The compaction is an entry of the session, so a session that is opened again is compacted. If
// [summarize.Compactor].Checkpoints is set, the summary is also written to a numbered file, and the index of these
// files is written anew, as it is when [summarize.Compactor.Navigate] goes back.
//
// # What happens on failure
//
// An answer without words, or one that was cut off, is a failure. [event.Failed] reports it, and the session
// stays as it was. The next attempt is made after 1 step of the agent, then after 2, then 4, up to 10; prompts that do
// not fit are truncated meanwhile. A prompt waits for a summary for a minute at most, and is then truncated; the
// summary is made to its end, and a later prompt puts it in place. Later prompts do not wait for it, until one of its
// segments was answered. A summary that was cancelled is discarded.
//
// A prompt that still does not fit is truncated, by the rules of [history.Truncator]. The assistant's work before the
// latest user message goes first, the oldest first, each call with its results. If the rest still exceeds the limit, the
// older user messages go, and if it exceeds it even then, the assistant's work since the latest one, except its newest
// round. Each of these ends below 95% of the limit. System messages and the latest user message stay. The session keeps
// everything, and a later request may show it again.
//
// If the provider goes on refusing, the session is compacted once, and further refusals, or one whose compaction failed, are
// answered by truncation: to nine tenths of the limit that was named, or to half of the size with each refusal. After 6
// refusals more, or if the prompt cannot be made smaller, the error is a [*summarize.RecoveryError]. What was learnt
// bounds the next 2 requests that the provider accepts; then the whole window is tried again.
//
// # Events
//
// Events report the start of a compaction, a request that waits, the end with its costs, and each truncation. For each
// request [event.Usage] says how many tokens the system messages, the conversation and the tools take.
// [summarize.Compactor.Emit] passes on that a provider or a remote agent compacted by itself, and changes nothing.
//
// # What differs
//
//   - A prompt that does not fit, with no summary being made, is compacted at once. Copilot CLI begins its summary in
//     the background and truncates that request, which loses part of what a compaction would have kept. To have that
//     order, set policy.Background.Always to true. The truncated request breaks the provider's cache once more than the
//     compaction does.
//   - The newest message or round is kept word for word, by a compaction and by the truncator. Copilot CLI keeps no
//     tail, so the agent has to go on from a summary alone, and its truncator removes the newest round too.
//   - Nothing is compacted if the covered history takes no more than a summary may take, which is a fifth of the budget
//     and at most 10,000 tokens: it might save nothing. For [summarize.Compactor.Compact] and
//     [summarize.Compactor.MemoryPressure] it has to take more than a replacement of 100 tokens of words.
//   - For a model whose window is unknown, the caller has to choose 128,000 tokens: [sizing.Window] has AllowUnknown for
//     it. A [policy.Target] without any size is more often a mistake than intended.
//   - A history that does not fit into the model's window beside an answer is summarised in segments, each with the
//     summary of those before it. Copilot CLI truncates the request for the summary.
//   - A summary that is longer than its room is shortened by the model once, and then cut at a section. An empty one,
//     or one that takes no less than what it replaces, is not put in place.
//   - The replacement fits a room in tokens, so in a small room less is copied. Messages that are still shown are not
//     copied. A character is a code point, not a unit of UTF-16.
//   - The numbers of messages that a compaction needs are without system messages. Copilot CLI counts these for the 4.
//   - A limit that the provider names is used less a tenth. If it names none, Copilot CLI leaves a part of the limit
//     free that grows with each retry up to half; here the request is halved.
//   - The truncator removes the summary of an earlier compaction last of all. Results without a call need not be
//     removed from prompts of a session, which refuses them as they are appended; [history.Truncator] removes those of
//     other lists before it counts, and Copilot CLI after its passes.
//   - There are no headers: a [chat.Request] has no place for them. A request for a summary is recognised by its tag
//     <conversation-compaction>, and by the mode of events.
//   - Ids of requests are in [event.Answered]. An event of a truncation names the policy and no truncator, and
//     no event says that it is the first.
//   - Signing in, asking the user before a switch of model, garbage collection, remote sessions, the user interface and
//     what later sessions remember are left to the application.
//
// # What Copilot CLI does since
//
// The descriptions are of an earlier version. Version 1.0.40 differs from them as follows, and this package does not:
//
//   - The copies of the user's messages come before the summary, not after it.
//   - The parts of the summary are an overview, the history, the work done, technical details, important files and next
//     steps, with a title of 2 to 6 words.
//   - Requests for a summary in the background have the header X-Interaction-Type: conversation-background, and those of
//     /compact have none.
//   - Claude's tokens are counted by a tokenizer of OpenAI times 1.1 to 1.2. Here a [sizing.Calibrated] does that better.
//   - The truncator keeps the calls of report_intent and report_progress before the latest user message. For some models
//     of Claude it moves the newest reasoning that it removed to the first message of the assistant that is left.
//   - Memory pressure is a heap of 70% of its limit, after the garbage was collected.
//   - A failed summary is begun again by the next request that is above the threshold, and nothing bounds how long a
//     request waits. Later versions, by reports of September 2026, wait 60 seconds.
//
// # What it costs
//
// Each compaction changes the prompt right after the system messages, so the provider's cache breaks once for it. The
// request for a summary forbids tools, which the agent's requests do not, and after the first compaction it begins
// differently: do not count on the cache for it. After a compaction the agent sees only the summary and the newest
// round of its own work, and has to look up what else it needs. If the session is in a file, a pointer to it follows
// the summary in each prompt ([policy.Replace].NoBreadcrumb leaves it out), and behind a copy that is cut, or the line that
// says how many are left out, stands how the agent reads the rest ([history.Session.Handle]).
package copilotcli

// Package a3s has the policy by which A3S Code compacts its history, as its documentation describes it.
//
//	compactor := &summarize.Compactor{Session: session, Target: target, Policy: a3s.Policy()}
//
// # What it does
//
//   - When: before a request whose tokens, as the provider counts them, reach 80% of the context window.
//     [summarize.Compactor.AfterTurn] checks the same condition once the agent has finished.
//   - What is cleared: tool output older than the newest 40,000 tokens of it. Each result is replaced by "[output
//     pruned — re-read file or re-run command if needed]", and no model is asked. If the prompt is then below the
//     threshold, nothing is summarised.
//   - Where it cuts: the first 2 messages and the newest 20 stay as they are. The messages between them are summarised.
//   - What the model is asked: the agent's own model is shown those messages as text, after the previous summary, and
//     writes down what must still be known of them.
//   - What is put in place: the user's words of the first 2 messages, then one message with what the agent did there
//     and the summary.
//   - Events: [event.Cleared] and [event.Done], with the number of messages before and after.
//
// In A3S Code compaction is off unless a session is opened with it; here, using the policy turns it on. The threshold
// is Trigger[0].Ratio.
//
// # Newer versions
//
// The values are those of the documentation. Newer versions keep less output in small windows, where the newest 40,000
// tokens are all there is:
//
//	p := a3s.Policy()
//	p.Clear.Share = 0.25
//
// Seen there too, and not part of the policy: a threshold of 85% and a target of 60% of it; one result that is too large
// is cut in its middle; a summary has at most 8,000 tokens and is of the whole conversation; the latest message of the
// user and open calls always stay, and the first 2 messages no longer; the system prompt says that the transcript is
// untrusted data. The documented version also needs 30 messages and 20,000 tokens to save.
//
// # What differs
//
//   - A prompt that does not fit is compacted whatever the threshold says, as under every policy.
//   - The documentation has no answer to a request that the provider refuses as too large. Here
//     [summarize.Compactor.Recover] returns the same prompt after a first refusal that names no limit, because it may
//     be a mistake, and then the prompt without its oldest history: nine tenths of the limit, or half of the size with
//     each refusal. The session keeps the history, and nothing is compacted.
//   - Output is cleared when the threshold is reached, by an entry of the session, and stays cleared. If a summary is
//     needed too, both are written together, so the provider's cache is lost once.
//   - Behind a placeholder and behind a cut message stands how the agent reads the rest ([history.Session.Handle]), if it can.
//   - A first message of the user that takes more than a quarter of the room for the summary is cut in its middle, with
//     a mark: kept whole, it could leave no room for a summary at all. What the agent said at the start becomes text in
//     the summary's message, because everything in a replacement is a user message.
//   - The cut moves back to the start of a turn, or to a round, so that no call loses its result: at least 20 messages
//     are kept if there is room for them. Otherwise fewer are kept, one round less at a time.
//   - A summary that is empty, too long or not smaller than what it replaces is not put in place, and a failure is
//     followed by a pause, of a minute at most if the prompt does not fit; a render within it is an error then. A
//     prompt waits for a summary for a minute at most, and then the error is a [*summarize.PendingError]. The
//     documentation says nothing about these.
package a3s

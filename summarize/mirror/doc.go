// Package mirror compacts conversations whose messages belong to somebody else: an application, a framework or the loop
// around a provider's SDK. The owner keeps its list. Before each request it passes the list to a [Mirror], which keeps a
// [history.Session] in step with it, compacts the session by its policy, and returns the list to send instead.
//
//	compactor := &summarize.Compactor{
//		Session: session, // of history.Open
//		Policy:  copilotchat.Policy(),
//		Target:  summarize.Target{Model: model, Tokenizer: tokenizer, Budget: 100_000},
//	}
//	defer compactor.Close()
//	m := mirror.New(compactor)
//	for {
//		fitted, err := m.Fit(ctx, mirror.Request[chat.Message]{System: system, Messages: list, Tools: tools})
//		if err != nil {
//			return err
//		}
//		answer := ask(fitted.Messages) // instead of list
//		said, err := m.Answered(ctx, answer.Usage, answer.Reason, answer.Message)
//		if err != nil {
//			return err
//		}
//		list = append(list, said...) // without calls, if the answer was cut off
//		...
//	}
//
// A list of another type needs two functions, [Mirror.From] and [Mirror.To], that convert messages. A loop on the SDK of
// OpenAI, Anthropic or Google needs neither: ReadChat, ReadItems, ReadRequest and ReadContents of render's packages read
// its whole request, and their examples are such loops.
//
// # What it does
//
// [Mirror.Fit] compares the list with what the session holds:
//
//   - New messages at the end are appended to the session.
//   - If messages were edited, inserted, removed or cut off, the session continues on a new branch from the last message
//     before the change, with the rest of the list. What the list no longer has stays in the session, on the branch that
//     was left. A compaction stays in force if the messages that it covers did not change.
//   - So it is if the application compacts its list itself: its summary is a message like any other.
//
// Then it renders the prompt, and the policy decides whether to compact. The list itself is never changed, nor anything
// that its messages hold. A message that is sent as it was said is the owner's own, not a copy that was converted there
// and back.
//
// After a restart the first call compares the list with the session by content: what the session has is not appended
// again. The same holds in a store to which several processes write, whenever another one has appended something.
//
// # Messages that no session can hold
//
// Leading system messages are rendered anew in each prompt and not recorded. A system message within the list, and a
// result without its call, are recorded as the application's ([entry.CustomMessage]), and the model sees them as user
// messages. A call without an id, or with the id of another call of its message, gets one, and is sent with it. A call
// without a result is answered by a note that it was interrupted.
//
// # What it costs
//
// For each call, a hash of each message of the list and of each message sent: less than a microsecond for a message of a
// kilobyte. One that leads to more than 4,096 values, as by a pointer to other messages, is converted each time
// instead. Only new and changed messages are converted, laid out, counted and written. The session is read at the first
// call, after others wrote to it, and not otherwise. bench/million.md has figures.
//
// # What goes wrong
//
//   - [*summarize.FailedError]: the prompt does not fit and could not be compacted.
//   - A provider refuses a request as too large: ask for a smaller one by [Mirror.Refit].
//   - [*summarize.RecoveryError]: it refuses the request however small it is made.
//   - [*storage.ConflictError], of [Mirror.Answered]: another process said something while the model answered.
//
// A message that no session can hold, such as a call in a user message, is an error of [Mirror.Fit]. Let [Mirror.From]
// convert such messages to others.
//
// The pages of summarize/einoagent and summarize/adkagent show what a mirror takes in a framework.
package mirror

// Package history keeps what was said and shows it in a prompt.
//
// A [Session] is a conversation that is only ever appended to, in memory or in a file of one JSON object a line:
//
//	session, err := history.Open("session.jsonl")
//	if err != nil {
//		return err
//	}
//	defer session.Close()
//	err = session.Append(chat.UserMessage("Why does the build fail?"))
//
// An entry that Append has acknowledged is on disk. A crash in the middle of a write leaves a torn last line, which the
// next Open sets aside. A second writer is refused. Nothing is ever rewritten, so the file is also the transcript in
// which an agent looks up what a compaction left out.
//
// [Session.View] is what a model sees: the turns, each a user message and the rounds that answer it, after what stands
// for those that were compacted. Three elements show it in a prompt:
//
//	prompt := elements.Fragment{
//		elements.SystemMessage{Children: instructions},
//		history.Conversation{Session: session}, // the turns that are over
//		history.Request{Session: session},      // what the user asks now
//		history.Rounds{Session: session},       // what the agent has done about it
//	}
//
// They are required unless Droppable is set: history that does not fit is an error, which package summarize answers with
// a compaction, and never silently lost. What they show obeys the providers' rules at any budget; see [Round.Messages].
package history

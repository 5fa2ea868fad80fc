// Package importer reads recorded sessions of other agents into chat messages, to replay them, measure with them, or
// go on from them.
//
//	f, err := os.Open("session.jsonl")
//	...
//	recording, err := importer.Read(f)
//	...
//	for _, e := range recording.Entries {
//		fmt.Println(e.Line, e.Message.Role, e.Message.Text(), e.Usage.Input)
//	}
//
// [Read] finds the format by looking at the first line. An [Entry] is one message with the line it came from and what
// the provider reported for it. A line that cannot be read is a [*LineError], and then nothing else is returned: a
// session with a hole in it is another session.
//
// # What becomes of a pi session
//
// The sessions of the pi coding agent (badlogic/pi-mono) are JSON lines: a header of type "session", then one entry a
// line. The entries of type "message" become messages, by their role:
//
//   - user: a user message; its content is a text or a list of texts and images. An image becomes a data URL.
//   - assistant: an assistant message of texts, thinking and tool calls. Arguments of a call are the recorded JSON
//     without its white space, the keys in the recorded order. Redacted thinking becomes encrypted thinking.
//   - toolResult: a tool message of texts and images.
//   - bashExecution, a shell command that the user ran: a user message, worded as pi words it to its model.
//   - any other role is an error.
//
// Usage counts cached tokens as input, as [chat.Usage] does, where pi keeps them apart.
//
// Messages are given as they were recorded, even where no provider would take them: an answer that was cut off may be
// empty or leave its calls unanswered, results may come in another order than their calls. Only parts that hold
// nothing, an empty text or a thought without text and signature, are left out. What may be sent is for the view of
// the history to decide.
//
// Everything else was not said in the conversation and is left out, counted in [Recording.Skipped]: changes of the
// model, labels, messages that extensions put in, and the compactions and branch summaries of the recorder, since a
// replay makes its own. Fields of a message that package chat has no word for (the model, the time, why an answer
// stopped, a tool's details, the signatures of texts and tool calls) are left out too.
//
// Nothing is changed silently. Text that Go cannot hold unchanged (invalid UTF-8, half a surrogate pair) is an error,
// and so is a session that branches: its lines in order would be a conversation that nobody had.
package importer

// A session made up for tests, of the size and shape of a long day's work.
//go:generate go run ./internal/gensession -out testdata/generated.jsonl

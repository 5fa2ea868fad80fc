// Package importer reads recorded sessions of other agents, to go on from them, replay them or measure with them.
//
//	f, err := os.Open("session.jsonl")
//	...
//	recording, err := importer.Read(f)
//	...
//	for record, message := range recording.Conversation() {
//		fmt.Println(record.Line, message.Role, message.Text(), record.Usage.Input)
//	}
//
// [Read] finds the format by what the file says and never by its name. A [Recording] is a tree of records as it was
// recorded, branches, rewinds and sidechains included; each [Record] is an entry as package history knows it, with the
// line it came from and what the provider reported for it. A line that cannot be read is a [*LineError], and then
// nothing else is returned, for a session with a hole in it is another session; [Options] skip such lines, with a note.
// [Recording.AppendTo] makes a session of package history of it.
//
// # What is read
//
//   - [FormatPi]: sessions of pi (badlogic/pi-mono) in versions 1 to 3 of its format and of oh-my-pi (can1357/oh-my-pi),
//     JSON lines after a header of type "session". All their types of entries and roles of messages are read. Of
//     oh-my-pi's images that lie in files of their own, only the name is here.
//   - [FormatClaudeCode]: the JSON lines of Claude Code 1.0 and 2.0, whose format is not published; what is read here was
//     taken from public descriptions and readers of it. The blocks of one answer, a line each, are put together. Messages
//     marked isMeta become custom messages. A compact boundary and the summary after it become a compaction. Errors of
//     the API that stand as answers, file snapshots, hooks, progress and queues are kept for the record only. The files
//     of subagents are sessions of their own.
//   - [FormatCodex]: rollouts of the Codex CLI (openai/codex), the lines of timestamp, type and payload as its version
//     0.128 writes them, and the bare items of versions before that form. The developer's messages are kept for the
//     record only. Events that say again what an item says are left out and noted. The stream of `codex exec --json` is
//     another format, and not read.
//   - [FormatOpenAI]: messages of OpenAI's chat completions, as a JSON list, as a request with "messages", or a line for
//     each message or request; the form with functions in place of tools too. The items of the responses API are read
//     only as Codex writes them.
//   - [FormatAnthropic]: messages of Anthropic's messages API, version 2023-06-01, in the same ways.
//   - [FormatPromptree]: logs of package history.
//
// # What becomes of it
//
// Texts, images, documents, thinking, tool calls and their results become what they are in package chat. Thinking
// signatures and encrypted reasoning are kept byte for byte, and so is every part that only its provider understands,
// as a [chat.Opaque]. Arguments of a call that were recorded as JSON lose their white space and keep the order of their
// keys; those recorded as a text are that text. A tool that takes a text and no JSON gets it as {"input":…}.
//
// Usage counts cached tokens as input, as [chat.Usage] does, where a recorder keeps them apart.
//
// Messages are given as they were recorded, even where no provider would take them: an answer that was cut off may be
// empty or leave its calls unanswered, results may come in another order than their calls. What may be sent is for the
// view of the history to decide. What the system or the developer said is no message here, for a prompt says it anew; it
// is in a [history.Custom].
//
// Nothing is dropped silently. What a recorder says beyond a message is in the message's data; what it recorded for itself,
// and what is of a type that this version does not know, is a [history.Custom] with the line as it was; and what has
// no place even so, such as the signature of a text, is listed in [Recording.Notes]. Text that Go cannot hold unchanged
// (invalid UTF-8, half a surrogate pair) is an error of its line.
//
// # Limits
//
// A line may have [MaxLine] bytes, and a list 131,072 parts, so that what is held in memory is a small multiple of what
// was read. A recording is read whole.
package importer

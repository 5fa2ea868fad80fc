// Package importer reads recorded sessions of other agents, to continue them, replay them or measure with them.
//
//	f, err := os.Open("session.jsonl")
//	...
//	recording, err := importer.Read(f)
//	...
//	for record, message := range recording.Conversation() {
//		fmt.Println(record.Line, message.Role, message.Text(), record.Usage.Input)
//	}
//
// [Read] detects the format from the content of the file, never from its name. A [Recording] is a tree of records as it
// was recorded, branches, rewinds and sidechains included; each [Record] is an entry of package history, with the line
// it came from and the usage that the provider reported for it. A line that cannot be read is a [*LineError], and
// nothing else is returned, because a session with a gap is another session; [Options] can skip such lines, with a
// note. [Recording.AppendTo] turns a recording into a session of package history.
//
// # Formats
//
//   - pi: sessions of pi (badlogic/pi-mono) in versions 1 to 3 of its format and of oh-my-pi (can1357/oh-my-pi),
//     JSON lines after a header of type "session". All their types of entries and roles of messages are read. If
//     oh-my-pi stores an image in a separate file, only its name is read.
//   - claude-code: the JSON lines of Claude Code 1.0 and 2.0, whose format is not published; this reader follows
//     public descriptions and readers of it. The blocks of one answer, one per line, are put together. Messages
//     marked isMeta become custom messages. A compact boundary and the summary after it become a compaction. API errors
//     recorded as answers, file snapshots, hooks, progress and queues are kept for the record only. The files
//     of subagents are sessions of their own.
//   - codex: rollouts of the Codex CLI (openai/codex), the lines of timestamp, type and payload as its version
//     0.128 writes them, and the bare items of earlier versions. The developer's messages are kept for the
//     record only. Events that repeat an item are left out and noted.
//   - openai-chat: messages of OpenAI's chat completions, as a JSON list, as a request with "messages", or one message
//     or request per line; the form with functions in place of tools too. Items of the responses API are read
//     only as Codex writes them.
//   - anthropic-messages: messages of Anthropic's messages API, version 2023-06-01, in the same ways, among them the
//     api_conversation_history.json of Cline and Roo Code, with the times, models and usage that these add.
//   - copilot-cli: the events.jsonl of the GitHub Copilot CLI, versions 0.0.369 to 1.0. What a subagent says is a
//     sidechain. A user's message is read as the model was shown it, with what the agent added. Only versions that
//     record the event assistant.usage record usage.
//   - gemini-cli: the chats of Gemini CLI, versions 0.1 to 0.49: a JSON document, or lines with changes and rewinds,
//     which become branches. Thoughts are the summaries that it records.
//   - goose: what `goose session export` writes as JSON (block/goose, versions 1.10 and later) and the lines of
//     versions before. A message that only the model was shown, after one that is hidden from it, is a compaction. Usage
//     is recorded only for the session as a whole, in the header.
//   - opencode: what `opencode export` writes (anomalyco/opencode, versions 0.5 to 1.4).
//   - openhands: the events of OpenHands, one a line or in a list, of its SDK 1.0, which record no usage, and of
//     versions 0.9 to 0.62; also a line of an evaluation with such a list in history. A condensation becomes a compaction
//     that keeps what follows the last forgotten event.
//   - swe-agent and mini-swe-agent: the trajectories of SWE-agent, versions 0.6 to 1.1, of which the history
//     is read, and of mini-swe-agent, versions 1 and 2. SWE-agent records neither times nor the usage of an answer. Where a
//     command is in the text of an answer and its output in a user's message, it stays so.
//   - vscode-chat: chats of VS Code 1.99 and later, as "Chat: Export Chat…" writes them and as the folder chatSessions
//     keeps them: a document, or a log of changes to one. An agent's answer is read by the rounds that Copilot Chat stores
//     with it; without them it is what the user saw, in which tools are only named. The tokens that some versions count for a
//     whole request are in its data.
//   - aider: the .aider.chat.history.md of aider, which has what was said. Files that the model was shown, calls and
//     usage are not recorded; a heading of level 4 or a quotation in an answer is taken for the user's words or aider's.
//   - promptree: logs of package history.
//
// What Claude Code, Codex, Gemini CLI and opencode print for programs (stream-json, exec --json, run --format json), as logs
// of CI keep it, is read in their formats. Where the user's message is not in it, a placeholder stands for that. The stream
// of Claude Code has no times.
//
// The databases in which newer versions of opencode, goose and crush keep their sessions are not read: export a session.
//
// # Conversion
//
// Texts, images, documents, thinking, tool calls and their results become their equivalents in package chat. Thinking
// signatures and encrypted reasoning are kept byte for byte, and so is every part that only its provider understands,
// as a [chat.Opaque]. Arguments of a call that were recorded as JSON lose their white space and keep the order of their
// keys; those recorded as a text stay as they are, also of a tool that takes a text and not JSON, which the signature of
// the call says. Only the Copilot CLI does not record of which kind a tool is: there such a text becomes {"input":…}.
//
// Usage counts cached tokens as input, as [chat.Usage] does, even if a recorder counts them separately.
//
// Parents are resolved over the whole recording: a line may come before the one that it follows. Such lines, lines that
// repeat another, types that are not known and versions that are later than those named above are noted.
//
// The name of a model that the recorder notes with an answer is an [entry.ModelChange] before the first answer of that
// model, in the formats whose lines have no field of their own for a change.
//
// Messages are returned as they were recorded, even if no provider would accept them: an answer that was cut off may be
// empty or leave its calls unanswered, and results may come in another order than their calls. The history's view
// decides what is sent: a text between a call and its result goes with the call. [Recording.AppendTo] checks, in one pass, that
// the view before each answer can be sent, as a replay does, and notes where it cannot ([Unsendable]). What the system or the developer said is not a message here, because a prompt renders it anew;
// it is in an [entry.Custom].
//
// Nothing is dropped silently. What a recorder stores with a message is in the message's data; what it recorded for
// itself, or of an unknown type, is an [entry.Custom] with the original line; and what has no place at all, such as
// the signature of a text, is listed in [Recording.Notes]. Text that Go cannot hold unchanged (invalid UTF-8, half a
// surrogate pair) becomes U+FFFD, with a note. A byte order mark, UTF-16 and lines of a program before its export are
// passed over.
//
// # Limits
//
// A line may have [Options].MaxLine bytes, and a list 131,072 parts, so that the memory needed is a small multiple of the
// input. A recording is read as a whole.
package importer

package importer

import (
	"iter"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// Program names the program that wrote a recording, such as "codex". The package's page lists the formats that [Read] knows.
type Program string

const (
	formatPi           Program = "pi"
	formatClaudeCode   Program = "claude-code"
	formatCodex        Program = "codex"
	formatOpenAI       Program = "openai-chat"
	formatAnthropic    Program = "anthropic-messages"
	formatGemini       Program = "gemini-cli"
	formatSWEAgent     Program = "swe-agent"
	formatMiniSWEAgent Program = "mini-swe-agent"
	formatOpenHands    Program = "openhands"
	formatCopilot      Program = "copilot-cli"
	formatOpencode     Program = "opencode"
	formatGoose        Program = "goose"
	formatVSCode       Program = "vscode-chat"
	formatAider        Program = "aider"
	formatPromptree    Program = "promptree"
)

// Recording is a recorded session: a tree of records in the order in which they were recorded.
type Recording struct {
	// Format is the program that wrote it, as detected.
	Format Program
	// Header for a session made from the recording: From is the recorder's id of the session, Time its start, and Data
	// the recorder's first line, if the format has one.
	Header entry.Header
	// Records in the order in which they were recorded, each after its parent.
	Records []Record
	// Leaf is the id of the record at which the conversation ended, "" if there is none.
	Leaf string
	// Notes list what of the recording is in no record, in the order of the lines. Fields and parts are counted, not
	// listed one by one.
	Notes []Note
}

// Record is one thing that was recorded, as an entry of a session.
type Record struct {
	// Entry made from it.
	//
	// The ID is the recorder's, or made up if there is none, and unique in its recording; the Parent is the record that
	// it follows. The Time is zero if it is not known. What only the recorder knows is in an [entry.Custom], and so is
	// an unknown type: its data is the line, byte for byte. What the recorder stores with a message beyond the message
	// is in its data.
	entry.Entry
	// Line that holds the record, from 1; the first one if several were put together.
	Line int
	// Recorded is the recorder's name for it, such as "message" or "event_msg.turn_aborted".
	Recorded string
	// Usage that the provider reported with an assistant message, zero if none was recorded. In a log of promptree an
	// entry of its own has it too.
	Usage chat.Usage
	// Cost in US dollars that the recorder computed for Usage, 0 if it is not known.
	Cost float64
	// Sidechain reports that another agent said it, outside the conversation.
	Sidechain bool
	// Aside reports that it is not part of the tree: it was noted after its parent, and nothing follows it.
	Aside bool
}

// The kinds of notes that a program may act on.
const (
	// Unsendable: a request of the conversation breaks a rule that every provider has, so that the session cannot be
	// replayed from its start.
	Unsendable = "unsendable"
	// Unreadable: a line that could not be read was skipped because of [Options].
	Unreadable = "unreadable"
)

// The other kinds; see [Note].
const (
	noteNoPlace   = "no place"
	noteEmpty     = "empty"
	noteRepeated  = "repeated"
	noteUnlinked  = "unlinked"
	noteReordered = "reordered"
	noteUnknown   = "unknown"
	noteLater     = "later version"
	noteRefused   = "refused"
	noteReplaced  = "replaced"
)

// Note describes a part of a recording that is missing from its records, or changed in them.
type Note struct {
	// Line at which it first occurred.
	Line int
	// Count of its occurrences, at least 1.
	Count int
	// Kind is the reason: "no place" (a field of a part or of usage has no equivalent here, and was left out), "empty" (a
	// part that holds nothing, left out), "repeated" (it repeats what a record says, left out), "moved" (parts of a line
	// became messages of their own, in another order), "unlinked" (the record that it follows is missing; it was attached to
	// the one before it), "reordered" (a line came before the one that it follows, and was read after it), "unknown" (a type
	// that this version does not know, kept for the record only), "later version" (of the recorder, so that something may be
	// missing), "refused" (the session accepted an entry only as an [entry.Custom] named "refused", see
	// [Recording.AppendTo]), "replaced" (text that Go cannot hold; U+FFFD stands in its place), [Unsendable] or [Unreadable].
	Kind string
	// What the note is about: the path of a field such as "message.stopReason", a type, or the error of a line.
	What string
}

// Path returns the records from the first to the one with that id, without those noted aside.
func (r *Recording) Path(id string) []Record {
	index := map[string]int{}
	for i, rec := range r.Records {
		index[rec.ID] = i
	}
	var path []Record
	for i, ok := index[id]; ok; i, ok = index[r.Records[i].Parent] {
		path = append(path, r.Records[i])
	}
	slices.Reverse(path)
	return path
}

// Conversation returns what was said on the path to the leaf: each record that is shown in a prompt
// ([entry.Entry.Shown]), with its message. Compactions do not shorten it.
func (r *Recording) Conversation() iter.Seq2[Record, chat.Message] {
	return func(yield func(Record, chat.Message) bool) {
		for _, rec := range r.Path(r.Leaf) {
			if m, ok := rec.Shown(); ok && !yield(rec, m) {
				return
			}
		}
	}
}

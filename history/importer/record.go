package importer

import (
	"iter"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// Recording is a recorded session: a tree of records in the order in which they were recorded.
type Recording struct {
	// Format that was detected.
	Format Format
	// Header for a session that is made of it: From is the recorder's id of the session, Time when it began, and Data the
	// line that the recorder began with, where the format has one.
	Header history.Header
	// Records in the order in which they were recorded. A record's parent always stands before it.
	Records []Record
	// Leaf is the id of the record at which the conversation stood when the recording ended, "" where there is none.
	Leaf string
	// Notes list what of the recording is in no record, in the order of the lines. Fields and parts are counted and not
	// listed one by one.
	Notes []Note
}

// Record is one thing that was recorded, as an entry of a session.
type Record struct {
	// Entry that was made of it.
	//
	// The ID is the recorder's, or made up where it gives none, and unique in its recording; the Parent is the record
	// that it goes on from. The Time is zero where it is not known. What only the recorder knows is in a
	// [history.Custom], and a type that this version does not know too: its data is the line, byte for byte. What the
	// recorder says of a message beyond the message is in its data.
	history.Entry
	// Line that holds the record, from 1; the first of them where it is put together from several.
	Line int
	// Recorded is what the recorder calls it, such as "message" or "event_msg.turn_aborted".
	Recorded string
	// Usage that the provider reported with an assistant message; zero where none was recorded.
	Usage chat.Usage
	// Cost in US dollars that the recorder reckoned for Usage, 0 where it is not known.
	Cost float64
	// Sidechain tells that another agent said it, apart from the conversation.
	Sidechain bool
	// Aside tells that it is no part of the tree: it was noted after its parent, and nothing goes on from it.
	Aside bool
}

// summaryMessage is a summary as a user's message, delimited so that it is not taken for the user's words.
func summaryMessage(summary string) chat.Message {
	return chat.UserMessage("<summary>\n" + summary + "\n</summary>")
}

// NoteKind says why something is noted.
type NoteKind string

// The reasons.
const (
	// NoPlace: a field of a part or of a figure for which there is no word here. It was left out.
	NoPlace NoteKind = "no place"
	// Empty: a part that holds nothing. It was left out.
	Empty NoteKind = "empty"
	// Repeated: it says again what a record says. It was left out.
	Repeated NoteKind = "repeated"
	// Moved: parts of a line became messages of their own, in another order.
	Moved NoteKind = "moved"
	// Unlinked: the record that it goes on from is not there. It goes on from the one before it.
	Unlinked NoteKind = "unlinked"
	// Refused: the session took an entry only as a [history.Custom] named "refused", see [Recording.AppendTo].
	Refused NoteKind = "refused"
	// Unreadable: a line that could not be read was skipped, as [Options] ask.
	Unreadable NoteKind = "unreadable"
)

// Note tells of something that no record shows as it was.
type Note struct {
	// Line at which it was met, the first time.
	Line int
	// Count of the times, at least 1.
	Count int
	// Kind for the note.
	Kind NoteKind
	// What it is about: the path of a field such as "message.stopReason", a type, or what is wrong with a line.
	What string
}

// Path gives the records from the beginning to the one with that id, what was noted aside left out.
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

// Conversation gives what was said on the path to the leaf: the records that stand for a message in a prompt
// ([history.Entry.Shown]), and the message. Compactions do not shorten it.
func (r *Recording) Conversation() iter.Seq2[Record, chat.Message] {
	return func(yield func(Record, chat.Message) bool) {
		for _, rec := range r.Path(r.Leaf) {
			if m, ok := rec.Shown(); ok && !yield(rec, m) {
				return
			}
		}
	}
}

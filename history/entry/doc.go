// Package entry holds what a session consists of: the [Entry], whose [Body] is of a type such as a [Message] or a
// [Compaction], and the [Header]. It knows no session and no store; package history keeps entries and shows them.
//
//	session.Add(ctx, entry.Entry{Body: entry.Shell{Command: "go vet", Output: out, ExitCode: 1}})
//
// Each entry is one line of JSON ([Entry.Encode], [Entry.UnmarshalJSON]), which ends in its checksum. The version of the
// format is in the header; an entry of a type that a later version wrote is an [Unknown], and is written back unchanged.
// [Entry.CheckDepth] refuses a line that other programs could not read.
//
// [Entry.Redact] shows all texts of an entry to a function that may replace them, and [Erased] and [Copies] remove
// them. [Entry.Shown] returns the message by which a model sees the entry. A [Remembered] sums up what the entries of a
// path say about refusals and failures.
package entry

package history

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
)

// ErrSystemMessage is returned for a system message, which cannot be appended.
var ErrSystemMessage = log.ErrSystemMessage

// ErrNotErasable is returned for an erasure in a store that is not an [storage.Eraser].
var ErrNotErasable = log.ErrNotErasable

// Append adds messages after the leaf, all or none. It returns once they are as durable as the store promises. A crash
// during Append may leave the first few of them in the store.
//
// System messages are refused, because the prompt renders them anew each time. Also refused are a tool message that
// answers no open call, tool calls and thinking in any message but the assistant's, a message with two calls of one id
// or a call without one, and text that JSON cannot hold in a field that holds only text. An assistant message that was
// cut short may be empty. A result that comes after its round was compacted is kept, but only the transcript shows it.
//
// If another session has appended something said to the same store since this one last read it, the error is a
// [*storage.ConflictError], and nothing is written: call [Session.Refresh] and read what was said.
func (s *Session) Append(ctx context.Context, messages ...chat.Message) error {
	entries := make([]entry.Entry, len(messages))
	for i, m := range messages {
		entries[i].Body = entry.Message{Message: m}
	}
	_, err := s.Add(ctx, entries...)
	return err
}

// Compact adds a compaction after the leaf. From then on, the path shows its messages in place of what it covers.
//
// The compaction names the entry at which it cuts, so however long the summary took, what was appended in the meantime
// is kept. If that entry is no longer on the path because of an undo or a switch of branch, if another compaction has
// covered it, or if the plan has ended, the compaction is dropped with a [*entry.BoundaryError], and the session stays
// as it was.
func (s *Session) Compact(ctx context.Context, c entry.Compaction) error {
	_, err := s.Add(ctx, entry.Entry{Body: c})
	return err
}

// Add adds entries of any kind, all or none, and returns them as added. The session owns what they hold from then on.
// It returns once they are as durable as the store promises.
//
// Add fills in what an entry lacks: an ID, the Time, and as its Parent the entry added before it, which for the first
// is the leaf. An entry that names another parent starts a branch there, and the session continues on that branch.
// Messages are checked as by [Session.Append], and a compaction as by [Session.Compact], each on its path. An
// [entry.Clearing] must name tool results and calls on its path, with a text for each, which for arguments is valid
// JSON. An [entry.Unknown] entry is written as its line says, so its id and its parent are those of the line.
//
// An id set by the caller is checked against the whole store, which the first such check reads completely.
//
// In a store to which others append, what is said (messages, shell commands, custom messages, branches) is only added
// directly after what the session has read: the error is a [*storage.ConflictError] if anything was said in between.
// Everything else is added after what was appended in between; a compaction is checked again there.
//
// Texts other than those of messages and shell output are made valid UTF-8, and so is Data, which is kept without white
// space between its values. An entry whose line would have more than 500 levels of objects and arrays is a
// [*entry.DepthError], and one whose line would have more than [Options.MaxLine] bytes a [*storage.LineTooLongError].
// What is added can be read back as it is returned.
//
// [Options.Redact] sees all texts first.
func (s *Session) Add(ctx context.Context, entries ...entry.Entry) ([]entry.Entry, error) {
	return s.log.Add(ctx, entries...)
}

// Branch continues the session from an entry on this branch or another; from "" a new conversation starts. Nothing is
// lost: what is left becomes another branch, to which the session can return. What was compacted or noted after the
// entry is not on the new path, and so does not affect what is shown. The change of leaf is recorded by an
// [entry.Branch] entry, so a session that is opened again continues there. If somebody said something in the meantime
// the error is a [*storage.ConflictError].
func (s *Session) Branch(ctx context.Context, id string) error { return s.log.Branch(ctx, id) }

// Refresh reads what others have appended to the store since. The session continues from the entry that was appended
// last.
func (s *Session) Refresh(ctx context.Context) error { return s.log.Refresh(ctx) }

// Has reports whether an entry has an id. The first call reads the whole store.
func (s *Session) Has(ctx context.Context, id string) (bool, error) { return s.log.Has(ctx, id) }

// Erase erases the content of entries for good, and appends an [entry.Erasure], which it returns. Their ids, parents,
// roles and the ids of calls stay, so that the tree and the rules of providers hold. Each text becomes "[erased]", or
// empty if that would be longer. Arguments of calls become {}; thinking, images, documents, opaque parts and data are
// removed.
//
// Word for word copies in later compactions, clearings, branch summaries and plans are erased too: whole lines of a
// text, and pieces of 32 bytes or more. A summary describes what it covers in its own words and is not changed; those
// that cover what is erased are listed in [entry.Erasure.Summaries], so erase them too if they must not reveal it.
// Checkpoint files, redactions and what was sent to models are outside the session and stay.
//
// The store must be an [storage.Eraser], else the error is [ErrNotErasable]. Erase reads everything that follows the
// entries. Other sessions that have the store open show what was erased until they refresh. If Erase fails halfway it
// can be called again.
func (s *Session) Erase(ctx context.Context, ids ...string) (entry.Erasure, error) {
	return s.log.Erase(ctx, ids...)
}

// Remove removes the session with everything in it from its store, and closes it. The store must be an
// [storage.Eraser], else the error is [ErrNotErasable].
func (s *Session) Remove(ctx context.Context) error { return s.log.Remove(ctx) }

// Redact returns a text as [Options.Redact] would have it written, for whoever shows or sends it elsewhere.
func (s *Session) Redact(ctx context.Context, p entry.Passage) (string, error) {
	return s.log.Redact(ctx, p)
}

// Redacted returns an error whose text is redacted as the session's entries are. What it wraps is found by [errors.Is]
// and [errors.As] as before.
func (s *Session) Redacted(ctx context.Context, err error) error { return s.log.Redacted(ctx, err) }

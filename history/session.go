package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/worded"
)

// Session is a conversation: everything that was said, and the compactions made of it, as a tree that is only ever
// appended to. The zero value is an empty session in memory; [Open] keeps one in a file, and [New] in any
// [storage.Store]. It is safe for concurrent use.
//
// What was said stays in the store. In memory a session holds what is shown at the leaf, and some hundred bytes for
// each entry from the cut of the newest compaction on; recently read entries are in a [Cache] that sessions share.
// Older entries are read from the store on demand.
type Session struct {
	log    log.Log
	redact func(entry.Passage) string // Options.Redact
	views  views
}

// Open opens the session in a file for writing, and creates the file if it is missing; see [storage.OpenFile]. The log
// is read from its end back to what the newest compaction keeps. The texts of long entries are written to files in a
// folder beside it ([storage.Texter]), so that an agent's tool for files can read them; texts that a crash or somebody else
// removed are written again, and [Session.TextsErr] says why some are missing. A line in that part that cannot be read is a
// [*storage.CorruptError]; [Verify] checks all lines.
func Open(path string, o Options) (*Session, error) {
	o.File.NoTexts = o.File.NoTexts || o.Recall
	f, err := storage.OpenFile(path, o.File)
	if err != nil {
		return nil, err
	}
	s, err := newSession(f, o)
	if err != nil {
		return nil, err
	}
	if err := f.Mend(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.log.MendTexts(context.Background(), f)
	return s, nil
}

// TextsErr returns why texts of long entries ([storage.Texter]) are missing beside the session's file, or left though their
// entries are gone: nil if they are in step with it, and for other stores. If something that promptree did not write has
// the place of the folder or of a text, it is a [storage.ErrForeign]: nothing is written or removed there, and prompts name
// the log in place of texts.
func (s *Session) TextsErr() error { return s.log.TextsErr() }

// Read opens the session in a file for reading, as it is at the time; [Session.Refresh] reads what was appended since.
// It takes no lock and changes nothing; a torn end is ignored.
func Read(path string, o Options) (*Session, error) {
	f, err := storage.ReadFile(path, o.File)
	if err != nil {
		return nil, err
	}
	return newSession(f, o)
}

// newSession returns the session in a store, and closes the store on an error.
func newSession(store storage.Store, o Options) (*Session, error) {
	s, err := New(context.Background(), store, o)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// New returns the session in a store, and closes the store with the session. An empty store is given a header.
// Options.File is ignored.
func New(ctx context.Context, store storage.Store, o Options) (*Session, error) {
	if o.MaxLine < 0 {
		return nil, fmt.Errorf("history: Options.MaxLine is %d: want 1 byte or more, or 0 for the default", o.MaxLine)
	}
	s := &Session{redact: o.Redact}
	if err := s.log.Open(ctx, store, o.forLog()); err != nil {
		return nil, err
	}
	return s, nil
}

// Verify reads everything in a store and returns an error for each line that is wrong: lines that cannot be read, ids
// that occur twice, entries whose parent does not precede them. The second result is an error of the store itself, or an
// [*entry.FormatError] for a log of another version.
func Verify(ctx context.Context, store storage.Store) ([]*storage.CorruptError, error) {
	return log.Verify(ctx, store)
}

// Close closes the store. From then on methods that need it fail with [storage.ErrClosed]. Close waits up to 5 seconds
// for a writer; if the store has not returned by then, Close returns an error that says so, and the store stays open
// until Close is called again. Leases of the session's claims end first, within 4
// seconds ([Session.Claim]). Closing twice does nothing.
func (s *Session) Close() error { return s.log.Close() }

// Header returns the header of the session, and the zero value for one in memory to which nothing was appended.
func (s *Session) Header() entry.Header { return s.log.Header() }

// Path returns the absolute path of the session's file, "" if it has none.
func (s *Session) Path() string { return s.log.Reading().Path }

// Recall reports whether the session was opened with [Options.Recall].
func (s *Session) Recall() bool { return s.log.Reading().Recall }

// TextPath returns the path of the text of an entry, if the entry is long ([storage.Texter]); "" if the store keeps no
// texts.
func (s *Session) TextPath(id string) string {
	if of := s.log.Reading().TextPath; of != nil {
		return of(id)
	}
	return ""
}

// Lines returns the number of lines in the store, the header included; 0 if the store does not count them.
func (s *Session) Lines(ctx context.Context) (int, error) { return s.log.Lines(ctx) }

// Recovered describes the torn end that was found on opening, and is nil if there was none.
func (s *Session) Recovered() *storage.Recovery { return s.log.Recovered() }

// Skipped lists the lines that were skipped because of [Options.Salvage].
func (s *Session) Skipped() []*storage.CorruptError { return s.log.Skipped() }

// ReadOnly reports whether the session was opened for reading only.
func (s *Session) ReadOnly() bool { return s.log.ReadOnly() }

// Shared reports whether other processes may append to the session's store at the same time, as reported by a
// [storage.Sharer]. A file has one writer, and a store in memory belongs to this process.
func (s *Session) Shared() bool { return s.log.Shared() }

// Now returns the time by the session's clock ([Options.Now]), which is given to entries without a time of their own.
func (s *Session) Now(ctx context.Context) (time.Time, error) { return s.log.Now(ctx) }

// ErrNotErasable is returned for an erasure in a store that is not a [storage.Eraser].
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
// covered it, or if the plan has ended, as an erasure ends it, the compaction is dropped with a [*entry.BoundaryError], and the session stays
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

// AddBehind adds entries as [Session.Add] does, but behind an entry on the path: what a user said since is added again
// behind them, with ids of its own, and what it was stays on a branch, alone with its usage. So the answer of a model
// stands where it was asked for, although the user went on meanwhile. If anybody but the user said something since, or
// the session was compacted since, the error is a [*storage.ConflictError], and nothing is written.
func (s *Session) AddBehind(ctx context.Context, id string, entries ...entry.Entry) ([]entry.Entry, error) {
	return s.log.AddBehind(ctx, id, entries...)
}

// Pin keeps an entry word for word through compactions, from the next one on: it is copied beside the summary, as the
// user's words, within a part of the budget (policy.Replace.Pinned). The entry must be on the path, and something that was
// said. Pinning it again moves it behind the others. The newest 64 pins of a path count.
func (s *Session) Pin(ctx context.Context, id string) error {
	_, err := s.Add(ctx, entry.Entry{Body: entry.Pin{Ref: entry.Ref{ID: id}}})
	return err
}

// Unpin ends a pin, from the next compaction on.
func (s *Session) Unpin(ctx context.Context, id string) error {
	_, err := s.Add(ctx, entry.Entry{Body: entry.Pin{Ref: entry.Ref{ID: id}, Off: true}})
	return err
}

// Pinned returns the pinned entries of the path to an entry, the leaf for "", in the order of the store.
func (s *Session) Pinned(ctx context.Context, id string) ([]entry.Entry, error) {
	retained, err := s.Retained(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.Resolve(ctx, retained.Pins...)
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
// Copies of it in the whole session are erased too:
//
//   - What names an erased entry as the one that it is a copy of ([entry.Entry.Of]), and the other way round.
//   - A message, on any branch, that says the same as a whole; one of less than 32 bytes only if neither it nor the erased one
//     is on the path to the other, because people say "go on" twice.
//   - What a source keeps of a result that is erased ([entry.Custom.Of]).
//   - Words in compactions, clearings, branch summaries, plans and lists of things to do: whole lines of a text, and runs of
//     32 bytes or more, also within JSON; names in an index; and the placeholder of what is erased.
//   - Text files ([storage.Texter]), unless somebody has put a link in their folder's place.
//
// A compaction that is being made ends: an answer that is under way may hold what was erased. The agent's own answer is added
// like any other message: erase between two steps.
//
// A key or a name of less than 32 bytes that stands within another sentence is no copy, and is neither erased nor listed. To
// erase a secret, look for it in the texts, arguments and results of all of [Session.Entries], erase each entry that has it,
// then [entry.Erasure.Summaries], and look for it in the log.
//
// Other entries that hold a line or 32 bytes of it are listed in [entry.Erasure.Holders]. A summary describes what it covers
// in its own words and is not changed; those that cover what is erased are listed in [entry.Erasure.Summaries]. Erase both
// too if they must not reveal it. Checkpoint files stay: [entry.Erasure.Folders] lists their folders, each of which
// checkpoints.Folder.Erase erases. An application that has a list of its own, as with package mirror, takes it out there.
// What was sent to models stays where it went, and below the store traces may stay on disk: its page says which
// ([storage.File], [storage.Memory], package postgres).
//
// The store must be a [storage.Eraser], else the error is [ErrNotErasable]. Erase reads the whole store three times. Other
// sessions that have the store open show what was erased until they refresh. If Erase fails halfway it
// can be called again.
func (s *Session) Erase(ctx context.Context, ids ...string) (entry.Erasure, error) {
	return s.log.Erase(ctx, ids...)
}

// Remove removes the session with everything in it from its store, and closes it. The store must be an
// [storage.Eraser], else the error is [ErrNotErasable].
func (s *Session) Remove(ctx context.Context) error { return s.log.Remove(ctx) }

// Redact returns a text as [Options.Redact] would have it written, for whoever shows or sends it elsewhere.
func (s *Session) Redact(ctx context.Context, p entry.Passage) (string, error) {
	return p.Redact(ctx, s.redact)
}

// RedactEntry returns an entry with its texts as [Options.Redact] has them written.
func (s *Session) RedactEntry(ctx context.Context, e entry.Entry) (entry.Entry, error) {
	return e.Redact(ctx, s.redact)
}

// Redacted returns an error whose text is redacted as the session's entries are. What it wraps is found by [errors.Is]
// and [errors.As] as before.
func (s *Session) Redacted(ctx context.Context, err error) error {
	if err == nil || s.redact == nil {
		return err
	}
	said := err.Error()
	text, failed := s.Redact(context.WithoutCancel(ctx), entry.Passage{Text: said, Type: entry.TypePlanEnd, Path: "planEnd.error"})
	switch {
	case failed != nil:
		return worded.Errorf(err, "history: an error that could not be redacted: %v", failed)
	case text == said:
		return err
	}
	return worded.Errorf(err, "%s", text)
}

// Entries returns all entries in the order in which they were appended, as far as the session knows them, read one
// after the other from the store. What they hold is shared and must not be changed. An error is the last value.
func (s *Session) Entries(ctx context.Context) iter.Seq2[entry.Entry, error] {
	return s.log.Entries(ctx)
}

// Entry returns the entry with an id, the leaf for "". An entry that is not shown is searched for in the store, from
// its end back. The error is a [*storage.NoEntryError] if there is none.
func (s *Session) Entry(ctx context.Context, id string) (entry.Entry, error) {
	return s.log.Entry(ctx, id)
}

// Leaf returns the id of the entry that the next one follows: the entry that was appended last. It is "" in an empty
// session.
func (s *Session) Leaf() string { return s.log.Leaf() }

// Leaves returns the ids of the entries without a child, in the order in which they were appended. It reads the whole
// store.
func (s *Session) Leaves(ctx context.Context) ([]string, error) {
	var list []string
	inner := map[string]bool{}
	for e, err := range s.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		inner[e.Parent] = true
		list = append(list, e.ID)
	}
	return slices.DeleteFunc(list, func(id string) bool { return inner[id] }), nil
}

// PathTo returns the entries from the root to an entry, the leaf for "", read one after the other from the store. What
// they hold must not be changed. An error is the last value.
func (s *Session) PathTo(ctx context.Context, id string) iter.Seq2[entry.Entry, error] {
	return s.log.PathTo(ctx, id)
}

// Back returns the entries from an entry, the leaf for "", back to the root. They are read one after the other, so
// stopping early reads little. What they hold must not be changed. An error is the last value.
func (s *Session) Back(ctx context.Context, id string) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		for e, err := range s.BackLocated(ctx, id) {
			if !yield(e.Entry, err) {
				return
			}
		}
	}
}

// SaidSince reports whether something was said that a view shows, or the branch was changed, since an entry; "" means at all.
func (s *Session) SaidSince(ctx context.Context, id string) (bool, error) {
	for e, err := range s.Back(ctx, "") {
		if err != nil || e.ID == id {
			return false, err
		}
		if kind.Of(e).Said() {
			return true, nil
		}
	}
	return false, nil
}

// Located is an entry with its position in the store, by which [Session.Resolve] reads it at once.
type Located = log.Located

// BackLocated is [Session.Back] with the positions of the entries.
func (s *Session) BackLocated(ctx context.Context, id string) iter.Seq2[Located, error] {
	return s.log.BackLocated(ctx, id)
}

// Kept returns what was made of the session's entries and is kept in the [Cache] that sessions share, nil if there is
// nothing, and a function that keeps something of so many bytes in its place: package recall keeps the words of what was
// said. It is dropped when an entry is erased.
func (s *Session) Kept() (made any, keep func(made any, bytes int)) { return s.log.Kept() }

// Latest returns the newest entry of a type on the path to the leaf, and false if there is none: for instance the
// current model or the current list of things to do. It does not find messages by their role, nor entries of unknown
// types.
func (s *Session) Latest(ctx context.Context, of entry.Type) (entry.Entry, bool, error) {
	return s.log.Latest(ctx, of)
}

// Customs returns the newest [entry.Custom] of each name that begins with a prefix, on the path to an entry, the leaf for
// "", in the order in which they were added. An entry without data ends its name, so it is not returned. A compaction
// retains the newest 256 names, so what is stored by name outlives compactions, without reading what they cover.
func (s *Session) Customs(ctx context.Context, id, prefix string) ([]entry.Entry, error) {
	return s.log.Customs(ctx, id, prefix)
}

// Ancestor returns the last entry that the paths to two entries share, "" if they share none. For either, "" means the
// leaf.
func (s *Session) Ancestor(ctx context.Context, a, b string) (string, error) {
	return s.log.Ancestor(ctx, a, b)
}

// Abandoned returns what is left behind when the session moves from one leaf to another: the entries after their common
// ancestor up to the old leaf, in order. It returns none if the new leaf follows the old one.
func (s *Session) Abandoned(ctx context.Context, from, to string) iter.Seq2[entry.Entry, error] {
	return s.log.Abandoned(ctx, from, to)
}

// Retained returns what a compaction that covers the path to an entry, the leaf for "", would retain of it.
func (s *Session) Retained(ctx context.Context, id string) (entry.Retained, error) {
	return s.log.Retained(ctx, id)
}

// Resolve returns the entries that are referred to, each once and in the order of the store. Missing ones are left out.
func (s *Session) Resolve(ctx context.Context, refs ...entry.Ref) ([]entry.Entry, error) {
	return s.log.Resolve(ctx, refs...)
}

// Claim claims work on the session, such as an [entry.Plan] by the id of its entry, and reports whether it succeeded:
// it returns false if the work is claimed already. [Session.Release] ends a claim.
//
// Claims are held in memory and coordinate goroutines of this process. If the store is a [storage.Leaser], they also
// coordinate processes: Claim takes a lease of 9 seconds, and a goroutine renews it every 3 seconds until the claim is
// released, the limit has passed or the session is closed. When a process dies, its claims are [storage.LeaseExpired] at
// most 9 seconds later. If the renewals fail for that long and another process takes the lease, the claim is lost: others are
// at work, and what they write must be looked for before a result is written.
//
// The error is that of the store. The work is not claimed then.
func (s *Session) Claim(ctx context.Context, id string, limit time.Duration) (bool, error) {
	return s.log.Claim(ctx, id, limit)
}

// Release ends a claim. It does nothing if there is none. A lease ends in the store too; if the store fails or takes
// longer than 2 seconds, the lease expires.
func (s *Session) Release(id string) { s.log.Release(id) }

// Claimed returns the state of a claim. If the store fails, that is [storage.LeaseUnknown], with the store's error.
func (s *Session) Claimed(ctx context.Context, id string) (storage.LeaseState, error) {
	return s.log.Claimed(ctx, id)
}

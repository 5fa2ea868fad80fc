package history

import (
	"context"
	"iter"

	"github.com/promptree-go/promptree/history/entry"
)

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
func (s *Session) Leaves(ctx context.Context) ([]string, error) { return s.log.Leaves(ctx) }

// Labels returns the latest label of each entry, by the ids of the entries. It reads the whole store.
func (s *Session) Labels(ctx context.Context) (map[string]string, error) { return s.log.Labels(ctx) }

// PathTo returns the entries from the root to an entry, the leaf for "", read one after the other from the store. What
// they hold must not be changed. An error is the last value.
func (s *Session) PathTo(ctx context.Context, id string) iter.Seq2[entry.Entry, error] {
	return s.log.PathTo(ctx, id)
}

// Back returns the entries from an entry, the leaf for "", back to the root. They are read one after the other, so
// stopping early reads little. What they hold must not be changed. An error is the last value.
func (s *Session) Back(ctx context.Context, id string) iter.Seq2[entry.Entry, error] {
	return s.log.Back(ctx, id)
}

// Latest returns the newest entry of a type on the path to the leaf, and false if there is none: for instance the
// current model or the current list of things to do. It does not find messages by their role, nor entries of unknown
// types.
func (s *Session) Latest(ctx context.Context, of entry.Type) (entry.Entry, bool, error) {
	return s.log.Latest(ctx, of)
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

// Carry returns what a compaction that covers the path to an entry, the leaf for "", would carry forward.
func (s *Session) Carry(ctx context.Context, id string) (entry.Carried, error) {
	return s.log.Carry(ctx, id)
}

// Resolve returns the entries that are referred to, each once and in the order of the store. Missing ones are left out.
func (s *Session) Resolve(ctx context.Context, refs ...entry.Ref) ([]entry.Entry, error) {
	return s.log.Resolve(ctx, refs...)
}

// Package storage keeps the lines of sessions: in a file ([OpenFile]), in memory ([Memory]), or in a [Store] of your
// own. Package history opens and fills a store; users of a session meet this package in the options of its file
// ([FileOptions]) and in errors:
//
//	session, err := history.Open("session.jsonl", history.Options{File: storage.FileOptions{Sync: storage.SyncInterval}})
//	if locked, ok := errors.AsType[*storage.LockedError](err); ok {
//		return fmt.Errorf("process %d writes this session: %w", locked.Holder.PID, err)
//	}
//
// # What a store knows
//
// A session is a header and its entries, one [Line] each, in the order in which they were appended. A store knows the
// id of a line, that of the line it follows, and its kind; it returns the line itself byte for byte.
//
// Lines are only ever appended, at a [Position] that the caller believes to be the end. If somebody else has appended
// in the meantime, that is a [*ConflictError] and nothing is written, so that several writers can share a store without
// losing each other's lines. [Store.Back] walks from a line to its parent and on to the root, so that a session opens
// without reading the whole store.
//
// # What a file promises
//
// A [File] is a log of one JSON object per line. By default an append is on disk before it is acknowledged, and
// outlives a crash and a loss of power; [FileOptions.Sync] trades that for speed. A file has one writer; a second one
// gets a [*LockedError] that names the first, and readers are always let in. A half-written line at the end, as a crash
// leaves it, is moved to a separate file ([Recovery]). If the log is removed, renamed or replaced while it is open,
// appends fail with [ErrMoved] and nothing is written elsewhere.
//
// # Stores of your own
//
// Implement [Store]; five methods are enough. [Texter], [LineCounter], [Picker], [Eraser], [Sharer],
// [Leaser] and [ReadOnlyer] are optional: each adds an ability to the session or makes it faster. [CheckLines] checks what is
// appended, [ParseLine] reads a line that was stored as raw JSON. Package historytest has the tests that every store
// must pass. [Memory] is the smallest example, module history/postgres one with several writers.
package storage

// Package log keeps the entries of a session in a store: the session without its views, of which history.Session is the
// face. Its files, each of which uses only those before it:
//
//	lock, id, options, cache
//	verify, salvage  lines that cannot be read
//	guard            the guard around a store that is not promptree's own
//	path             the newest part of the path to an entry, from the cut of the newest compaction on
//	carrier          what a compaction carries forward
//	reader, lookup, walk
//	                 entries by their nodes, by references, and from one back to the root
//	boundary, carry  where a compaction may cut a path, and what it carries from there
//	claims, log      claims on work; the [Log], opened and closed
//	tree, check, redact, refresh, append, erase
//	                 what is asked of a log, and what changes it
package log

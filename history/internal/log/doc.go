// Package log keeps the entries of a session in a store: the session without its views, of which history.Session is the
// face. Its files, each of which uses only those before it:
//
//	cache
//	guard          the guard around a store that is not promptree's own, and the lock of writers
//	damage         lines that cannot be read: Verify, and a store without them
//	path, collector  the newest part of the path to an entry; what a compaction retains
//	reader, lookup, retained
//	               entries by their nodes and by references, and from one back to the root; where a compaction may cut
//	log, claims    the [Log], opened and closed; claims on work
//	tree, check, append, erase
//	               what is asked of a log, and what changes it
package log

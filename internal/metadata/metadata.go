// Package metadata holds the untyped form of a value that an element attaches to a prompt.
package metadata

// Entry is a value that an element attached.
type Entry struct {
	Value any
	// Local drops the value together with the element that holds it.
	Local bool
}

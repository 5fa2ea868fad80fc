// Package metadata is how a value goes along with a prompt, without its type.
package metadata

// Entry is a value on its way through the renderer.
type Entry struct {
	Value any
	// Local drops the value together with the element it stands in.
	Local bool
}

// Package worded makes errors that are of a known kind and have a text of their own.
package worded

import "fmt"

// Errorf returns an error with a formatted text, for which [errors.Is] reports that it is of a kind. Unlike with %w, the text of the
// kind, which begins with the name of its package, is not in it.
func Errorf(kind error, format string, args ...any) error {
	return &wordedError{kind, fmt.Sprintf(format, args...)}
}

type wordedError struct {
	kind error
	text string
}

func (e *wordedError) Error() string { return e.text }

// Unwrap returns the kind.
func (e *wordedError) Unwrap() error { return e.kind }

// Package worded makes errors that wrap a sentinel without repeating its text.
package worded

import "fmt"

// Errorf returns an error with a formatted text that wraps kind, so that [errors.Is] finds it. Unlike with %w, the text
// of kind is not part of the error's text, so the name of its package is not repeated.
func Errorf(kind error, format string, args ...any) error {
	return &wordedError{kind, fmt.Sprintf(format, args...)}
}

type wordedError struct {
	kind error
	text string
}

func (e *wordedError) Error() string { return e.text }

// Unwrap returns kind.
func (e *wordedError) Unwrap() error { return e.kind }

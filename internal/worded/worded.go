// Package worded makes errors that wrap others without repeating the name of a package, and the texts of errors.
package worded

import (
	"fmt"
	"strings"
)

// Errorf returns an error with a formatted text that wraps kind, so that [errors.Is] finds it. Unlike with %w, the text
// of kind is not part of the error's text, so the name of its package is not repeated.
func Errorf(kind error, format string, args ...any) error {
	return &wordedError{kind, fmt.Sprintf(format, args...)}
}

// In returns an error that says where in a package err happened. The text begins with the package's name, once.
func In(pkg, where string, err error) error {
	return Errorf(err, "%s: %s: %s", pkg, where, Unprefixed(pkg, err))
}

// Unprefixed returns the text of an error without a package's name at its start.
func Unprefixed(pkg string, err error) string { return strings.TrimPrefix(err.Error(), pkg+": ") }

// Line returns the text of an error in one line.
func Line(err error) string { return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ") }

type wordedError struct {
	kind error
	text string
}

func (e *wordedError) Error() string { return e.text }

// Unwrap returns kind.
func (e *wordedError) Unwrap() error { return e.kind }

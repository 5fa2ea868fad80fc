package guard

import "fmt"

// ElementError is the error of an element.
type ElementError struct {
	Path  string
	Err   error
	Stack []byte // of a panic, else nil
}

func (e *ElementError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns what went wrong.
func (e *ElementError) Unwrap() error { return e.Err }

// TokenizerError is the error of a tokenizer.
type TokenizerError struct {
	Tokenizer string // its type
	Err       error
	Stack     []byte // of a panic, else nil
}

func (e *TokenizerError) Error() string {
	return fmt.Sprintf("counting with %s: %v", e.Tokenizer, e.Err)
}

// Unwrap returns what went wrong.
func (e *TokenizerError) Unwrap() error { return e.Err }

// Package errtest shortens what tests say of errors.
package errtest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// As returns the first error of a type in an error's tree. It fails the test if there is none.
func As[T error](t testing.TB, err error) (as T) {
	t.Helper()
	require.ErrorAs(t, err, &as)
	return as
}

// Said returns the result of a call as an agent appends it: a mistake of the model is a failed result.
func Said(result chat.Message, call string, err error) (chat.Message, error) {
	if mistake, ok := errors.AsType[*chat.ArgumentError](err); ok {
		return chat.FailedResult(call, mistake.Reason), nil
	}
	return result, err
}

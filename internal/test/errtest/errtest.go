// Package errtest shortens what tests say of errors.
package errtest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// As returns the first error of a type in an error's tree. It fails the test if there is none.
func As[T error](t testing.TB, err error) (as T) {
	t.Helper()
	require.ErrorAs(t, err, &as)
	return as
}

package importer

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinesAboveTheLimitAreRefused(t *testing.T) {
	const start = `{"type":"session","id":"s"}`
	const limit = 100
	exact := `{"type":"` + strings.Repeat("x", limit-11) + `"}`
	require.Len(t, exact, limit)

	got, err := read(strings.NewReader(start+"\n"+exact+"\n"+exact), limit)
	require.NoError(t, err)
	assert.Len(t, got.Skipped, 1)

	tails := map[string]string{
		"with an end":    "\n" + start,
		"without an end": "",
		"endless":        strings.Repeat(" ", 1<<20),
	}
	for name, tail := range tails {
		got, err = read(strings.NewReader(start+"\n"+exact+" "+tail), limit)
		assert.Nil(t, got, name)
		bad, ok := errors.AsType[*LineError](err)
		require.True(t, ok, name)
		assert.Equal(t, 2, bad.Line, name)
		assert.EqualError(t, bad.Err, "the line is longer than 100 bytes", name)
	}
}

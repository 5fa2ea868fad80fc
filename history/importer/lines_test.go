package importer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/importer"
)

func TestALineLongerThanTheLimitIsRefusedOrSkipped(t *testing.T) {
	const start = `{"type":"session","id":"s"}`
	const limit = 100
	exact := `{"type":"` + strings.Repeat("x", limit-11) + `"}`
	require.Len(t, exact, limit)

	opts := importer.Options{MaxLine: limit}
	got, err := opts.Read(strings.NewReader(start + "\n" + exact + "\n" + exact))
	require.NoError(t, err)
	assert.Len(t, got.Records, 2)

	tails := map[string]string{
		"another line follows": "\n" + start,
		"no line feed":         "",
		"far longer":           strings.Repeat(" ", 1<<20),
	}
	for name, tail := range tails {
		got, err = opts.Read(strings.NewReader(start + "\n" + exact + " " + tail))
		assert.Nil(t, got, name)
		bad, ok := errors.AsType[*importer.LineError](err)
		require.True(t, ok, name)
		assert.Equal(t, 2, bad.Line, name)
		assert.EqualError(t, bad.Err, "the line is longer than 100 bytes", name)
	}

	for name, tail := range tails {
		got, err = importer.Options{MaxLine: limit, SkipUnreadable: true}.Read(strings.NewReader(start + "\n" + exact + " " + tail))
		require.NoError(t, err, name)
		assert.Equal(t, importer.Note{Line: 2, Count: 1, Kind: importer.Unreadable, What: "the line is longer than 100 bytes"}, got.Notes[0], name)
	}
}

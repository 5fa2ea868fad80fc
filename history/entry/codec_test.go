package entry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/sealed"
)

func TestUnknownEntriesAreWrittenBackUnchanged(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"type":"smell","id":"s","parent":"e1","time":"2026-01-02T03:04:05Z","smell": {"deep":[1.0]} }`,
		`{"later":true,"type":"later","id":"s","message":"by another meaning"}`,
	} {
		raw := sealed.Line(raw)
		var e entry.Entry
		require.NoError(t, e.UnmarshalJSON([]byte(raw)))
		require.IsType(t, entry.Unknown{}, e.Body)
		require.Equal(t, "s", e.ID)
		again, err := e.Encode()
		require.NoError(t, err)
		require.Equal(t, raw, string(again))
	}
}

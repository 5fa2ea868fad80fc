package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/golden"
)

// generatedSession is long and was compacted by its own agent, twice.
const generatedSession = "../../history/importer/testdata/generated.jsonl"

func TestTable(t *testing.T) {
	for window, model := range map[string]string{"48000": modelOffline, "64000": modelScript} {
		t.Run(window, func(t *testing.T) {
			if race && window == "64000" {
				t.Skip("takes too long with the race detector")
			}
			t.Parallel()
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitOK, run(t.Context(), []string{"-window", window, "-model", model, generatedSession}, &stdout, &stderr))
			require.Empty(t, stderr.String())
			golden.Equal(t, "generated-"+window+".golden", stdout.String())
		})
	}
}

func TestNumber(t *testing.T) {
	for give, want := range map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", -1: "-1", -999: "-999", -1000: "-1,000", -123456: "-123,456",
	} {
		require.Equal(t, want, number(give))
	}
}

func TestShare(t *testing.T) {
	require.Equal(t, "-", share(0, 0))
	require.Equal(t, "0.0%", share(0, 5))
	require.Equal(t, "33.3%", share(1, 3))
	require.Equal(t, "100.0%", share(5, 5))
}

func TestGrid(t *testing.T) {
	var b strings.Builder
	grid{{"name", "count", "how"}, {"größe", "1,000", "full"}, {"b", "-", ""}}.write(&b)
	require.Equal(t, "name   count  how\ngröße  1,000  full\nb          -\n", b.String())
}

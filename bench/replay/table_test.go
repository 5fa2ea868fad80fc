package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// generatedSession is long and was compacted by its own agent, twice.
const generatedSession = "../../history/importer/testdata/generated.jsonl"

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), got))
}

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
			golden(t, "generated-"+window+".golden", stdout.String())
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

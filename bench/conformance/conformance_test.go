package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var reference = flag.String("reference", "", "folder with the reference renderer's oracle.mjs, to make the expected results anew with Node")

// Every case gives the reference's results: messages, counts, metadata, references and errors.
func TestResultsEqualTheReferences(t *testing.T) {
	cases, err := os.ReadFile("testdata/cases.jsonl")
	require.NoError(t, err)
	const expectedFile = "testdata/expected.jsonl"
	if *reference != "" {
		oracle, err := filepath.Abs(filepath.Join(*reference, "oracle.mjs"))
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), "node", oracle)
		cmd.Stdin = bytes.NewReader(cases)
		cmd.Stderr = os.Stderr
		made, err := cmd.Output()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(expectedFile, made, 0o600))
	}
	expected, err := os.ReadFile(expectedFile)
	require.NoError(t, err)

	var out bytes.Buffer
	require.NoError(t, run(bytes.NewReader(cases), &out))
	want, got := split(expected), split(out.Bytes())
	require.Len(t, got, len(want))
	for i := range want {
		w, g := parse(t, want[i]), parse(t, got[i])
		t.Run(w.Name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(w, g))
		})
	}
}

// split splits on LF only: results hold raw U+2028 and U+0085.
func split(data []byte) [][]byte {
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// line is a result as it is compared: all but the text of an error.
type line struct {
	Name    string
	Results []map[string]any
}

func parse(t *testing.T, data []byte) line {
	t.Helper()
	var l line
	require.NoError(t, json.Unmarshal(data, &l))
	for _, r := range l.Results {
		delete(r, "detail")
	}
	return l
}

func TestBadInputNamesTheLine(t *testing.T) {
	var out bytes.Buffer
	err := run(bytes.NewReader([]byte(`{"name":"a","budget":5,"root":"x"}`+"\n{")), &out)
	require.ErrorContains(t, err, "line 2")
	err = run(bytes.NewReader([]byte(`{"name":"a","tokenizer":"none","budget":5,"root":"x"}`)), &out)
	require.ErrorContains(t, err, `unknown tokenizer "none"`)
}

package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
)

var reference = flag.String("reference", "", "folder with the reference renderer's oracle.mjs, to generate the expected results again with Node")

// The results are messages, counts, metadata, references and errors.
func TestResultsEqualTheReferences(t *testing.T) {
	cases := sure.Read(t, "testdata/cases.jsonl")
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
	expected := sure.Read(t, expectedFile)

	var out bytes.Buffer
	require.NoError(t, run(bytes.NewReader(cases), &out))
	want, got := split(expected), split(out.Bytes())
	require.Len(t, want, len(split(cases)), "a result for each case")
	require.Len(t, got, len(want))
	names := map[string]bool{}
	for i, data := range split(cases) {
		c := sure.Decode[testCase](t, data)
		require.False(t, names[c.Name], "%s is a duplicate", c.Name)
		names[c.Name] = true
		w, g := parse(t, want[i]), parse(t, got[i])
		t.Run(c.Name, func(t *testing.T) {
			require.Equal(t, c.Name, w.Name)
			require.Len(t, w.Results, len(c.Budget), "a result for each budget")
			require.Empty(t, cmp.Diff(w, g))
		})
	}
}

// split splits on LF only: results hold raw U+2028 and U+0085.
func split(data []byte) [][]byte {
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// line is a result without the texts of errors, which are not compared.
type line struct {
	Name    string
	Results []map[string]any
}

func parse(t *testing.T, data []byte) line {
	t.Helper()
	l := sure.Decode[line](t, data)
	for _, r := range l.Results {
		delete(r, "detail")
	}
	return l
}

func TestACaseThatCannotBeRenderedIsInvalidAndDoesNotEndTheRun(t *testing.T) {
	tests := []struct {
		name, root, want string
	}{
		{"an unknown node", `{"t":"video"}`, `unknown node "video"`},
		{"an unknown node as the alternative of an ifEmpty", `{"t":"ifEmpty","alt":{"t":"video"}}`, `unknown node "video"`},
		{"a property of another type", `{"t":"user","p":{"priority":"high"}}`, "priority"},
		{"a reserve that is not a fraction", `{"t":"user","p":{"flexReserve":"/many"}}`, "many"},
		{"a node that is a number", `{"t":"user","c":[7]}`, "number"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, run(strings.NewReader(`{"name":"bad","budget":5,"root":`+test.root+`}`+"\n"+`{"name":"good","budget":[9,8],"root":"x"}`), &out))
			lines := split(out.Bytes())
			require.Len(t, lines, 2)
			bad := sure.Decode[caseResult](t, lines[0])
			require.Len(t, bad.Results, 1)
			require.Equal(t, "invalid", bad.Results[0].Error)
			require.Contains(t, bad.Results[0].Detail, test.want)
			require.Len(t, parse(t, lines[1]).Results, 2)
		})
	}
}

func TestBadInputNamesTheLine(t *testing.T) {
	var out bytes.Buffer
	err := run(bytes.NewReader([]byte(`{"name":"a","budget":5,"root":"x"}`+"\n{")), &out)
	require.ErrorContains(t, err, "line 2")
	err = run(bytes.NewReader([]byte(`{"name":"a","tokenizer":"none","budget":5,"root":"x"}`)), &out)
	require.ErrorContains(t, err, `unknown tokenizer "none"`)
}

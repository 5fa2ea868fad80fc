package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGeneratedSessionIsTheGenerators(t *testing.T) {
	got, err := os.ReadFile("../../../history/importer/testdata/generated.jsonl")
	require.NoError(t, err)
	want := session()
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	require.True(t, bytes.Equal(want, got), "generated.jsonl is not what the generator writes, from line %d on; go generate writes it anew",
		bytes.Count(got[:same], []byte("\n"))+1)
}

package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheGeneratedFileIsUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../../history/importer/testdata/generated.jsonl")
	require.NoError(t, err)
	want := session()
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	require.True(t, bytes.Equal(want, got), "generated.jsonl differs from the generator's output from line %d on: run go generate",
		bytes.Count(got[:same], []byte("\n"))+1)
}

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func TestGeneratedCodeHasTheShapeOfTheBenchmark(t *testing.T) {
	text := generatedCode()
	require.Equal(t, text, generatedCode(), "the same each time")
	require.Len(t, text, sampleBytes)
	require.Len(t, strings.Split(text, "\n"), sampleLines)
	require.NotEqual(t, '\n', text[len(text)-1])
	c := tiktoken.Cl100k()
	require.InEpsilon(t, sampleTokens, c.CountText(text), 0.001)
	lines := 0
	for line := range strings.SplitSeq(text, "\n") {
		lines += c.CountText(line)
	}
	require.InEpsilon(t, lineTokens, lines, 0.001)
}

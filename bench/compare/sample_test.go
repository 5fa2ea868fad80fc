package main

import (
	"strings"
	"testing"

	"github.com/promptree-go/promptree/sizing/openai"
	"github.com/stretchr/testify/require"
)

func TestMadeUpCodeHasTheShapeOfTheBenchmark(t *testing.T) {
	text := madeUpCode()
	require.Equal(t, text, madeUpCode(), "the same each time")
	require.Len(t, text, sampleBytes)
	require.Len(t, strings.Split(text, "\n"), sampleLines)
	require.NotEqual(t, '\n', text[len(text)-1])
	c, err := openai.New("cl100k_base")
	require.NoError(t, err)
	require.InEpsilon(t, sampleTokens, c.CountText(text), 0.001)
	lines := 0
	for line := range strings.SplitSeq(text, "\n") {
		lines += c.CountText(line)
	}
	require.InEpsilon(t, lineTokens, lines, 0.001)
}

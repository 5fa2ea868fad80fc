package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

func TestTheNoteSaysHowTheKeptTextsDiffer(t *testing.T) {
	ours := []chat.Message{chat.UserMessage("b\nc\nd")}
	for theirs, want := range map[string]string{
		"b\nc\nd":    "both keep the same",
		"d":          "it keeps the end of our text, 2 lines less, because it prunes in estimated batches",
		"a\nb\nc\nd": "it keeps 1 lines more",
		"b\nd":       "they keep different texts",
	} {
		require.Equal(t, want, keptTexts{Texts: []string{theirs}}.differ(ours))
	}
}

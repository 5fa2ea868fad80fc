package facts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/facts"
)

func TestAListWritesAFolderOnceAndIsReadBack(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  string
		read  []string // if the order changes
	}{
		{[]string{"parseLine"}, "parseLine", nil},
		{[]string{"cmd/main.go", "34,928", "cmd/tree.go"}, "cmd/{main.go, tree.go}, 34,928", []string{"cmd/main.go", "cmd/tree.go", "34,928"}},
		{[]string{"a/b/c.go", "a/c.go", "a/b/d", "a/b.go"}, "a/b/{c.go, d}, a/{c.go, b.go}", []string{"a/b/c.go", "a/b/d", "a/c.go", "a/b.go"}},
		{[]string{"/etc", "/usr"}, "/{etc, usr}", nil},
		{[]string{"a/b.go", "x/b.go"}, "a/b.go, x/b.go", nil},
	} {
		require.Equal(t, tt.want, facts.List(tt.names))
		if tt.read == nil {
			tt.read = tt.names
		}
		require.Equal(t, tt.read, facts.Listed(tt.want))
	}
}

func TestMentionedNamesAreTheMostFrequentThatAreNotShown(t *testing.T) {
	text := "a.go b.go b.go x/c.go c.go x/c.go parseLine parseLine parseLine"
	require.Equal(t, []string{"parseLine", "b.go", "x/c.go", "a.go"}, facts.Mentioned(text, "", 9))
	require.Equal(t, []string{"b.go", "x/c.go"}, facts.Mentioned(text, "(parseLine)", 2))
	require.Empty(t, facts.Mentioned(text, "", 0))
}

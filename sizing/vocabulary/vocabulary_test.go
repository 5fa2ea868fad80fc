package vocabulary_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

const (
	llama3Split = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwenSplit   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

var nfc = map[string]any{"type": "NFC"}

func addedToken(content, flags string) map[string]any {
	return map[string]any{
		"id": 5000, "content": content, "special": true, "single_word": false, "lstrip": strings.Contains(flags, "l"),
		"rstrip": strings.Contains(flags, "r"), "normalized": strings.Contains(flags, "n"),
	}
}

func read(t testing.TB, data []byte, o vocabulary.Options) chat.Tokenizer {
	t.Helper()
	v, err := vocabulary.Read(data)
	require.NoError(t, err)
	return v.Counter(o)
}

func TestAnAddedTokenInsideATextCountsAsOne(t *testing.T) {
	m := train(corpus(), 200, false)
	data := m.json(t, nfc, sequence(splitStage(qwenSplit), byteLevel),
		addedToken("<|end|>", ""), addedToken("<|end|>|>", ""), addedToken("<mask>", "l"), addedToken("<pad>", "r"), addedToken("é!", "n"))
	counter, plain := read(t, data, vocabulary.Options{}), read(t, data, vocabulary.Options{PlainAdded: true})
	of := plain.CountText
	for _, tt := range []struct {
		rule, text string
		want       int
	}{
		{"alone", "<|end|>", 1},
		{"between texts, each by itself", "The quick<|end|>brown fox", of("The quick") + 1 + of("brown fox")},
		{"two in a row", "<|end|><|end|>", 2},
		{"the longest", "<|end|>|>", 1},
		{"the longest, and again", "<|end|>|>|>", 1 + of("|>")},
		{"a part of one", "<|end|", of("<|end|")},
		{"white space to the left", "fox \n\t<mask> x", of("fox") + 1 + of(" x")},
		{"white space to the right", "fox <pad> \u00a0x", of("fox ") + 1 + of("x")},
		{"white space of the token before", "<pad>  <mask>", 2},
		{"found in the normalized text", "xe\u0301!x", of("x") + 1 + of("x")},
		{"broken UTF-8 beside it", "\xff<|end|>", of("\xff") + 1},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.want, counter.CountText(tt.text))
		})
	}
	require.Greater(t, of("<|end|>"), 1, "as plain text")

	v, err := vocabulary.Read(data)
	require.NoError(t, err)
	id, ok := v.Added("<mask>")
	require.True(t, ok)
	require.Equal(t, 5000, id)
	_, ok = v.Added("<|im_start|>")
	require.False(t, ok)
}

func TestASpaceIsPutWhereTheFileSays(t *testing.T) {
	m := train(corpus(), 300, true)
	spaces := map[string]any{"type": "Replace", "pattern": map[string]any{"String": " "}, "content": "▁"}
	for _, tt := range []struct {
		rule            string
		normalizer, pre any
		text            string
		want            []string // the texts that are merged
	}{
		{"Prepend, at each text", map[string]any{"type": "Sequence", "normalizers": []any{map[string]any{"type": "Prepend", "prepend": "▁"}, spaces}},
			nil, " a<s>b", []string{"  a", " b"}},
		{"Metaspace, always", nil, map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": false}, " a<s>b", []string{" a", " b"}},
		{"Metaspace, first", nil, map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false}, "a<s>b", []string{" a", "b"}},
		{"Metaspace, first of nothing", nil, map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false}, "<s>b", []string{"b"}},
		{"Metaspace, split by default", nil, map[string]any{"type": "Metaspace", "replacement": "▁"}, "the fox  the", []string{" the", " fox", " ", " the"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			want := strings.Count(tt.text, "<s>")
			for _, text := range tt.want {
				want += m.count(text)
			}
			data := m.json(t, tt.normalizer, tt.pre, addedToken("<s>", ""))
			require.Equal(t, want, read(t, data, vocabulary.Options{}).CountText(tt.text))
		})
	}
	byBytes := train(corpus(), 300, false)
	data := byBytes.json(t, nil, map[string]any{"type": "ByteLevel", "add_prefix_space": true})
	counter := read(t, data, vocabulary.Options{})
	require.Equal(t, byBytes.count(" the"), counter.CountText("the"))
	require.Equal(t, byBytes.count(" the"), counter.CountText(" the"))
}

// Files of models whose vocabularies are not at hand, with a small one in its place.
func TestStagesOfPublishedFilesAreRead(t *testing.T) {
	m := train(corpus(), 500, false)
	for name, stages := range map[string][2]any{
		"StarCoder":    {nil, sequence(map[string]any{"type": "Digits", "individual_digits": true}, map[string]any{"type": "ByteLevel", "add_prefix_space": false})},
		"GPT-2":        {nil, map[string]any{"type": "ByteLevel", "add_prefix_space": false}},
		"Command R":    {nfc, sequence(map[string]any{"type": "Digits", "individual_digits": true}, map[string]any{"type": "ByteLevel", "add_prefix_space": false})},
		"GLM-4, phi-4": {nil, sequence(splitStage(llama3Split), byteLevel)},
		"an encoding of OpenAI's": {nil, sequence(map[string]any{
			"type": "Split", "pattern": map[string]any{"Regex": llama3Split}, "behavior": "Removed", "invert": true}, byteLevel)},
	} {
		t.Run(name, func(t *testing.T) {
			c, ok := read(t, m.json(t, stages[0], stages[1], addedToken("<|end|>", "")), vocabulary.Options{}).(chat.Joiner)
			require.True(t, ok)
			cuts := 0
			for _, text := range texts(7, 400, []string{"<|end|>"}) {
				if len(text) < 1000 {
					cuts += requireCutsAddUp(t, c, text)
				}
			}
			require.Greater(t, cuts, 1000)
		})
	}
	numbers := read(t, m.json(t, nil, sequence(map[string]any{"type": "Digits", "individual_digits": true}, byteLevel)), vocabulary.Options{})
	require.Equal(t, 7, numbers.CountText("2026.11"))
}

func TestWhatIsNotKnownIsRefusedByName(t *testing.T) {
	m := train([]string{"ab"}, 1, false)
	characters := train([]string{"ab"}, 1, true)
	withModel := func(old, new string) []byte {
		return []byte(strings.Replace(string(m.json(t, nil, byteLevel)), old, new, 1))
	}
	for _, tt := range []struct {
		rule string
		data []byte
		says string
	}{
		{"another model", withModel(`"type":"BPE"`, `"type":"WordPiece"`), "WordPiece"},
		{"Unigram", []byte(`{"model": {"type": "Unigram", "vocab": [["a", -1]]}}`), "Unigram"},
		{"a list for a vocabulary", []byte(`{"model": {"vocab": [["a", -1]]}}`), "not BPE"},
		{"dropout", withModel(`"dropout":null`, `"dropout":0.1`), "0.1"},
		{"an end of words", withModel(`"dropout":null`, `"end_of_word_suffix":"</w>"`), "</w>"},
		{"a normalizer", m.json(t, map[string]any{"type": "NFKC"}, byteLevel), `{"type":"NFKC"}`},
		{"one in a sequence", m.json(t, map[string]any{"type": "Sequence", "normalizers": []any{map[string]any{"type": "Lowercase"}}}, byteLevel), "Lowercase"},
		{"a pre-tokenizer", m.json(t, nil, sequence(map[string]any{"type": "Punctuation"}, byteLevel)), "Punctuation"},
		{"an expression", m.json(t, nil, sequence(splitStage("a+\n"), byteLevel)), `"a+\n"`},
		{"what becomes of a split", m.json(t, nil, sequence(map[string]any{
			"type": "Split", "pattern": map[string]any{"Regex": llama3Split}, "behavior": "MergedWithNext"}, byteLevel)), "MergedWithNext"},
		{"a space before every word", m.json(t, nil, sequence(splitStage(llama3Split), map[string]any{"type": "ByteLevel", "add_prefix_space": true})), "add_prefix_space"},
		{"characters without byte_fallback", []byte(strings.Replace(string(characters.json(t, nil, nil)), `"byte_fallback":true`, `"byte_fallback":false`, 1)), "byte_fallback"},
		{"an unknown byte", []byte(strings.Replace(string(characters.json(t, nil, nil)), `0xC3`, `0xC_`, 1)), "<0xC3>"},
		{"an added token of single words", m.json(t, nil, byteLevel, map[string]any{"content": "x", "single_word": true}), "single words: x"},
		{"an id that is too large", []byte(strings.Replace(string(m.json(t, nil, byteLevel)), `"a":`, `"a":9000000,"zz":`, 1)), "9000000"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			_, err := vocabulary.Read(tt.data)
			var unsupported *vocabulary.UnsupportedError
			require.ErrorAs(t, err, &unsupported)
			require.ErrorContains(t, err, tt.says)
		})
	}
}

func TestADamagedFileIsAnError(t *testing.T) {
	good := string(train([]string{"ab"}, 1, false).json(t, nil, byteLevel))
	for _, tt := range []struct{ rule, data, says string }{
		{"no JSON", "tokenizer", "not a tokenizer.json"},
		{"cut off", good[:len(good)/2], "not a tokenizer.json"},
		{"a merge of what is not a token", strings.Replace(good, `[["a","b"]]`, `[["a","zz"]]`, 1), "not a token"},
		{"a merge of three", strings.Replace(good, `[["a","b"]]`, `["a b c"]`, 1), "not a tokenizer.json"},
		{"a merge of one", strings.Replace(good, `[["a","b"]]`, `["ab"]`, 1), "not a tokenizer.json"},
		{"a number for a merge", strings.Replace(good, `[["a","b"]]`, `[1]`, 1), "not a tokenizer.json"},
		{"a word for an id", strings.Replace(good, `"a":`, `"a":"x","zz":`, 1), "not a tokenizer.json"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			_, err := vocabulary.Read([]byte(tt.data))
			require.ErrorContains(t, err, tt.says)
		})
	}
	_, err := vocabulary.Open(filepath.Join(t.TempDir(), "tokenizer.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzRead(f *testing.F) {
	m := train([]string{"ab"}, 1, false)
	f.Add(m.json(f, nfc, sequence(splitStage(qwenSplit), byteLevel), addedToken("<s>", "lr")))
	f.Add([]byte(tokenizerJSON))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := vocabulary.Read(data)
		if err == nil {
			v.Counter(vocabulary.Options{}).CountText("a b\xff<s>é1")
		}
	})
}

func TestATextIsNotCutInsideAnAddedTokenWithASpace(t *testing.T) {
	m := train(corpus(), 100, true)
	spaces := map[string]any{"type": "Replace", "pattern": map[string]any{"String": " "}, "content": "▁"}
	c := read(t, m.json(t, spaces, nil, addedToken("ǂ ǂ", "n")), vocabulary.Options{}).(chat.Joiner)
	for _, text := range []string{"aǂ ǂb", "aǂ▁ǂb"} {
		require.Equal(t, 3, c.CountText(text))
		require.Positive(t, requireCutsAddUp(t, c, text))
	}
}

func FuzzJoins(f *testing.F) {
	m := train(corpus(), 300, false)
	added := []map[string]any{addedToken("<|end|>", ""), addedToken("<mask>", "l"), addedToken("<pad>", "r")}
	var counters []chat.Joiner
	for _, stages := range [][2]any{
		{nfc, sequence(splitStage(qwenSplit), byteLevel)},
		{nil, sequence(map[string]any{"type": "Digits", "individual_digits": true}, map[string]any{"type": "ByteLevel", "add_prefix_space": false})},
	} {
		counters = append(counters, read(f, m.json(f, stages[0], stages[1], added...), vocabulary.Options{}).(chat.Joiner))
	}
	for _, text := range texts(11, 60, []string{"<|end|>", "<mask>", "<pad>"}) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<9 {
			t.Skip("each cut counts the whole text")
		}
		for _, c := range counters {
			requireCutsAddUp(t, c, string([]rune(text)))
		}
	})
}

func TestMessagesAddUpAsAJoinerPromises(t *testing.T) {
	m := train(corpus(), 200, false)
	c := read(t, m.json(t, nil, sequence(splitStage(llama3Split), byteLevel)), vocabulary.Options{}).(chat.Joiner)
	message := chat.Message{
		Role: chat.RoleAssistant, Content: []chat.Part{chat.Text("The quick "), chat.Thinking{Text: "brown"}, chat.Text("fox")},
		ToolCalls: []chat.ToolCall{{ID: "1", Name: "count", Arguments: `{"glob":"*.go"}`}},
	}
	frame, joined := c.CountFrame(message)
	require.True(t, joined)
	require.Equal(t, frame+c.CountText("The quick fox"), c.CountMessage(message))
	require.Greater(t, frame, c.CountText(`{"glob":"*.go"}`)+c.CountText("brown"))
	require.Zero(t, c.CountTools(nil))
	require.Positive(t, c.CountTools([]chat.Tool{{Name: "count", Description: "Counts \"files\".", Parameters: []byte(`{"type":"object"}`)}}))
	require.Equal(t, c.CountText("fox"), c.CountPart(chat.Document{MediaType: "text/plain", Data: "Zm94"}))
	require.Equal(t, 1200, c.CountPart(chat.Image{URL: "https://example.com/a.png"}))
}

func TestACounterIsSafeForConcurrentUse(t *testing.T) {
	m := train(corpus(), 300, false)
	data := m.json(t, nfc, sequence(splitStage(qwenSplit), byteLevel), addedToken("<s>", ""))
	all := texts(9, 200, []string{"<s>"})
	want := make([]int, len(all))
	for i, text := range all {
		want[i] = read(t, data, vocabulary.Options{}).CountText(text)
		if i == 40 {
			all, want = all[:i+1], want[:i+1]
			break
		}
	}
	c := read(t, data, vocabulary.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, text := range all {
				if got := c.CountText(text); got != want[i] {
					t.Errorf("%q: %d tokens, want %d", text, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestCountingAllocatesNothing(t *testing.T) {
	m := train(corpus(), 300, false)
	c := read(t, m.json(t, nfc, sequence(splitStage(qwenSplit), byteLevel), addedToken("<s>", "")), vocabulary.Options{})
	for name, text := range map[string]string{
		"a text that is not remembered": "The quick <s>brown",
		"a text that is":                strings.Repeat("The quick brown fox\n", 100),
	} {
		c.CountText(text)
		require.Zero(t, testing.AllocsPerRun(10, func() { c.CountText(text) }), name)
	}
}

// Published files take at most one and a half times their size in memory.
func TestAVocabularyTakesAboutItsFilesSize(t *testing.T) {
	directory := modules(t)
	for _, family := range families {
		path := fileOf(directory, family)
		info, err := os.Stat(path)
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		v, err := vocabulary.Open(path)
		require.NoError(t, err)
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.Less(t, int64(after.HeapAlloc-before.HeapAlloc), info.Size()*3/2, family)
		runtime.KeepAlive(v)
	}
}

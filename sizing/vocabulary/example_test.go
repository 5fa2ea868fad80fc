package vocabulary_test

import (
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

// A file as it is published with a model, but with far fewer tokens. Ġ stands for a space.
const tokenizerJSON = `{
	"added_tokens": [{"id": 12, "content": "<|end|>", "special": true, "normalized": false}],
	"normalizer": {"type": "NFC"},
	"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
		{"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}"}, "behavior": "Isolated", "invert": false},
		{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}
	]},
	"model": {
		"type": "BPE",
		"vocab": {"h": 0, "e": 1, "l": 2, "o": 3, "Ġ": 4, "!": 5, "1": 6, "2": 7, "he": 8, "ll": 9, "hell": 10, "hello": 11},
		"merges": ["h e", "l l", "he ll", "hell o"]
	}
}`

func ExampleRead() {
	v, err := vocabulary.Read([]byte(tokenizerJSON))
	if err != nil {
		fmt.Println(err)
		return
	}
	counter := v.Counter(vocabulary.Options{})
	fmt.Println(counter.CountText("hello hell!"), "tokens")
	fmt.Println(counter.CountText("hello<|end|>"), "with an added token")
	fmt.Println(counter.CountMessage(chat.UserMessage("hello!")), "in a message, estimated")
	// Output:
	// 4 tokens
	// 2 with an added token
	// 7 in a message, estimated
}

func ExampleUnsupportedError() {
	_, err := vocabulary.Read([]byte(`{"model": {"type": "Unigram", "vocab": [["a", -1.5]]}}`))
	fmt.Println(err)
	// Output:
	// vocabulary: unsupported model: Unigram: use sizing.Calibrated or ask the server for counts
}

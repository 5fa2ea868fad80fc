// Package vocabularytest makes small vocabularies for tests.
package vocabularytest

import (
	"encoding/json"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// JSON returns a tokenizer.json of a byte-level vocabulary: a token for each byte, one for each of some English words,
// and the added tokens.
func JSON(added ...string) []byte {
	type object = map[string]any
	vocab := object{}
	name := func(b byte) string { // of a byte, as byte-level vocabularies write it
		switch r := rune(b); {
		case r > ' ' && r < 0x7F, r > 0xA0 && r != 0xAD:
			return string(r)
		case r <= ' ':
			return string(0x100 + r)
		case r == 0xAD:
			return string(rune(0x143))
		default:
			return string(0x100 + 0x21 + r - 0x7F)
		}
	}
	for b := range 256 {
		vocab[name(byte(b))] = b
	}
	var merges []string
	for word := range strings.FieldsSeq("the and that with system user assistant message answer what is of to") {
		for i := 1; i < len(word); i++ {
			if whole := word[:i+1]; vocab[whole] == nil {
				vocab[whole] = len(vocab)
				merges = append(merges, word[:i]+" "+word[i:i+1])
			}
		}
	}
	var tokens []object
	for _, token := range added {
		tokens = append(tokens, object{"id": len(vocab) + len(tokens), "content": token, "special": true, "normalized": false,
			"single_word": false, "lstrip": false, "rstrip": false})
	}
	data, err := json.Marshal(object{
		"version":        "1.0",
		"added_tokens":   tokens,
		"normalizer":     nil,
		"pre_tokenizer":  object{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"post_processor": nil,
		"decoder":        object{"type": "ByteLevel"},
		"model":          object{"type": "BPE", "vocab": vocab, "merges": merges},
	})
	if err != nil {
		panic(err)
	}
	return data
}

// Qwen3 counts messages of texts, written as by the template of Qwen3, with the start of the answer.
func Qwen3(count func(string) int, messages []chat.Message) int {
	tokens := count("<|im_start|>assistant\n")
	for _, m := range messages {
		tokens += count("<|im_start|>" + string(m.Role) + "\n" + m.Text() + "<|im_end|>\n")
	}
	return tokens
}

package plaintext

import (
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// sampleMost is how many bytes are measured to estimate the characters of a token. Tool results are measured only if
// the other messages have fewer than sampleLeast bytes.
const sampleMost, sampleLeast = 16_000, 400

// CharactersPerToken estimates the characters (code points) of a token in messages, from 0.5 to 8: about 4 in English, 1
// to 2 in Chinese. Without a tokenizer it is 4.
func CharactersPerToken(t chat.Tokenizer, messages []chat.Message) float64 {
	characters, tokens, left := 0, 0, sampleMost
	sample := func(tools bool) {
		for i := len(messages) - 1; i >= 0 && left > 0; i-- {
			if (messages[i].Role == chat.RoleTool) != tools {
				continue
			}
			text := strings.TrimSpace(messages[i].Text())
			text = text[:Align(text, min(left, len(text)))]
			left -= len(text)
			characters += utf8.RuneCountInString(text)
			tokens += t.CountText(text)
		}
	}
	if t != nil {
		if sample(false); sampleMost-left < sampleLeast {
			sample(true)
		}
	}
	if tokens == 0 {
		return 4
	}
	return min(max(float64(characters)/float64(tokens), 0.5), 8)
}

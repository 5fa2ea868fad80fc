package gemini

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// Counter returns a [Tokenizer] that counts texts with another one: with the vocabulary of a Gemini model, exactly. It is
// a [chat.Joiner] if text is:
//
//	gemma, err := vocabulary.Open("gemma-3/tokenizer.json") // package sizing/vocabulary
//	counter := gemini.Counter(gemma.Counter(vocabulary.Options{}))
//
// Google's own SDK (google.golang.org/genai, package tokenizer) counts the texts of Gemini 1 with the vocabulary of Gemma 2,
// and those of later models with that of Gemma 3. Promptree downloads nothing: get the file tokenizer.json from any
// model of the family on Hugging Face, such as google/gemma-3-1b-it, under Google's terms. That of Gemma 3 has 33,384,568
// bytes, and its SHA-256 is
//
//	4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795
//
// Beside it is the same vocabulary in the form that Google's SDK downloads and checks, tokenizer.model, with the SHA-256
//
//	1299c11d7cf632ef3b4e11937501358ada021bbdf7c47638d13c0ee982f2e79c
//
// Only texts count exactly. Google publishes no rule for what turns, calls and tools take besides their texts.
func Counter(text chat.Tokenizer) chat.Tokenizer {
	t := Tokenizer{Text: text}
	if j, ok := text.(chat.Joiner); ok {
		return joiner{t, j}
	}
	return t
}

// joiner is a Tokenizer whose counter of texts is a [chat.Joiner].
type joiner struct {
	Tokenizer
	text chat.Joiner
}

// SafeCut calls the method of the counter of texts.
func (j joiner) SafeCut(before, after rune) bool { return j.text.SafeCut(before, after) }

// CountFrame counts a message without its texts, each of which counts alone.
func (j joiner) CountFrame(m chat.Message) (tokens int, joined bool) {
	m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(p chat.Part) bool {
		_, text := p.(chat.Text)
		return text
	})
	return j.CountMessage(m), false
}

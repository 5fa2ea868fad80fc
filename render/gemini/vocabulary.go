package gemini

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Counter returns a [Tokenizer] that counts texts with another one: with the vocabulary of a Gemini model, exactly. It is
// a [chat.Joiner] if text is:
//
//	gemma, err := vocabulary.Open("gemma-3/tokenizer.json") // package sizing/vocabulary
//	counter := gemini.Counter(gemma.Counter(vocabulary.Options{}))
//
// [VocabularyOf] says which vocabulary a model uses. Promptree downloads nothing: get the file tokenizer.json from any
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

// Vocabulary is the name of a vocabulary that Gemini's models share with Gemma's.
type Vocabulary string

// The vocabularies of Gemini's models.
const (
	Gemma2 Vocabulary = "Gemma 2"
	Gemma3 Vocabulary = "Gemma 3"
)

// sdkVocabularies is the table of package tokenizer in google.golang.org/genai v1.77.0.
var sdkVocabularies = map[string]Vocabulary{
	"gemini-1.0-pro":        Gemma2,
	"gemini-1.5-pro":        Gemma2,
	"gemini-1.5-flash":      Gemma2,
	"gemini-2.5-pro":        Gemma3,
	"gemini-2.5-flash":      Gemma3,
	"gemini-2.5-flash-lite": Gemma3,
	"gemini-2.0-flash":      Gemma3,
	"gemini-2.0-flash-lite": Gemma3,

	"gemini-1.0-pro-001":                  Gemma2,
	"gemini-1.0-pro-002":                  Gemma2,
	"gemini-1.5-pro-001":                  Gemma2,
	"gemini-1.5-flash-001":                Gemma2,
	"gemini-1.5-flash-002":                Gemma2,
	"gemini-1.5-pro-002":                  Gemma2,
	"gemini-2.5-pro-preview-06-05":        Gemma3,
	"gemini-2.5-pro-preview-05-06":        Gemma3,
	"gemini-2.5-pro-exp-03-25":            Gemma3,
	"gemini-live-2.5-flash":               Gemma3,
	"gemini-2.5-flash-preview-05-20":      Gemma3,
	"gemini-2.5-flash-preview-04-17":      Gemma3,
	"gemini-2.5-flash-lite-preview-06-17": Gemma3,
	"gemini-2.0-flash-001":                Gemma3,
	"gemini-2.0-flash-lite-001":           Gemma3,
	"gemini-3-pro-preview":                Gemma3,
}

// VocabularyOf returns the vocabulary by which Google's own SDK (google.golang.org/genai v1.77.0, package tokenizer)
// counts the texts of a model. For a model that the SDK does not list, such as a later one, Gemma 3's is assumed. The
// name may begin with a path, such as "models/".
func VocabularyOf(model string) (v Vocabulary, assumed bool) {
	if v, ok := sdkVocabularies[model[strings.LastIndex(model, "/")+1:]]; ok {
		return v, false
	}
	return Gemma3, true
}

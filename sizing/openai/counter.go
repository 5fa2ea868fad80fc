package openai

import (
	"sync"
	"unicode/utf8"
)

// Counter counts tokens in one of OpenAI's encodings. It is safe for concurrent use. Make one with [New] or [ForModel].
type Counter struct {
	encoding *encoding
	images   imageRate
	words    *wordMemo
	texts    *textMemo
	mergers  *sync.Pool // of *merger
}

// New is a counter of a named encoding: "o200k_base" (GPT-4o and later), "cl100k_base" (GPT-4, GPT-3.5), "p50k_base"
// or "r50k_base" (GPT-3). Any other name is an [*UnknownEncodingError]. Images are counted as GPT-4o does; [ForModel]
// knows what other models take.
func New(encoding string) (*Counter, error) {
	return newCounter(encoding, defaultImages)
}

// ForModel is a counter for a model of OpenAI, by a name such as "gpt-4o", "o3-mini" or "gpt-4.1-2025-04-14". A
// fine-tuned model ("ft:gpt-4o:…") counts as what it was tuned from. Where the encoding of a name is not known, the
// error is an [*UnknownModelError].
func ForModel(model string) (*Counter, error) {
	family, ok := familyOf(model)
	if !ok {
		return nil, &UnknownModelError{Model: model}
	}
	return newCounter(family.encoding, family.images)
}

func newCounter(encoding string, images imageRate) (*Counter, error) {
	e, err := encodingNamed(encoding)
	if err != nil {
		return nil, err
	}
	return &Counter{encoding: e, images: images, words: newWordMemo(), texts: newTextMemo(), mergers: &sync.Pool{}}, nil
}

// CountText counts a text on its own, exactly. Special tokens such as <|endoftext|> count as the plain text that they
// are, and each byte that is not UTF-8 counts as U+FFFD, which is what it becomes on its way to OpenAI. An empty text
// is 0 tokens.
func (c *Counter) CountText(text string) int {
	if len(text) < textMemoMin {
		return c.count(text)
	}
	key := c.texts.key(text)
	n, ok := c.texts.get(key)
	if !ok {
		n = c.count(text)
		c.texts.put(key, n)
	}
	return n
}

// count splits a text into words and adds up their tokens.
func (c *Counter) count(text string) int {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	tokens := 0
	for i := 0; i < len(text); {
		end := c.encoding.next(text, i)
		tokens += c.countWord(text, i, end)
		i = end
	}
	return tokens
}

// countWord is the number of tokens of the word from i to end.
func (c *Counter) countWord(text string, i, end int) int {
	vocab := c.encoding.vocab
	if vocab.find(text, i, end-i) != noToken {
		return 1
	}
	word := text[i:end]
	if len(word) > maxShortWord {
		return c.mergeLong(word)
	}
	h := c.words.hash(word)
	n, ok := c.words.get(h, word)
	if !ok {
		n = vocab.mergeShort(word)
		c.words.put(h, word, n)
	}
	return n
}

func (c *Counter) mergeLong(word string) int {
	const maxKept = 1 << 12 // beyond it the memory is worth more than the time
	m, _ := c.mergers.Get().(*merger)
	if m == nil {
		m = &merger{}
	}
	n := m.merge(c.encoding.vocab, word)
	if len(word) <= maxKept {
		c.mergers.Put(m)
	}
	return n
}

// Forget empties what the counter remembers of texts and words, so that it counts as a new one does.
func (c *Counter) Forget() { c.words = newWordMemo(); c.texts = newTextMemo() }

package openai

import "unicode/utf8"

// Counter counts tokens in one of OpenAI's encodings. It is safe for concurrent use. Make one with [New] or [ForModel].
type Counter struct {
	encoding *encoding
	encoder  Encoder // where there is no encoding
	images   imageRate
	memory   *memory
	mergers  chan *merger // that nobody works with
}

// New is a counter of a named encoding: "o200k_base" (GPT-4o and later), "cl100k_base" (GPT-4, GPT-3.5), "p50k_base"
// or "r50k_base" (GPT-3). Any other name is an [*UnknownEncodingError]; [Adapt] takes other encodings. Images are counted
// as GPT-4o does; [ForModel] knows what other models take.
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
	return &Counter{encoding: e, images: images, memory: newMemory(), mergers: make(chan *merger, keptMergers)}, nil
}

// CountText counts a text on its own, exactly. Special tokens such as <|endoftext|> count as the plain text that they
// are, and each byte that is not UTF-8 counts as U+FFFD, which is what it becomes on its way to OpenAI. An empty text
// is 0 tokens.
func (c *Counter) CountText(text string) int {
	if len(text) < textMemoMin {
		return c.count(text)
	}
	memory := c.memory
	key := memory.textKey(text)
	n, ok := memory.texts().get(key)
	if !ok {
		n = c.count(text)
		memory.texts().put(key, n)
	}
	return n
}

// count splits a text into words and adds up their tokens.
func (c *Counter) count(text string) int {
	if c.encoder != nil {
		return len(c.encoder.EncodeOrdinary(text))
	}
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	vocab, next := c.encoding.vocab, c.encoding.next
	tokens := 0
	for i := 0; i < len(text); {
		end := next(text, i)
		if end == i+1 || vocab.find(text, i, end-i) != noToken {
			tokens++
		} else {
			tokens += c.countWord(text, i, end)
		}
		i = end
	}
	return tokens
}

// countWord is the number of tokens of the word from i to end, which is none itself.
func (c *Counter) countWord(text string, i, end int) int {
	memory := c.memory
	key := memory.wordKey(text, i, end-i)
	n, ok := memory.words.get(key)
	if ok {
		return n
	}
	if word := text[i:end]; len(word) <= maxShortWord {
		n = c.encoding.vocab.mergeShort(word)
	} else {
		n = c.mergeLong(word)
	}
	memory.words.put(key, n)
	return n
}

// Mergers are kept for a few goroutines that meet a long word at once, whatever the collector does: counting known words
// allocates nothing. One that has met a word of more bytes than maxMergedKept is not: its memory is worth more than the time.
const (
	keptMergers   = 4
	maxMergedKept = 1 << 12
)

func (c *Counter) mergeLong(word string) int {
	var m *merger
	select {
	case m = <-c.mergers:
	default:
		m = &merger{}
	}
	n := m.merge(c.encoding.vocab, word)
	if len(word) <= maxMergedKept {
		select {
		case c.mergers <- m:
		default:
		}
	}
	return n
}

// Forget empties what the counter remembers of texts and words, so that it counts as a new one does. It is for
// measuring; what is remembered is bounded without it.
func (c *Counter) Forget() { c.memory.forget() }

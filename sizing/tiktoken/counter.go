package tiktoken

import "unicode/utf8"

// Counter counts tokens in one of OpenAI's encodings. It is safe for concurrent use. Make one with
// [ForModel], [O200k] or another of this package's functions.
type Counter struct {
	encoding *encoding
	encoder  Encoder // used if there is no encoding
	images   imageRate
	memory   *memory
	mergers  chan *merger // idle ones
}

// O200k returns a counter of o200k_base, the encoding of GPT-4o and all later models. It counts images as GPT-4o does,
// as do the other counters of an encoding; use [ForModel] for the image rates of other models.
func O200k() *Counter { return newCounter(o200kBase(), defaultImages) }

// Cl100k returns a counter of cl100k_base, the encoding of GPT-4 and GPT-3.5.
func Cl100k() *Counter { return newCounter(cl100kBase(), defaultImages) }

// P50k returns a counter of p50k_base, the encoding of Codex and the later GPT-3.
func P50k() *Counter { return newCounter(p50kBase(), defaultImages) }

// R50k returns a counter of r50k_base, the encoding of GPT-3.
func R50k() *Counter { return newCounter(r50kBase(), defaultImages) }

// New returns a counter of an encoding whose name is known only at run time: "o200k_base", "cl100k_base", "p50k_base"
// or "r50k_base". It links all four tables. Any other name is an [*UnknownEncodingError]; use [Adapt] for other
// encodings.
func New(encoding string) (*Counter, error) {
	switch encoding {
	case "o200k_base":
		return O200k(), nil
	case "cl100k_base":
		return Cl100k(), nil
	case "p50k_base":
		return P50k(), nil
	case "r50k_base":
		return R50k(), nil
	default:
		return nil, &UnknownEncodingError{Encoding: encoding}
	}
}

// ForModel returns a counter for a model of OpenAI, by a name such as "gpt-4o", "o3-mini" or "gpt-4.1-2025-04-14". A
// fine-tuned model ("ft:gpt-4o:…") counts as its base model. It links the tables of o200k_base and cl100k_base. If the
// encoding of the model is not known, the error is an [*UnknownModelError].
func ForModel(model string) (*Counter, error) {
	family, ok := familyOf(model)
	if !ok {
		return nil, &UnknownModelError{Model: model}
	}
	return newCounter(family.encoding(), family.images), nil
}

func newCounter(e *encoding, images imageRate) *Counter {
	return &Counter{encoding: e, images: images, memory: newMemory(), mergers: make(chan *merger, keptMergers)}
}

// CountText counts a text on its own, exactly. Special tokens such as <|endoftext|> count as plain text, and each byte
// that is not UTF-8 counts as U+FFFD, which replaces it on the way to OpenAI. An empty text is 0 tokens.
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

// countWord returns the number of tokens of the word from i to end, which is not a token itself.
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

// A counter keeps a few mergers for goroutines that count long words at the same time. The garbage collector does not
// free them, as it would those of a sync.Pool, so counting known words allocates nothing. A merger that has counted a
// word of more than maxMergedKept bytes is dropped to free its memory.
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

// Forget drops the counts of texts and words that the counter remembers, as if it were new. It is meant for benchmarks;
// what is remembered is bounded without it.
func (c *Counter) Forget() { c.memory.forget() }

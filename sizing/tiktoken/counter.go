package tiktoken

import (
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/internal/memo"
	"github.com/promptree-go/promptree/sizing/internal/split"
)

// Counter counts tokens in one of OpenAI's encodings. It is safe for concurrent use. Make one with
// [ForModel], [O200k] or another of this package's functions.
type Counter struct {
	vocab   *vocab
	pattern split.Pattern
	encoder Encoder // used if there is no vocab
	images  imageRate
	memory  *memo.Memory
	mergers memo.Idle[merger]
}

var _ chat.Joiner = (*Counter)(nil)

// Each encoding names its table in a function of its own, so that a program links the tables of those that it uses.

// O200k returns a counter of o200k_base, the encoding of GPT-4o and all later models. It counts images as GPT-4o does,
// as do the other counters of an encoding; use [ForModel] for the image rates of other models.
func O200k() *Counter { return newCounter(o200kTable, split.O200k, defaultImages) }

// Cl100k returns a counter of cl100k_base, the encoding of GPT-4 and GPT-3.5.
func Cl100k() *Counter { return newCounter(cl100kTable, split.Cl100k, defaultImages) }

// P50k returns a counter of p50k_base, the encoding of Codex and the later GPT-3.
func P50k() *Counter { return newCounter(p50kTable, split.GPT2, defaultImages) }

// R50k returns a counter of r50k_base, the encoding of GPT-3.
func R50k() *Counter { return newCounter(r50kTable, split.GPT2, defaultImages) }

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

// UnknownEncodingError is returned for a name that is not an encoding's.
type UnknownEncodingError struct{ Encoding string }

func (e *UnknownEncodingError) Error() string {
	return fmt.Sprintf("tiktoken: unknown encoding %q: use o200k_base, cl100k_base, p50k_base or r50k_base", e.Encoding)
}

// Encoder turns a text into tokens, treating special tokens as plain text. *tiktoken.Tiktoken of tiktoken-go is one. It
// must be safe for concurrent use and return the same tokens every time.
type Encoder interface {
	EncodeOrdinary(text string) []int
}

// Adapt returns a tokenizer for an encoding that [New] does not know. It counts texts with the encoder, at the
// encoder's speed, and messages, images and tools as a [Counter] does. It is not a [chat.Joiner], because it is not
// known where the encoder's counts add up.
func Adapt(encoder Encoder) chat.Tokenizer {
	return struct{ chat.Tokenizer }{&Counter{encoder: encoder, images: defaultImages, memory: memo.New()}}
}

func newCounter(table string, pattern split.Pattern, images imageRate) *Counter {
	vocab, err := readVocab(table)
	if err != nil {
		panic(err) // unreachable: the tables are linked in and tested
	}
	return &Counter{vocab: vocab, pattern: pattern, images: images, memory: memo.New(), mergers: memo.NewIdle[merger]()}
}

// CountText counts a text on its own, exactly. Special tokens such as <|endoftext|> count as plain text, and each byte
// that is not UTF-8 counts as U+FFFD, which replaces it on the way to OpenAI. An empty text is 0 tokens.
func (c *Counter) CountText(text string) int { return c.memory.Text(text, c.count) }

// SafeCut reports whether a text may be cut between these two characters without a change to its count, whatever else
// the text holds: before ends a word there or after starts one, in the whole text as in the parts. The text must be
// valid UTF-8 at the cut; U+FFFD is treated like any other character.
//
// In o200k_base and cl100k_base a cut is safe
//
//   - after a letter, unless a letter follows (in o200k_base also a mark or ');
//   - after a number, unless a number follows;
//   - after a line break, unless white space follows (in o200k_base also /);
//   - after any other character that is not white space, before a number or before white space other than a line break.
//
// The encodings of GPT-3 do not treat line breaks separately. There a cut is safe after a letter or a number as above,
// and after any other character that is not white space if a letter, a number or white space follows, except between '
// and a letter.
func (c *Counter) SafeCut(before, after rune) bool {
	return c.pattern.Cut(before, after) == split.Safe
}

// count splits a text into words and adds up their tokens.
func (c *Counter) count(text string) int {
	if c.encoder != nil {
		return len(c.encoder.EncodeOrdinary(text))
	}
	text = split.Valid(text)
	vocab, next := c.vocab, c.pattern.Next
	tokens := 0
	var m *merger // taken for the first new word
	for i := 0; i < len(text); {
		end := next(text, i)
		if end == i+1 || vocab.find(text, i, end-i) != noToken {
			tokens++
		} else {
			key := c.memory.WordKey(text, i, end-i)
			n, ok := c.memory.Words.Get(key)
			if !ok {
				if m == nil {
					m = c.mergers.Take()
				}
				n = m.merge(vocab, text[i:end])
				c.memory.Words.Put(key, n)
			}
			tokens += n
		}
		i = end
	}
	if m != nil {
		if cap(m.tokens) > 2*maxMergedKept || cap(m.dead) > maxMergedKept {
			m.tokens, m.dead = nil, nil
		}
		c.mergers.Put(m)
	}
	return tokens
}

// maxMergedKept is the most tokens for which an idle merger keeps its buffers.
const maxMergedKept = 1 << 12

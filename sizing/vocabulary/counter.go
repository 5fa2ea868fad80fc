package vocabulary

import (
	"cmp"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/sizing/internal/memo"
	"github.com/promptree-go/promptree/sizing/internal/split"
)

// Options say how a counter counts. The zero value counts texts as a server does that was given them.
type Options struct {
	// PlainAdded counts added tokens such as <|im_start|> inside a text as plain text. Off by default: they count as
	// one token each, as a server reads them that does not escape what users write.
	PlainAdded bool
	// Template says what the server's chat template adds to the texts of a request. By default it is
	// estimated as most templates have it: 5 tokens a message, 10 a tool call, tools as the JSON of their definitions.
	Template Template
}

// Counter returns a tokenizer that counts as a model with this vocabulary does. It is a [chat.Joiner] if
// [Vocabulary.Joins] returns true. Keep one counter and share it: it remembers recent counts, in 1.2 MB.
func (v *Vocabulary) Counter(o Options) chat.Tokenizer {
	o.Template = cmp.Or[Template](o.Template, estimate{})
	c := &counter{vocabulary: v, options: o, memory: memo.New(), mergers: memo.NewIdle[merger]()}
	if v.Joins() {
		return c
	}
	return struct{ chat.Tokenizer }{c}
}

// counter is the tokenizer of a vocabulary.
type counter struct {
	vocabulary *Vocabulary
	options    Options
	memory     *memo.Memory
	mergers    memo.Idle[merger]
}

var _ chat.Joiner = (*counter)(nil)

// CountText counts a text on its own, exactly.
func (c *counter) CountText(text string) int { return c.memory.Text(text, c.count) }

func (c *counter) CountPart(p chat.Part) int {
	if text, ok := p.(chat.Text); ok {
		return c.CountText(string(text))
	}
	return c.options.Template.CountPart(c.CountText, p)
}

func (c *counter) CountMessage(m chat.Message) int { return counting.Message(c, m) }

func (c *counter) CountTools(tools []chat.Tool) int {
	if len(tools) == 0 {
		return 0
	}
	return c.options.Template.CountTools(c.CountText, tools)
}

func (c *counter) CountFrame(m chat.Message) (tokens int, joined bool) {
	return c.options.Template.CountFrame(c.CountText, m)
}

func (c *counter) SafeCut(before, after rune) bool {
	v := c.vocabulary
	if !v.cut(before, after) {
		return false
	}
	joined := v.joined.join(before, after) || v.spaces && v.joined.join(spaced(before), spaced(after))
	return c.options.PlainAdded || !joined
}

// count counts a text that is not remembered.
func (c *counter) count(text string) int {
	if text == "" {
		return 0
	}
	v := c.vocabulary
	work := work{counter: c}
	raw, normalized := v.raw, v.normalized
	if c.options.PlainAdded {
		raw, normalized = nil, nil
	}
	n := raw.count(split.Valid(text), func(text string, at int) int {
		atStart := at == 0
		return normalized.count(v.normalize(text), func(text string, at int) int {
			return work.words(v.prefixed(text, atStart && at == 0), v.words)
		})
	})
	if m := work.merger; m != nil {
		if cap(m.ids) > maxMergedKept {
			*m = merger{}
		}
		c.mergers.Put(m)
	}
	return n
}

// maxMergedKept is the most symbols for which an idle merger keeps its buffers.
const maxMergedKept = 1 << 12

// work is the counting of one text.
type work struct {
	*counter
	merger *merger // taken for the first new word
}

// words counts the words that these patterns split a text into, each the words of the one before it.
func (w *work) words(text string, patterns []split.Pattern) (n int) {
	next := patterns[0].Next
	if len(patterns) > 1 {
		for i := 0; i < len(text); {
			end := next(text, i)
			n += w.words(text[i:end], patterns[1:])
			i = end
		}
		return n
	}
	v := w.vocabulary
	for i := 0; i < len(text); {
		end := next(text, i)
		if v.byteLevel && end == i+1 && v.bytes[text[i]] != noToken {
			n++
		} else if id := v.tokens.find(text, i, end-i); id == noToken {
			n += w.remembered(text, i, end)
		} else if v.ignoreMerges {
			n++
		} else if known := v.countAlone(id); known != 0 {
			n += known
		} else {
			known = w.merge(text[i:end])
			v.setAlone(id, known)
			n += known
		}
		i = end
	}
	return n
}

// remembered counts a word that is not a token.
func (w *work) remembered(text string, i, end int) int {
	key := w.memory.WordKey(text, i, end-i)
	n, ok := w.memory.Words.Get(key)
	if !ok {
		n = w.merge(text[i:end])
		w.memory.Words.Put(key, n)
	}
	return n
}

func (w *work) merge(word string) int {
	if w.merger == nil {
		w.merger = w.mergers.Take()
	}
	w.merger.ids = w.vocabulary.symbols(w.merger.ids[:0], word)
	return w.merger.merge(w.vocabulary.pairs)
}

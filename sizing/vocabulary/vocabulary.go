package vocabulary

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/promptree-go/promptree/sizing/internal/split"
)

// Vocabulary is a model's vocabulary, from a file. It never changes, and is safe for concurrent use.
type Vocabulary struct {
	stages
	tokens *tokens
	pairs  pairs
	// bytes holds the ids of the bytes: tokens of one byte, or those that stand for the bytes of a character without a
	// token; noToken if there is none.
	bytes [256]uint32
	// characters holds the ids of the tokens of one character in ASCII, if tokens are of characters.
	characters   [utf8.RuneSelf]uint32
	ignoreMerges bool
	// alone holds, for each token, the number of tokens that its bytes are merged to, 4 to an element; 0 if that is not
	// known yet.
	alone []atomic.Uint32

	raw, normalized *finder // of the added tokens that are found before and after the text is normalized
	joined          joins   // by added tokens
	added           map[string]int
}

// Added returns the id of an added token by its content, such as "<|im_start|>", and false if there is none. The added
// tokens tell which family of models a vocabulary is of.
func (v *Vocabulary) Added(content string) (id int, ok bool) {
	id, ok = v.added[content]
	return id, ok
}

// Joins reports whether counts of the vocabulary add up, so that its counters are [chat.Joiner]s. They do not if a space
// is put before each text, as with Llama 2.
func (v *Vocabulary) Joins() bool { return v.prefix == never && (v.normalized == nil || !v.compose) }

func (f *file) vocabulary() (*Vocabulary, error) {
	m := &f.Model
	switch {
	case m.Type != nil && *m.Type != "BPE":
		return nil, &UnsupportedError{"model", *m.Type}
	case m.Merges == nil || len(m.Vocab) == 0 || m.Vocab[0] != '{':
		return nil, &UnsupportedError{"model", "not BPE, which has a vocabulary and merges"}
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, &UnsupportedError{"dropout", fmt.Sprint(*m.Dropout)}
	case !is(m.Prefix, "", ""):
		return nil, &UnsupportedError{"continuing_subword_prefix", *m.Prefix}
	case !is(m.Suffix, "", ""):
		return nil, &UnsupportedError{"end_of_word_suffix", *m.Suffix}
	}
	v := &Vocabulary{ignoreMerges: m.IgnoreMerges}
	if err := v.normalizer(f.Normalizer); err != nil {
		return nil, err
	}
	if err := v.preTokenizer(f.PreTokenizer); err != nil {
		return nil, err
	}
	if !v.byteLevel && !m.ByteFallback {
		return nil, &UnsupportedError{"model", "BPE of characters without byte_fallback"}
	}
	if err := v.readTokens(m.Vocab); err != nil {
		return nil, err
	}
	if v.byteLevel && m.UnknownToken != nil {
		for b, id := range v.bytes {
			if id == noToken && !neverInUTF8(byte(b)) {
				return nil, &UnsupportedError{"unk_token", *m.UnknownToken + ", and no token of the byte " + fmt.Sprintf("0x%02X", b)}
			}
		}
	}
	if err := v.readMerges(*m.Merges); err != nil {
		return nil, err
	}
	return v, v.readAdded(f.AddedTokens)
}

var errSlow = &UnsupportedError{"vocabulary", "tokens or merges that are made to be slow to find"}

func neverInUTF8(b byte) bool { return b == 0xC0 || b == 0xC1 || b > 0xF4 }

// readTokens reads the model's tokens.
func (v *Vocabulary) readTokens(data []byte) error {
	n, last := 0, uint64(0)
	if err := entries(data, func(_ []byte, id uint64) error {
		n++
		last = max(last, id)
		return nil
	}); err != nil {
		return err
	}
	if last >= maxIDs {
		return &UnsupportedError{"vocabulary", fmt.Sprintf("the id %d, over %d", last, maxIDs)}
	}
	v.tokens = newTokens(n)
	v.alone = make([]atomic.Uint32, last/4+1)
	for i := range v.bytes {
		v.bytes[i] = noToken
	}
	var text, token []byte
	err := entries(data, func(name []byte, id uint64) error {
		if b, ok := fallback(name); ok && !v.byteLevel {
			v.bytes[b] = uint32(id)
		}
		var ok bool
		if token, ok = v.bytesOf(token[:0], name); !ok || len(token) == 0 {
			return nil
		}
		if len(token) > maxSize {
			return &UnsupportedError{"token", fmt.Sprintf("%d bytes, over %d", len(token), maxSize)}
		}
		if v.byteLevel && len(token) == 1 {
			v.bytes[token[0]] = uint32(id)
		}
		if text, ok = v.tokens.put(text, string(token), uint32(id)); !ok {
			return errSlow
		}
		return nil
	})
	if err != nil {
		return err
	}
	v.tokens.text = string(text)
	if v.byteLevel {
		return nil
	}
	for b := range v.characters {
		v.characters[b] = v.tokens.find(string(rune(b)), 0, 1)
	}
	for b, id := range v.bytes {
		if id == noToken && !neverInUTF8(byte(b)) && (b >= utf8.RuneSelf || v.characters[b] == noToken) {
			return &UnsupportedError{"vocabulary", fmt.Sprintf("byte_fallback without <0x%02X>", b)}
		}
	}
	return nil
}

// bytesOf appends the bytes that a token stands for, and returns false if no text holds it.
func (v *Vocabulary) bytesOf(b, name []byte) ([]byte, bool) {
	if v.byteLevel {
		return appendBytes(b, name)
	}
	if !v.spaces {
		return append(b, name...), true
	}
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == ' ':
			return b, false
		case strings.HasPrefix(string(name[i:min(i+3, len(name))]), lowerOneEighthBlock):
			b = append(b, ' ')
			i += 2
		default:
			b = append(b, name[i])
		}
	}
	return b, true
}

// fallback returns the byte that a token such as <0x0A> stands for.
func fallback(name []byte) (byte, bool) {
	if len(name) != 6 || name[0] != '<' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(name[3:5]), 16, 8)
	return byte(n), err == nil && fmt.Sprintf("<0x%02X>", n) == string(name)
}

// readMerges reads the model's merges.
func (v *Vocabulary) readMerges(data []byte) error {
	n := 0
	if err := merges(data, func(_, _ []byte) error { n++; return nil }); err != nil {
		return err
	}
	if n > maxMerges {
		return &UnsupportedError{"merges", fmt.Sprintf("%d of them, over %d", n, maxMerges)}
	}
	v.pairs = newPairs(n)
	seams := map[uint64]struct{}{}
	var whole []byte
	rank := -1
	err := merges(data, func(left, right []byte) error {
		rank++
		for _, part := range [2][]byte{left, right} {
			if _, ok := fallback(part); ok && !v.byteLevel {
				return &UnsupportedError{"merge of a byte's token", string(left) + " " + string(right)}
			}
		}
		var l, r bool
		whole, l = v.bytesOf(whole[:0], left)
		middle := len(whole)
		whole, r = v.bytesOf(whole, right)
		if !l || !r {
			return nil // no text holds it
		}
		text := string(whole)
		a, b := v.tokens.find(text, 0, middle), v.tokens.find(text, middle, len(text)-middle)
		result := v.tokens.find(text, 0, len(text))
		if a == noToken || b == noToken || result == noToken {
			return fmt.Errorf("vocabulary: merge %d is of or to what is not a token: %q %q", rank, left, right)
		}
		if !v.pairs.put(a, b, rank, result) {
			return errSlow
		}
		if !v.byteLevel {
			before, _ := utf8.DecodeLastRuneInString(text[:middle])
			after, _ := utf8.DecodeRuneInString(text[middle:])
			seams[seam(before, after)] = struct{}{}
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case v.byteLevel && len(v.words) > 0: // as the file says
	case v.byteLevel || v.ignoreMerges:
		v.words = append(v.words, split.Whole)
	default:
		v.words = append(v.words, newSeams(seams).pattern())
	}
	return nil
}

func (v *Vocabulary) readAdded(added []addedToken) error {
	var raw, normalized []addedToken
	v.added = map[string]int{}
	for _, token := range added {
		if token.Content == "" {
			continue
		}
		if len(token.Content) > maxAdded {
			return &UnsupportedError{"added token", fmt.Sprintf("%d bytes, over %d", len(token.Content), maxAdded)}
		}
		if token.SingleWord {
			return &UnsupportedError{"added token of single words", token.Content}
		}
		v.added[token.Content] = int(token.ID)
		if !token.Normalized {
			raw = append(raw, token)
			continue
		}
		token.Content = v.normalize(token.Content)
		normalized = append(normalized, token)
	}
	v.raw, v.normalized = newFinder(raw), newFinder(normalized)
	v.joined = joinsOf(append(raw, normalized...))
	return nil
}

// symbols appends the ids of what a word consists of before it is merged.
func (v *Vocabulary) symbols(ids []uint32, word string) []uint32 {
	if v.byteLevel {
		for i := range len(word) {
			if id := v.bytes[word[i]]; id != noToken {
				ids = append(ids, id)
			}
		}
		return ids
	}
	for i := 0; i < len(word); {
		id, n := noToken, 1
		if b := word[i]; b < utf8.RuneSelf {
			id = v.characters[b]
		} else {
			_, n = utf8.DecodeRuneInString(word[i:])
			id = v.tokens.find(word, i, n)
		}
		if id != noToken {
			ids = append(ids, id)
		} else {
			for _, b := range []byte(word[i : i+n]) {
				ids = append(ids, v.bytes[b])
			}
		}
		i += n
	}
	return ids
}

// countAlone returns what is known of the number of tokens that a token's bytes are merged to; 0 if nothing is.
func (v *Vocabulary) countAlone(id uint32) int {
	return int(v.alone[id/4].Load() >> (id % 4 * 8) & math.MaxUint8)
}

func (v *Vocabulary) setAlone(id uint32, n int) {
	if n <= math.MaxUint8 {
		v.alone[id/4].Or(uint32(n) << (id % 4 * 8))
	}
}

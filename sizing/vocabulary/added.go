package vocabulary

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/sizing/internal/split"
)

// addedToken is a token that stands beside the model's in the file. It is found in texts before they are split.
type addedToken struct {
	ID      uint32 `json:"id"`
	Content string `json:"content"`
	// SingleWord finds the token only between characters of no words, LStrip and RStrip take the white space beside it
	// along, and Normalized finds its normalised form in the normalised text.
	SingleWord bool `json:"single_word"`
	LStrip     bool `json:"lstrip"`
	RStrip     bool `json:"rstrip"`
	Normalized bool `json:"normalized"`
}

// maxAdded is the maximum length of an added token, in bytes: so far a text is looked at from each place. Published ones
// have at most 93.
const maxAdded = 256

// finder finds added tokens in a text: at each place the longest.
type finder struct {
	first [256]bool
	// nodes are those of a trie by node and byte; its root is 0.
	nodes map[uint64]uint32
	ends  map[uint32]addedToken // of the nodes at which a token ends
}

func newFinder(tokens []addedToken) *finder {
	if len(tokens) == 0 {
		return nil
	}
	f := &finder{nodes: map[uint64]uint32{}, ends: map[uint32]addedToken{}}
	for _, token := range tokens {
		f.first[token.Content[0]] = true
		node := uint32(0)
		for _, b := range []byte(token.Content) {
			key := uint64(node)<<8 | uint64(b)
			next, ok := f.nodes[key]
			if !ok {
				next = uint32(len(f.nodes) + 1)
				f.nodes[key] = next
			}
			node = next
		}
		f.ends[node] = token
	}
	return f
}

// next returns where the next token from i on starts and ends, and false if there is none.
func (f *finder) next(text string, i int) (start, end int, token addedToken, ok bool) {
	for ; i < len(text); i++ {
		if !f.first[text[i]] {
			continue
		}
		node := uint32(0)
		for k := i; k < len(text); k++ {
			next, found := f.nodes[uint64(node)<<8|uint64(text[k])]
			if !found {
				break
			}
			node = next
			if t, ends := f.ends[node]; ends {
				end, token, ok = k+1, t, true
			}
		}
		if ok {
			return i, end, token, true
		}
	}
	return 0, 0, addedToken{}, false
}

// count returns the tokens of a text: 1 for each added token in it, and those of what is between them
// and starts at some place.
func (f *finder) count(text string, between func(text string, at int) int) (n int) {
	if f == nil {
		return between(text, 0)
	}
	done, from := 0, 0
	for {
		start, end, token, ok := f.next(text, from)
		if !ok {
			break
		}
		from = end
		if token.LStrip {
			start = max(done, len(strings.TrimRightFunc(text[:start], split.IsSpace)))
		}
		if token.RStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], split.IsSpace))
		}
		if done < start {
			n += between(text[done:start], done)
		}
		n++
		done = end
	}
	if done < len(text) {
		n += between(text[done:], done)
	}
	return n
}

// joins are the pairs of characters between which a text may not be cut, because an added token holds both, or strips
// white space there.
type joins struct {
	pairs map[[2]rune]bool
	// before and after hold the characters at the start of tokens that strip to their left, at the end of those that
	// strip to their right.
	before, after []rune
}

func joinsOf(tokens []addedToken) joins {
	j := joins{pairs: map[[2]rune]bool{}}
	for _, token := range tokens {
		content := []rune(token.Content)
		for i := range content[1:] {
			j.pairs[[2]rune{content[i], content[i+1]}] = true
		}
		if token.LStrip {
			j.before = append(j.before, content[0])
		}
		if token.RStrip {
			j.after = append(j.after, content[len(content)-1])
		}
	}
	return j
}

func (j joins) join(before, after rune) bool {
	if len(j.before)+len(j.after) > 0 {
		if slices.Contains(j.before, after) || slices.Contains(j.after, before) || split.IsSpace(before) && split.IsSpace(after) {
			return true
		}
	}
	return j.pairs[[2]rune{before, after}]
}

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
	// starts holds the tokens by their content, and nil for what is only the start of one.
	starts map[string]*addedToken
}

func newFinder(tokens []addedToken) *finder {
	if len(tokens) == 0 {
		return nil
	}
	f := &finder{starts: map[string]*addedToken{}}
	for _, token := range tokens {
		f.first[token.Content[0]] = true
		for n := range len(token.Content) {
			f.starts[token.Content[:n]] = nil
		}
	}
	for _, token := range tokens {
		f.starts[token.Content] = &token
	}
	return f
}

// next returns the next token from i on and where it starts and ends, nil if there is none.
func (f *finder) next(text string, i int) (token *addedToken, start, end int) {
	for ; i < len(text); i++ {
		if !f.first[text[i]] {
			continue
		}
		for k := i + 1; k <= len(text); k++ {
			longer, starts := f.starts[text[i:k]]
			if !starts {
				break
			}
			if longer != nil {
				token, end = longer, k
			}
		}
		if token != nil {
			return token, i, end
		}
	}
	return nil, 0, 0
}

// count returns the tokens of a text: 1 for each added token in it, and those of what is between them
// and starts at some place.
func (f *finder) count(text string, between func(text string, at int) int) (n int) {
	if f == nil {
		return between(text, 0)
	}
	done, from := 0, 0
	for {
		token, start, end := f.next(text, from)
		if token == nil {
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

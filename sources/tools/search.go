package tools

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/promptree-go/promptree/elements/chat"
)

// document is something that the search finds: a tool, or a skill.
type document struct {
	name  string
	tool  *chat.Tool
	line  string // of a skill
	words map[string]float64
	size  float64
}

const (
	// The usual constants of BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009).
	saturation = 1.2
	byLength   = 0.75

	ofName   = 3   // a word of a name counts as often
	ofPrefix = 0.5 // a word of which the query has only the start counts as often
	mostTerm = 32  // words of a query
)

// newDocument indexes a name and a description.
func newDocument(name, description string) document {
	doc := document{name: name, words: map[string]float64{}}
	for _, w := range words(name) {
		doc.words[w] += ofName
		doc.size += ofName
	}
	for _, w := range words(description) {
		doc.words[w]++
		doc.size++
	}
	return doc
}

// occurs returns how often a word of a query occurs, words counted that begin with it.
func (doc document) occurs(term string) (n float64) {
	n = doc.words[term]
	if len(term) < 3 {
		return n
	}
	for w, times := range doc.words {
		if len(w) > len(term) && strings.HasPrefix(w, term) {
			n += ofPrefix * times // halves add up exactly, in any order
		}
	}
	return n
}

// rank returns the documents that match a query, the best first, by BM25; a document whose name is the query comes
// before all others. Equal ones keep their order.
func rank(docs []document, query string) []document {
	terms := words(query)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	terms = terms[:min(len(terms), mostTerm)]
	total := 0.0
	for _, doc := range docs {
		total += doc.size
	}
	average := total / float64(max(1, len(docs)))
	scores := make([]float64, len(docs))
	for _, term := range terms {
		in, times := 0.0, make([]float64, len(docs))
		for i, doc := range docs {
			if times[i] = doc.occurs(term); times[i] > 0 {
				in++
			}
		}
		rarity := math.Log(1 + (float64(len(docs))-in+0.5)/(in+0.5))
		for i, doc := range docs {
			norm := saturation * (1 - byLength + byLength*doc.size/average)
			if times[i] > 0 {
				scores[i] += rarity * times[i] * (saturation + 1) / (times[i] + norm)
			}
		}
	}
	var order []int
	for i, doc := range docs {
		if strings.EqualFold(doc.name, strings.TrimSpace(query)) {
			scores[i] = math.Inf(1)
		}
		if scores[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	found := make([]document, len(order))
	for n, i := range order {
		found[n] = docs[i]
	}
	return found
}

// words returns the words of a text in lower case: runs of letters or of digits, parted where a capital letter follows a
// small one, without the s of a plural. A character of a script that writes no spaces is a word.
func words(text string) (list []string) {
	var word []rune
	end := func() {
		if len(word) > 3 && word[len(word)-1] == 's' && word[len(word)-2] != 's' {
			word = word[:len(word)-1]
		}
		if len(word) > 0 {
			list = append(list, string(word))
		}
		word = word[:0]
	}
	var last rune
	for _, r := range text {
		letter, digit := unicode.IsLetter(r), unicode.IsDigit(r)
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			end()
			list = append(list, string(r))
		case !letter && !digit:
			end()
		default:
			if digit != unicode.IsDigit(last) || unicode.IsUpper(r) && unicode.IsLower(last) {
				end()
			}
			word = append(word, unicode.ToLower(r))
		}
		last = r
	}
	end()
	return list
}

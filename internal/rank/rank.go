// Package rank ranks texts by the words of a query, with BM25 (Robertson and Zaragoza, The Probabilistic Relevance
// Framework, 2009).
package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	saturation = 1.2 // the usual constants of BM25
	byLength   = 0.75

	ofPrefix   = 0.5 // a word of which the query has only the start counts as often
	leastStart = 3   // bytes of such a start
	mostTerms  = 64  // words of a query

	countBits = 4 // of a word in a document
	mostCount = 1<<countBits - 1
)

// Document holds how often words occur in a text, each up to 15 times. It takes some 350 bytes for 900 of the text.
type Document struct {
	words []uint32 // in order: 28 bits of a word's hash, and how often it occurs
	size  float32
}

// Of returns the document of texts.
func Of(texts ...string) Document {
	var words []uint32
	for _, text := range texts {
		split(text, func(_ string, hash uint32) { words = append(words, hash>>countBits) })
	}
	slices.Sort(words)
	d := Document{size: float32(len(words))}
	for i := 0; i < len(words); {
		first := i
		for i < len(words) && words[i] == words[first] {
			i++
		}
		words[len(d.words)] = words[first]<<countBits | uint32(min(i-first, mostCount))
		d.words = words[:len(d.words)+1]
	}
	d.words = slices.Clone(d.words)
	return d
}

// Bytes returns about how much memory a document takes.
func (d Document) Bytes() int { return 40 + 4*len(d.words) }

// count returns how often a word occurs.
func (d Document) count(hash uint32) int {
	word := hash >> countBits << countBits
	if i, _ := slices.BinarySearch(d.words, word); i < len(d.words) && d.words[i]>>countBits == hash>>countBits {
		return int(d.words[i] & mostCount)
	}
	return 0
}

// Query holds the words of a query.
type Query struct{ terms []term }

// term is a word of a query, with what counts as it.
type term struct {
	word   string
	forms  []form
	rarity float64 // among the documents ranked last
}

type form struct {
	hash  uint32
	times float64
}

// NewQuery returns a query. Of a long one the first 64 words count.
func NewQuery(text string) Query {
	var q Query
	split(text, func(word string, hash uint32) {
		if len(q.terms) < mostTerms && !slices.ContainsFunc(q.terms, func(t term) bool { return t.forms[0].hash == hash }) {
			q.terms = append(q.terms, term{strings.ToLower(word), []form{{hash, 1}}, 0})
		}
	})
	return q
}

// Widen lets each word of a text that begins with one of the query, of three bytes or more, count half as often as that.
func (q Query) Widen(text string) {
	split(text, func(word string, hash uint32) {
		word = strings.ToLower(word)
		for i, t := range q.terms {
			if len(t.word) >= leastStart && len(word) > len(t.word) && strings.HasPrefix(word, t.word) &&
				!slices.ContainsFunc(t.forms, func(f form) bool { return f.hash == hash }) {
				q.terms[i].forms = append(t.forms, form{hash, ofPrefix})
			}
		}
	})
}

// Match is a document that has a word of a query.
type Match struct {
	Document int // its index
	Score    float64
}

// Scores returns how well documents match the query, 0 if they have no word of it.
func (q Query) Scores(documents []Document) []float64 {
	total := 0.0
	for _, d := range documents {
		total += float64(d.size)
	}
	average := total / float64(max(1, len(documents)))
	scores, times := make([]float64, len(documents)), make([]float64, len(documents))
	for k, t := range q.terms {
		in := 0.0
		for i, d := range documents {
			if times[i] = t.in(d); times[i] > 0 {
				in++
			}
		}
		rarity := math.Log(1 + (float64(len(documents))-in+0.5)/(in+0.5))
		q.terms[k].rarity = rarity
		for i, d := range documents {
			if times[i] > 0 {
				norm := saturation * (1 - byLength + byLength*float64(d.size)/average)
				scores[i] += rarity * times[i] * (saturation + 1) / (times[i] + norm)
			}
		}
	}
	return scores
}

// in returns how often a document has the term.
func (t term) in(d Document) (times float64) {
	for _, f := range t.forms {
		times += f.times * float64(d.count(f.hash))
	}
	return times
}

// Best returns the documents with a score, the best first. Equal ones keep their order.
func Best(scores []float64) (matches []Match) {
	for i, score := range scores {
		if score > 0 {
			matches = append(matches, Match{i, score})
		}
	}
	slices.SortStableFunc(matches, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	return matches
}

// Densest returns where the part of a text begins, of some bytes, that has the rarest of the query's words, as
// [Query.Scores] found them.
func (q Query) Densest(text string, bytes int) (at int) {
	best := 0.0
	for from := 0; from < max(1, len(text)-bytes/2); from += max(1, bytes/8) {
		d, score := Of(text[from:min(len(text), from+bytes)]), 0.0
		for _, t := range q.terms {
			if t.in(d) > 0 {
				score += t.rarity
			}
		}
		if score > best {
			at, best = from, score
		}
	}
	return at
}

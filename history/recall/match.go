package recall

import (
	"cmp"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// span is a part of a text, in bytes.
type span struct{ from, to int }

// finder returns the places to show of a text that matches a query, the best first, and none of any other. It gives up once
// its time is over, which it looks at every few bytes: then it returns those that it has found.
type finder func(text string, over func() bool) []span

// stride is the number of bytes, or of places looked at, between two looks at the time.
const stride = 64 << 10

const (
	maxPattern = 1000 // bytes
	maxProgram = 300  // instructions of a pattern; the time that it takes grows with them
	maxPlaces  = 3    // shown of an entry
	maxHits    = 200  // places of one word that are looked at in an entry
	near       = 200  // bytes within which words stand together
)

// finder returns the finder of a query whose call has at most room bytes.
func (q Query) finder(room int) (finder, error) {
	words := wordsOf(q.Words)
	switch {
	case len(callOf("", Query{Words: q.Words, Pattern: q.Pattern})) > min(room, maxPattern):
		return nil, wrong("the query is too long: give a few words of it")
	case (len(words) > 0) == (q.Pattern != ""):
		return nil, wrong(`give either a query, such as {"query":"deploy key"}, or a pattern`)
	case q.Pattern == "":
		return words.places, nil
	}
	pattern, err := regexp.Compile(q.Pattern)
	if err != nil {
		return nil, wrong("%s", plaintext.Cut(err.Error(), 300))
	}
	parsed, _ := syntax.Parse(q.Pattern, syntax.Perl)
	program, _ := syntax.Compile(parsed.Simplify())
	switch {
	case len(program.Inst) > maxProgram:
		return nil, wrong("the pattern repeats too much: write +, * or smaller counts")
	case pattern.MatchString(""):
		return nil, wrong("the pattern matches the empty text: leave out what may be missing")
	}
	return expression{pattern}.places, nil
}

// expression is a pattern.
type expression struct{ *regexp.Regexp }

func (e expression) places(text string, over func() bool) (places []span) {
	for from := 0; len(places) < maxPlaces; {
		at, ok := e.next(text[from:], over)
		if !ok {
			break
		}
		places = append(places, span{from + at.from, from + at.to})
		from += at.to
	}
	return places
}

// next returns the first match. A long text is read rune by rune, so that it can be left.
func (e expression) next(text string, over func() bool) (span, bool) {
	if prefix, _ := e.LiteralPrefix(); !strings.Contains(text, prefix) {
		return span{}, false
	}
	var at []int
	in := &reader{text: text, over: over}
	if len(text) <= stride {
		at = e.FindStringIndex(text)
	} else {
		at = e.FindReaderIndex(in)
	}
	if at == nil || in.left {
		return span{}, false
	}
	return span{at[0], at[1]}, true
}

// reader reads a text until the time is over.
type reader struct {
	text     string
	at, look int
	over     func() bool
	left     bool // before the end
}

// ReadRune returns the next rune.
func (r *reader) ReadRune() (rune, int, error) {
	if r.at >= r.look {
		r.look += stride
		r.left = r.left || r.over()
	}
	if r.left || r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRuneInString(r.text[r.at:])
	r.at += size
	return c, size, nil
}

func never() bool { return false }

// words are the words and phrases of a query.
type words []term

type term struct {
	forms  []string // folded: the word or phrase, and a phrase as it stands in JSON
	prefix bool     // only at the start of a word
}

// wordsOf splits a query. A phrase ends at a quote that a space follows.
func wordsOf(query string) words {
	var terms words
	for query = strings.TrimSpace(query); query != ""; query = strings.TrimSpace(query) {
		phrase, quoted := strings.CutPrefix(query, `"`)
		if quoted {
			phrase, query, _ = strings.Cut(phrase+" ", `" `)
			phrase = strings.TrimSpace(phrase)
			escaped, _ := plainjson.Marshal(phrase)
			terms = append(terms, term{forms: []string{fold(phrase, never), fold(string(escaped[1:len(escaped)-1]), never)}})
		} else {
			end := strings.IndexFunc(query+" ", unicode.IsSpace)
			word, prefix := strings.CutSuffix(strings.TrimRight(query[:end], `"`), "*")
			terms, query = append(terms, term{[]string{fold(word, never)}, prefix}), query[end:]
		}
	}
	return slices.DeleteFunc(terms, func(t term) bool { return t.forms[0] == "" })
}

// next returns the first place of the term in a folded text, at an offset or after it.
func (t term) next(folded string, from int, over func() bool) (found span, ok bool) {
	tried := 0
	for _, form := range t.forms {
		for at := from; ; at++ {
			if tried++; (tried == 1 && len(folded)-from > stride || tried%(stride/16) == 0) && over() {
				return span{}, false
			}
			i := strings.Index(folded[at:], form)
			if at += i; i < 0 || ok && at >= found.from {
				break
			}
			before, _ := utf8.DecodeLastRuneInString(folded[:at])
			if !t.prefix || !unicode.IsLetter(before) && !unicode.IsNumber(before) {
				found, ok = span{at, at + len(form)}, true
				break
			}
		}
	}
	return found, ok
}

// places returns the places of the word that occurs least, first those near which most of the others stand; none if a word
// does not occur.
func (ws words) places(text string, over func() bool) (best []span) {
	type hit struct {
		span
		words int // near it
	}
	var rarest []hit
	folded := fold(text, over)
	for _, t := range ws {
		var hits []hit
		for at, ok := t.next(folded, 0, over); ok && len(hits) < maxHits; at, ok = t.next(folded, at.to, over) {
			hits = append(hits, hit{at, 0})
		}
		if len(hits) == 0 {
			return nil
		}
		if len(rarest) == 0 || len(hits) < len(rarest) {
			rarest = hits
		}
	}
	for i, h := range rarest {
		around := folded[max(0, h.from-near):min(len(folded), h.to+near)]
		for _, t := range ws {
			if _, ok := t.next(around, 0, over); ok {
				rarest[i].words++
			}
		}
	}
	slices.SortStableFunc(rarest, func(a, b hit) int { return cmp.Compare(b.words, a.words) })
	for _, h := range rarest {
		if len(best) < maxPlaces && !slices.ContainsFunc(best, func(b span) bool { return max(h.from-b.from, b.from-h.from) <= near }) {
			best = append(best, h.span)
		}
	}
	return best
}

// fold returns a text of the same length in which letters that differ only in case are the same. A letter whose cases
// have different lengths stays. Once the time is over the rest stays as it is.
func fold(text string, over func() bool) string {
	folded, look := []byte(text), stride
	for i, r := range text {
		if i >= look {
			if look += stride; over() {
				break
			}
		}
		if r < utf8.RuneSelf { // faster
			if 'A' <= r && r <= 'Z' {
				folded[i] += 'a' - 'A'
			}
		} else if f := unicode.ToLower(unicode.ToUpper(r)); f != r && utf8.RuneLen(f) == utf8.RuneLen(r) {
			utf8.EncodeRune(folded[i:], f)
		}
	}
	return string(folded)
}

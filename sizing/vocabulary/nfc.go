package vocabulary

import (
	_ "embed" // for the table of normalization form C
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// formC holds normalization form C as Hugging Face's library has it, whose tables are of an older Unicode than those of
// Go's packages, and which sets no bound to the marks of a letter. See reference/nfc.mjs.
//
//go:embed nfc.txt
var formC string

// forms holds what is needed to compose texts.
type forms struct {
	// parts holds what characters decompose to, orders the order of marks.
	parts  map[rune][]rune
	orders map[rune]uint8
	// composites holds what two characters compose to. joins holds the second ones, and what is not left as it is.
	composites map[[2]rune]rune
	joins      map[rune]bool
	// some reports for each 128 characters whether one of them is in orders or joins.
	some [(utf8.MaxRune + 1) >> 7]bool
}

// Syllables of Hangul are composed by computation.
const (
	firstSyllable, syllables = 0xAC00, leading * vowels * trailing
	firstLeading, leading    = 0x1100, 19
	firstVowel, vowels       = 0x1161, 21
	firstTrailing, trailing  = 0x11A7, 28 // the first stands for none
)

var formsOnce = sync.OnceValue(func() *forms {
	f := &forms{parts: map[rune][]rune{}, orders: map[rune]uint8{}, composites: map[[2]rune]rune{}, joins: map[rune]bool{}}
	whole := map[string]rune{}
	for line := range strings.Lines(formC) {
		at := strings.IndexAny(line, "=>:")
		head, _ := strconv.ParseInt(line[:at], 16, 32)
		var parts []rune
		for _, field := range strings.Fields(line[at+1:]) {
			first, last, _ := strings.Cut(field, "-")
			r, _ := strconv.ParseInt(first, 16, 32)
			end := r
			if last != "" {
				end, _ = strconv.ParseInt(last, 16, 32)
			}
			for ; r <= end; r++ {
				parts = append(parts, rune(r))
			}
		}
		switch line[at] {
		case ':':
			order, _ := strconv.Atoi(line[:at])
			for _, r := range parts {
				f.orders[r] = uint8(order)
			}
		case '>':
			f.parts[rune(head)] = parts
			f.joins[rune(head)] = true
		case '=':
			f.parts[rune(head)] = parts
			whole[string(parts)] = rune(head)
		}
	}
	for parts, composite := range whole {
		_, n := utf8.DecodeLastRuneInString(parts)
		first, last := parts[:len(parts)-n], []rune(parts[len(parts)-n:])[0]
		before, ok := whole[first]
		if !ok {
			before = []rune(first)[0]
		}
		f.composites[[2]rune{before, last}] = composite
		f.joins[last] = true
	}
	for i := range rune(vowels) {
		f.joins[firstVowel+i] = true
	}
	for i := range rune(trailing - 1) {
		f.joins[firstTrailing+1+i] = true
	}
	for r := range f.orders {
		f.some[r>>7] = true
	}
	for r := range f.joins {
		f.some[r>>7] = true
	}
	return f
})

// standsAlone reports whether a character stays as it is whatever is before it, and so do those before it.
func (f *forms) standsAlone(r rune) bool {
	return !f.some[r>>7] || f.orders[r] == 0 && !f.joins[r]
}

func standsAlone(r rune) bool { return r < 0 || r > utf8.MaxRune || formsOnce().standsAlone(r) }

// composed returns a text in normalization form C.
func composed(text string) string {
	i := 0
	for i < len(text) && text[i] < 0xCC { // the first byte from which on a character may not stand alone
		i++
	}
	if i == len(text) {
		return text
	}
	f := formsOnce()
	var b []byte // what is composed, of text[:done]
	_, size := utf8.DecodeLastRuneInString(text[:i])
	done, before := 0, i-size // before is where the character before i starts
	var segment []rune
	for i < len(text) {
		if text[i] < utf8.RuneSelf {
			before = i
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if f.standsAlone(r) {
			before = i
			i += n
			continue
		}
		b = append(b, text[done:before]...)
		segment = segment[:0]
		for i = before; i < len(text); i += n {
			r, n = utf8.DecodeRuneInString(text[i:])
			if i > before && f.standsAlone(r) {
				break
			}
			segment = f.appendParts(segment, r)
		}
		for _, r := range f.compose(segment) {
			b = utf8.AppendRune(b, r)
		}
		done, before = i, i
	}
	if b == nil {
		return text
	}
	return string(append(b, text[done:]...))
}

func (f *forms) appendParts(segment []rune, r rune) []rune {
	if s := r - firstSyllable; s >= 0 && s < syllables {
		segment = append(segment, firstLeading+s/(vowels*trailing), firstVowel+s/trailing%vowels)
		if t := s % trailing; t > 0 {
			segment = append(segment, firstTrailing+t)
		}
		return segment
	}
	if parts, ok := f.parts[r]; ok {
		return append(segment, parts...)
	}
	return append(segment, r)
}

// compose sorts the marks of decomposed characters and composes them, in place.
func (f *forms) compose(s []rune) []rune {
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && f.orders[s[end]] > 0 {
			end++
		}
		slices.SortStableFunc(s[i:end], func(a, b rune) int { return int(f.orders[a]) - int(f.orders[b]) })
		i = end + 1
	}
	n, starter, last := 0, -1, uint8(0) // last is the order of the last character left after the starter
	for _, r := range s {
		order := f.orders[r]
		if starter >= 0 && (n == starter+1 || last < order && last > 0) {
			if composite, ok := f.pair(s[starter], r); ok {
				s[starter] = composite
				continue
			}
		}
		if order == 0 {
			starter = n
		}
		last = order
		s[n] = r
		n++
	}
	return s[:n]
}

func (f *forms) pair(a, b rune) (rune, bool) {
	if l, v := a-firstLeading, b-firstVowel; l >= 0 && l < leading && v >= 0 && v < vowels {
		return firstSyllable + (l*vowels+v)*trailing, true
	}
	if s, t := a-firstSyllable, b-firstTrailing; s >= 0 && s < syllables && s%trailing == 0 && t > 0 && t < trailing {
		return a + t, true
	}
	composite, ok := f.composites[[2]rune{a, b}]
	return composite, ok
}

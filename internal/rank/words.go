package rank

import (
	"unicode"
	"unicode/utf8"
)

// split calls yield for the words of a text, in lower case, with their hashes: runs of letters and runs of digits, parted
// where a capital letter follows a small one, without the s of a plural; and if several of these stand together, or
// joined by underscores, all of them as one word too. A character of a script that writes no spaces is a word. A word
// must not be kept.
func split(text string, yield func(word []byte, hash uint32)) {
	var s splitter
	var last rune
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		i += size
		switch of := kindOf(r); {
		case of == ideograph:
			s.end(yield)
			s.part = utf8.AppendRune(s.part, r)
			s.end(yield)
		case r == '_' && len(s.whole)+len(s.part) > 0:
			s.endPart(yield)
			s.whole = append(s.whole, '_')
		case of == other:
			s.end(yield)
		default:
			if len(s.part) > 0 && (of == digit) != (kindOf(last) == digit) || of == capital && kindOf(last) == small {
				s.endPart(yield)
			}
			s.part = utf8.AppendRune(s.part, lower(r))
		}
		last = r
	}
	s.end(yield)
}

// splitter holds the word that is being read.
type splitter struct {
	whole, part []byte // the parts before the last, joined, and the last
	parts       int    // in whole
}

// endPart ends a part of a word.
func (s *splitter) endPart(yield func([]byte, uint32)) {
	if len(s.part) == 0 {
		return
	}
	s.whole = append(s.whole, s.part...)
	s.parts++
	yieldOne(s.part, yield)
	s.part = s.part[:0]
}

// end ends a word.
func (s *splitter) end(yield func([]byte, uint32)) {
	if s.endPart(yield); s.parts > 1 {
		yieldOne(s.whole, yield)
	}
	s.whole, s.parts = s.whole[:0], 0
}

func yieldOne(word []byte, yield func([]byte, uint32)) {
	if n := len(word); n > 3 && word[n-1] == 's' && word[n-2] != 's' {
		word = word[:n-1]
	}
	hash := uint32(2166136261) // FNV-1a
	for _, b := range word {
		hash = (hash ^ uint32(b)) * 16777619
	}
	yield(word, hash)
}

// kind is what a character is for a word.
type kind int8

const (
	other kind = iota
	small
	capital
	digit
	ideograph
)

// ascii holds the kinds of the characters of one byte.
var ascii = func() (kinds [utf8.RuneSelf]kind) {
	for r := range rune(utf8.RuneSelf) {
		kinds[r] = kindOfAny(r)
	}
	return kinds
}()

func kindOf(r rune) kind {
	if r < utf8.RuneSelf {
		return ascii[r]
	}
	return kindOfAny(r)
}

func kindOfAny(r rune) kind {
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
		return ideograph
	case unicode.IsUpper(r):
		return capital
	case unicode.IsLetter(r), unicode.IsMark(r):
		return small
	case unicode.IsDigit(r):
		return digit
	}
	return other
}

func lower(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}

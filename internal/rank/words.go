package rank

import (
	"unicode"
	"unicode/utf8"
)

// split calls yield for the words of a text, as they stand, with the hashes of their lower case: runs of letters and runs
// of digits, parted where a capital letter follows a small one, without the s of a plural; and if several of these stand
// together, or joined by underscores, all of them as one word too. A character of a script that writes no spaces is a word.
func split(text string, yield func(word string, hash uint32)) {
	first, parts := 0, 0 // of what stands together
	for i := 0; i < len(text); {
		size, of := kindAt(text, i)
		switch {
		case of >= small:
			if parts++; parts == 1 {
				first = i
			}
			from, last := i, of
			for of >= small && (of == digit) == (last == digit) && (of != capital || last != small) {
				if i, last = i+size, of; i == len(text) {
					break
				}
				size, of = kindAt(text, i)
			}
			yieldOne(text[from:i], yield)
			continue
		case text[i] == '_' && parts > 0:
			i++
			continue
		case parts > 1:
			yieldOne(text[first:i], yield)
		}
		if parts = 0; of == ideograph {
			yieldOne(text[i:i+size], yield)
		}
		i += size
	}
	if parts > 1 {
		yieldOne(text[first:], yield)
	}
}

func yieldOne(word string, yield func(string, uint32)) {
	if n := len(word); n > 3 && word[n-1]|' ' == 's' && word[n-2]|' ' != 's' {
		word = word[:n-1]
	}
	hash := uint32(2166136261) // FNV-1a, of characters instead of bytes
	for _, r := range word {
		hash = (hash ^ uint32(unicode.ToLower(r))) * 16777619
	}
	yield(word, hash)
}

// kind is what a character is for a word.
type kind int8

const (
	other kind = iota
	ideograph
	small // what follows stands together
	capital
	digit
)

// ascii holds the kinds of the characters of one byte.
var ascii = func() (kinds [utf8.RuneSelf]kind) {
	for r := range kinds {
		_, kinds[r] = kindOf(string(rune(r)))
	}
	return kinds
}()

// kindAt returns the bytes of the character at an offset, and what it is.
func kindAt(text string, i int) (size int, of kind) {
	if b := text[i]; b < utf8.RuneSelf { // faster
		return 1, ascii[b]
	}
	return kindOf(text[i:])
}

func kindOf(text string) (size int, of kind) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
		return size, ideograph
	case unicode.IsUpper(r):
		return size, capital
	case unicode.IsLetter(r), unicode.IsMark(r):
		return size, small
	case unicode.IsDigit(r):
		return size, digit
	}
	return size, other
}

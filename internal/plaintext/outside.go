package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Outside returns a text from outside, such as from a model, a tool, a file or a server, as it may stand between
// promptree's tags: with a backslash in what reads as one of them, or as a mark that says how to read what is left out.
// At the start of a line this is so in any case and with white space; elsewhere in a line only where the name is
// promptree's alone, and for other names as promptree writes them: so Promise<User> is unchanged. Characters that do
// not show count as missing, and those of full width as the usual ones. A text that went through it is unchanged, and
// so is all else of a text.
func Outside(text string) string {
	return escape(text, isTag, true)
}

func isTag(name string) bool { return tags[name] }

// Without escapes the tags of one name.
func (t Tag) Without(text string) string {
	return escape(text, func(name string) bool { return name == t.name }, false)
}

// escape escapes tags, and marks if that is asked for.
func escape(text string, own func(string) bool, marks bool) string {
	var b strings.Builder
	mark := marksIn(text)
	done := 0
	for i := 0; i < len(text); {
		if !stops[text[i]] { // most of a text
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		at := i
		i += size
		switch folded := fold(r); {
		case folded == '<' && tagAt(text, at, i, own):
			b.WriteString(text[done:i] + `\`)
			done = i
		case folded == '[' && marks && (at == 0 || text[at-1] != '\\') && mark(at):
			b.WriteString(text[done:at] + `\`)
			done = at
		}
	}
	if b.Len() == 0 {
		return text
	}
	return b.String() + text[done:]
}

// stops holds the bytes with which a < or a [ may begin, usual or of full width.
var stops = [256]bool{'<': true, '[': true, 0xEF: true}

// beginsLine reports whether nothing in a text shows behind its last end of a line.
func beginsLine(text string) bool {
	for {
		r, size := utf8.DecodeLastRuneInString(text)
		switch {
		case size == 0, r >= '\n' && r <= '\r', r == '\u0085', r == '\u2028', r == '\u2029':
			return true
		case !missing(r):
			return false
		}
		text = text[:len(text)-size]
	}
}

// fold returns one character for those that read alike: of either case, of full width, and dashes.
func fold(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
	case '！' <= r && r <= '～':
		return fold(r - '！' + '!')
	case unicode.Is(unicode.Pd, r):
		return '-'
	default:
		return unicode.ToLower(unicode.ToUpper(r))
	}
	return r
}

// tagAt reports whether a tag begins at an offset of a text. Its < ends at another.
func tagAt(text string, at, end int, own func(string) bool) bool {
	var name strings.Builder
	slash, exact, next := false, true, '>'
scan:
	for _, r := range text[end:] {
		c := fold(r)
		switch {
		case unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_.:", c):
			if name.Len() > 40 {
				return false
			}
			exact = exact && (c == r || r >= utf8.RuneSelf)
			if c == '_' {
				c = '-'
			}
			name.WriteRune(c)
		case name.Len() == 0 && c == '/' && !slash:
			slash = true
		case name.Len() == 0 && unicode.IsSpace(r):
			exact = false
		case unicode.IsSpace(r) || !missing(r):
			next = c
			break scan
		}
	}
	tag := name.String()
	switch {
	case !own(tag):
		return false
	case strings.Contains(tag, "-"):
		return true
	}
	return (unicode.IsSpace(next) || strings.ContainsRune(`/>"'=<`, next)) && (exact || beginsLine(text[:at]))
}

// inMarks are words, without white space, of each mark that names a handle and of the last lines of recall's answers.
var inMarks = [...]string{"leftouthere", "cuthere", "_session("}

// begins holds the bytes with which inMarks may begin, of either case or of full width.
var begins = [256]bool{'l': true, 'L': true, 'c': true, 'C': true, '_': true, 0xEF: true}

// nearMark is the number of bytes within which words of a mark may stand behind its [ on another line.
const nearMark = 300

// marksIn returns a function that reports whether a mark begins at an offset. The offsets must be in order.
func marksIn(text string) func(at int) bool {
	words, line := -1, 0 // offsets of the next words of a mark, and of the last end of a line before them
	return func(at int) bool {
		if words < at {
			for words = at; words < len(text) && !(begins[text[words]] && wordsOfMark(text[words:])); words++ {
			}
			line = at + strings.LastIndexByte(text[at:words], '\n')
		}
		return words < len(text) && (at > line || words-at < nearMark)
	}
}

// wordsOfMark reports whether a text begins with words of a mark.
func wordsOfMark(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	first = fold(first)
	for _, words := range inMarks {
		if first != rune(words[0]) {
			continue
		}
		n := 0
		for _, r := range text {
			if c := fold(r); c == rune(words[n]) {
				if n++; n == len(words) {
					return true
				}
			} else if !missing(r) {
				break
			}
		}
	}
	return false
}

// missing reports whether a character does not show, or only together with the one before.
func missing(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7F
	}
	return unicode.IsSpace(r) || r == '\u2800' || r == utf8.RuneError ||
		unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point)
}

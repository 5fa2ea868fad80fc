package split

import (
	_ "embed" // for the table of classes
	"unicode"
)

// Class is the class of a character for a splitter. Classes are bits, so that a set of them is a sum.
type Class uint8

const (
	lower    Class = 1 << iota // \p{Ll}
	upper                      // \p{Lu} and \p{Lt}
	caseless                   // \p{Lm} and \p{Lo}
	mark                       // \p{M}
	number                     // \p{N}
	space                      // \s, except the two line breaks
	newline                    // \r and \n
	Symbol                     // everything else

	letter = lower | upper | caseless // \p{L}
	white  = space | newline          // \s
	rest   = Symbol | mark            // [^\s\p{L}\p{N}]
	head   = upper | caseless | mark  // may start a word of o200k
	tail   = lower | caseless | mark  // may end a word of o200k
)

//go:generate sh -c "cd classes && npm ci && node generate.mjs"

// classTable holds the classes of all characters in two stages: for each classBlock characters the index of their
// block, then the blocks, with one byte for each character. The classes are those of Unicode 16, as in OpenAI's own
// tiktoken, from which the program in classes reads them.
//
//go:embed tables/classes.bin
var classTable string

const classBlock = 128

// ClassOf returns the class of a character. An invalid one counts as U+FFFD.
func ClassOf(r rune) Class {
	if r < 0 || r > unicode.MaxRune {
		r = unicode.ReplacementChar
	}
	const blocks = (unicode.MaxRune + 1) / classBlock
	block := int(classTable[r/classBlock])
	return Class(classTable[blocks+block*classBlock+int(r%classBlock)])
}

// IsSpace reports whether a character is white space.
func IsSpace(r rune) bool { return ClassOf(r)&white != 0 }

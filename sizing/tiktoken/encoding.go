package tiktoken

import (
	_ "embed" // for the tables
	"fmt"
)

// UnknownEncodingError is returned for a name that is not an encoding's.
type UnknownEncodingError struct{ Encoding string }

func (e *UnknownEncodingError) Error() string {
	return fmt.Sprintf("tiktoken: unknown encoding %q: use o200k_base, cl100k_base, p50k_base or r50k_base", e.Encoding)
}

// encoding turns a text into tokens: it splits the text into words and merges each word from its bytes. It never
// changes once it is made.
type encoding struct {
	vocab *vocab
	rules
}

// rules say how an encoding splits texts.
type rules struct {
	// next returns the end of the word that starts at i, which is below len(text). The text is valid UTF-8.
	next func(text string, i int) int
	// safeCut reports whether no word holds both characters, and neither changes where the other's word ends.
	safeCut func(before, after rune) bool
}

// Each encoding names its table in a function of its own, so that a program links the tables of those that it uses.

func o200kBase() *encoding  { return newEncoding(o200kTable, rules{o200k, o200kCut}) }
func cl100kBase() *encoding { return newEncoding(cl100kTable, rules{cl100k, cl100kCut}) }
func p50kBase() *encoding   { return newEncoding(p50kTable, rules{gpt3, gpt3Cut}) }
func r50kBase() *encoding   { return newEncoding(r50kTable, rules{gpt3, gpt3Cut}) }

func newEncoding(table string, rules rules) *encoding {
	vocab, err := readVocab(table)
	if err != nil {
		panic(err) // unreachable: the tables are linked in and tested
	}
	return &encoding{vocab, rules}
}

// The tables of the encodings.
var (
	//go:embed tables/o200k_base.bin
	o200kTable string
	//go:embed tables/cl100k_base.bin
	cl100kTable string
	//go:embed tables/p50k_base.bin
	p50kTable string
	//go:embed tables/r50k_base.bin
	r50kTable string
)

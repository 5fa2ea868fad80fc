package openai

import (
	_ "embed" // for the tables
	"fmt"
)

// UnknownEncodingError tells that there is no encoding of that name.
type UnknownEncodingError struct{ Encoding string }

func (e *UnknownEncodingError) Error() string {
	return fmt.Sprintf("openai: unknown encoding %q: use o200k_base, cl100k_base, p50k_base or r50k_base", e.Encoding)
}

// encoding is how a text becomes tokens: it is split into words, and each word is merged from bytes on its own. It is
// never changed once it is made.
type encoding struct {
	vocab *vocab
	rules
}

// rules are how an encoding splits texts.
type rules struct {
	// next is the end of the word that starts at i, which is below len(text). The text is valid UTF-8.
	next func(text string, i int) int
	// safeCut tells that no word has both characters in it, and that neither changes where the other's word ends.
	safeCut func(before, after rune) bool
}

func encodingNamed(name string) (*encoding, error) {
	switch name {
	case "o200k_base":
		return newEncoding(o200kTable, rules{o200k, o200kCut})
	case "cl100k_base":
		return newEncoding(cl100kTable, rules{cl100k, cl100kCut})
	case "p50k_base":
		return newEncoding(p50kTable, rules{gpt3, gpt3Cut})
	case "r50k_base":
		return newEncoding(r50kTable, rules{gpt3, gpt3Cut})
	default:
		return nil, &UnknownEncodingError{Encoding: name}
	}
}

func newEncoding(table string, rules rules) (*encoding, error) {
	vocab, err := readVocab(table)
	if err != nil {
		return nil, err
	}
	return &encoding{vocab, rules}, nil
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

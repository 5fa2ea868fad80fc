package tiktoken

import (
	_ "embed" // for the tables
	"fmt"

	"github.com/promptree-go/promptree/sizing/internal/split"
)

// UnknownEncodingError is returned for a name that is not an encoding's.
type UnknownEncodingError struct{ Encoding string }

func (e *UnknownEncodingError) Error() string {
	return fmt.Sprintf("tiktoken: unknown encoding %q: use o200k_base, cl100k_base, p50k_base or r50k_base", e.Encoding)
}

// encoding turns a text into tokens: it splits the text into words and merges each word from its bytes. It never
// changes once it is made.
type encoding struct {
	vocab   *vocab
	pattern split.Pattern
}

// Each encoding names its table in a function of its own, so that a program links the tables of those that it uses.

func o200kBase() *encoding  { return newEncoding(o200kTable, split.O200k) }
func cl100kBase() *encoding { return newEncoding(cl100kTable, split.Cl100k) }
func p50kBase() *encoding   { return newEncoding(p50kTable, split.GPT2) }
func r50kBase() *encoding   { return newEncoding(r50kTable, split.GPT2) }

func newEncoding(table string, pattern split.Pattern) *encoding {
	vocab, err := readVocab(table)
	if err != nil {
		panic(err) // unreachable: the tables are linked in and tested
	}
	return &encoding{vocab, pattern}
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

package openai

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"sync"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// UnknownEncodingError tells that there is no encoding of that name.
type UnknownEncodingError struct{ Encoding string }

func (e *UnknownEncodingError) Error() string {
	return fmt.Sprintf("openai: unknown encoding %q: use o200k_base, cl100k_base, p50k_base or r50k_base", e.Encoding)
}

// encoding is how a text becomes tokens: it is split into words, and each word is merged from bytes on its own. It is
// never changed once it is made.
type encoding struct {
	ranks *ranks
	// next is the end of the word that starts at i, which is below len(text). The text is valid UTF-8.
	next func(text string, i int) int
	// safeCut tells that no word has both characters in it, and that neither changes where the other's word ends.
	safeCut func(before, after rune) bool
}

func encodingNamed(name string) (*encoding, error) {
	switch name {
	case "o200k_base":
		return o200kBase()
	case "cl100k_base":
		return cl100kBase()
	case "p50k_base":
		return p50kBase()
	case "r50k_base":
		return r50kBase()
	default:
		return nil, &UnknownEncodingError{Encoding: name}
	}
}

// The encodings, each loaded when it is first asked for.
var (
	o200kBase  = sync.OnceValues(func() (*encoding, error) { return load("o200k_base", newSplitter().o200k, newSplitter().o200kCut) })
	cl100kBase = sync.OnceValues(func() (*encoding, error) { return load("cl100k_base", newSplitter().cl100k, newSplitter().cl100kCut) })
	p50kBase   = sync.OnceValues(func() (*encoding, error) { return load("p50k_base", newSplitter().gpt3, newSplitter().gpt3Cut) })
	r50kBase   = sync.OnceValues(func() (*encoding, error) { return load("r50k_base", newSplitter().gpt3, newSplitter().gpt3Cut) })
)

// load reads the table that tiktoken-go's offline loader links in: a token a line, in base64, and its rank. It reads
// the file and not through the loader, whose map of strings takes several times as long to fill.
func load(name string, next func(string, int) int, safeCut func(before, after rune) bool) (*encoding, error) {
	table, err := assets.Assets.ReadFile(name + ".tiktoken")
	if err != nil {
		return nil, fmt.Errorf("openai: table of %s: %w", name, err)
	}
	var (
		blob   = make([]byte, 0, len(table))
		tokens = make([]rankedToken, 0, len(table)/16)
	)
	for line := range bytes.Lines(table) {
		token, rank, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		start := len(blob)
		if blob, err = base64.StdEncoding.AppendDecode(blob, token); err != nil {
			return nil, fmt.Errorf("openai: table of %s: %w", name, err)
		}
		n, err := strconv.ParseUint(string(rank), 10, 31)
		if err != nil {
			return nil, fmt.Errorf("openai: table of %s: %w", name, err)
		}
		tokens = append(tokens, rankedToken{start: start, end: len(blob), rank: uint32(n)})
	}
	return &encoding{ranks: newRanks(string(blob), tokens), next: next, safeCut: safeCut}, nil
}

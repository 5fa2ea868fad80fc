// Command tables writes the tables of OpenAI's encodings as sizing/openai links them in, from the files of tiktoken-go's
// offline loader. It is run by go generate, in the folder of the package.
//
// A table starts with four numbers: how many ranks there are, the length of all tokens together, and how many bytes have
// to be looked up that are short and that are long, with the heads of longer tokens. All numbers are uvarints. All tokens
// follow, in the order of their ranks, of which the first 256 are bytes; then for each further rank the two tokens of which
// the token is merged last. There is no other way to it: what stands around bytes that become a token has no part in how
// they do. So the two ranks say as much as the bytes, which are there to be used where they stand. A rank that is no token
// refers to itself.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

func main() {
	log.SetFlags(0)
	for _, name := range []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"} {
		table, err := tableOf(name)
		if err == nil {
			err = os.WriteFile(filepath.Join("tables", name+".bin"), table, 0o644)
		}
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
}

func tableOf(name string) ([]byte, error) {
	tokens, err := read(name)
	if err != nil {
		return nil, err
	}
	ranks := make(map[string]int, len(tokens))
	for rank, token := range tokens {
		if token != "" {
			ranks[token] = rank
		}
	}
	size, short, long := measure(ranks)
	var table []byte
	for _, n := range []int{len(tokens), size, short, long} {
		table = binary.AppendUvarint(table, uint64(n))
	}
	for rank, token := range tokens {
		if rank < 256 && len(token) != 1 {
			return nil, fmt.Errorf("rank %d is no single byte: %q", rank, token)
		}
		table = append(table, token...)
	}
	for rank, token := range tokens {
		switch {
		case rank < 256:
		case token == "":
			table = binary.AppendUvarint(table, uint64(rank))
			table = binary.AppendUvarint(table, uint64(rank))
		default:
			left, right, err := halves(ranks, token)
			if err != nil {
				return nil, err
			}
			table = binary.AppendUvarint(table, uint64(left))
			table = binary.AppendUvarint(table, uint64(right))
		}
	}
	return table, nil
}

// measure is the length of all tokens, and how many different bytes are to be looked up: the tokens of up to 8 bytes and
// the longer ones, and the heads of those.
func measure(ranks map[string]int) (size, short, long int) {
	keys := map[string]bool{}
	for token := range ranks {
		size += len(token)
		keys[token] = true
		for head := 8; head < len(token); head *= 2 {
			keys[token[:head]] = true
		}
	}
	for key := range keys {
		if len(key) <= 8 {
			short++
		} else {
			long++
		}
	}
	return size, short, long
}

// read is the tokens of an encoding by rank; "" where there is none.
func read(name string) ([]string, error) {
	file, err := assets.Assets.ReadFile(name + ".tiktoken")
	if err != nil {
		return nil, err
	}
	var tokens []string
	for line := range bytes.Lines(file) {
		encoded, number, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		token, err := base64.StdEncoding.DecodeString(string(encoded))
		if err != nil {
			return nil, err
		}
		rank, err := strconv.Atoi(string(number))
		if err != nil {
			return nil, err
		}
		for len(tokens) <= rank {
			tokens = append(tokens, "")
		}
		tokens[rank] = string(token)
	}
	return tokens, nil
}

// halves are the ranks of the two tokens that a token is merged from last.
func halves(ranks map[string]int, token string) (left, right int, err error) {
	rank := ranks[token]
	pieces := make([]string, len(token))
	for i := range pieces {
		pieces[i] = token[i : i+1]
	}
	for {
		best, at := rank, -1
		for i := range len(pieces) - 1 {
			if r, ok := ranks[pieces[i]+pieces[i+1]]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		pieces[at] += pieces[at+1]
		pieces = slices.Delete(pieces, at+1, at+2)
	}
	if len(pieces) != 2 {
		return 0, 0, fmt.Errorf("token %q of rank %d is merged from %q, not from two", token, rank, pieces)
	}
	return ranks[pieces[0]], ranks[pieces[1]], nil
}

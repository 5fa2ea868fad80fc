package vocabulary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/regular"
)

// UnsupportedError is returned for a file that is read but cannot be counted exactly: for a model other than BPE, and for
// a stage, an expression or an option that is not known here.
type UnsupportedError struct {
	// What says what it is, such as "split pattern".
	What string
	// Value is the value in the file.
	Value string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("vocabulary: unsupported %s: %s: use sizing.Calibrated or ask the server for counts", e.What, e.Value)
}

// maxFile is the maximum size, in bytes, of a file that [Open] reads. The largest that are published have 35 MB.
const maxFile = 256 << 20

// Open reads a tokenizer.json: a regular file of at most 256 MiB. See [Read].
func Open(path string) (*Vocabulary, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("vocabulary: %s has more than %d bytes: name a tokenizer.json", path, maxFile)
	}
	v, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, path)
	}
	return v, nil
}

// Read reads the content of a tokenizer.json, the file in which Hugging Face's tokenizers library keeps a vocabulary. The
// vocabulary keeps nothing of the data. If the file says something that is not known here, the error is an
// [*UnsupportedError].
//
// What the file says of truncation, padding and of the tokens around a whole text has no part in the counts.
func Read(data []byte) (*Vocabulary, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		if unsupported := (*UnsupportedError)(nil); errors.As(err, &unsupported) {
			return nil, err
		}
		return nil, fmt.Errorf("vocabulary: not a tokenizer.json: %w", err)
	}
	return f.vocabulary()
}

// file is a tokenizer.json.
type file struct {
	AddedTokens  []addedToken `json:"added_tokens"`
	Normalizer   *stage       `json:"normalizer"`
	PreTokenizer *stage       `json:"pre_tokenizer"`
	Model        struct {
		Type         *string     `json:"type"`
		Dropout      *float64    `json:"dropout"`
		UnknownToken *string     `json:"unk_token"`
		Prefix       *string     `json:"continuing_subword_prefix"`
		Suffix       *string     `json:"end_of_word_suffix"`
		ByteFallback bool        `json:"byte_fallback"`
		IgnoreMerges bool        `json:"ignore_merges"`
		Vocab        rawMessage  `json:"vocab"`
		Merges       *rawMessage `json:"merges"`
	} `json:"model"`
}

// rawMessage is a json.RawMessage that is not copied.
type rawMessage []byte

func (r *rawMessage) UnmarshalJSON(data []byte) error {
	*r = data
	return nil
}

// stage is a step that the file names, with the fields of all stages that are known here.
type stage struct {
	Type string `json:"type"`

	Normalizers   []stage `json:"normalizers"`   // Sequence
	PreTokenizers []stage `json:"pretokenizers"` // Sequence

	Pattern  pattern `json:"pattern"`  // Split, Replace
	Content  string  `json:"content"`  // Replace
	Behavior string  `json:"behavior"` // Split
	Invert   bool    `json:"invert"`   // Split

	Prepend string `json:"prepend"` // Prepend

	AddPrefixSpace bool  `json:"add_prefix_space"` // ByteLevel
	UseRegex       *bool `json:"use_regex"`        // ByteLevel

	IndividualDigits bool `json:"individual_digits"` // Digits

	Replacement   string  `json:"replacement"`    // Metaspace
	PrependScheme *string `json:"prepend_scheme"` // Metaspace
	Split         *bool   `json:"split"`          // Metaspace

	text []byte
}

type pattern struct {
	String *string
	Regex  *string
}

// Bounds of a stage with those in it, each of which is read as often as it is deep.
const (
	maxStage = 1 << 20 // bytes
	maxDepth = 32      // objects and lists
)

// UnmarshalJSON reads a stage and keeps its text, to print it where it is refused.
func (s *stage) UnmarshalJSON(data []byte) error {
	type plain stage
	deep := plainjson.Depth(data)
	if s.text = data; len(data) > maxStage || deep > maxDepth {
		return s.unsupported("stage that is too large or too deep")
	}
	return json.Unmarshal(data, (*plain)(s))
}

func (s *stage) unsupported(what string) error {
	return &UnsupportedError{what, string(s.text[:min(len(s.text), 1000)])}
}

// is reports whether an option has a value, or the value that it has by default.
func is[T comparable](option *T, value, byDefault T) bool {
	if option == nil {
		return byDefault == value
	}
	return *option == value
}

var errShape = errors.New("vocabulary: not a tokenizer.json: a vocabulary or merges of another form")

// textOf returns the text of a JSON string.
func textOf(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return []byte(plainjson.Unquote(quoted))
}

// entries reads an object of numbers, which is valid JSON.
func entries(data []byte, each func(name []byte, n uint64) error) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return errShape
	}
	var name []byte
	named := false // the value of a name comes next
	for start, end := range plainjson.Tokens(data) {
		switch c := data[start]; {
		case named:
			n, err := strconv.ParseUint(string(data[start:end]), 10, 32)
			if err != nil {
				return errShape
			}
			if err := each(name, n); err != nil {
				return err
			}
			named = false
		case c == '"':
			name = textOf(data[start:end])
		case c == ':':
			named = true
		}
	}
	return nil
}

// merges reads a list of pairs, which is valid JSON: lists of two strings, or strings with a space between the two.
func merges(data []byte, each func(left, right []byte) error) error {
	depth := 0
	var pair [][]byte
	for start, end := range plainjson.Tokens(data) {
		switch c := data[start]; {
		case c == ',' && depth > 0:
			continue
		case c == '[' && depth < 2:
			depth++
			continue
		case c == '"' && depth == 1:
			left, right, _ := bytes.Cut(textOf(data[start:end]), []byte(" "))
			if pair = append(pair, left); right != nil && bytes.IndexByte(right, ' ') < 0 {
				pair = append(pair, right)
			}
		case c == '"' && depth == 2:
			pair = append(pair, textOf(data[start:end]))
			continue
		case c == ']':
			if depth--; depth == 0 {
				return nil
			}
		default:
			return errShape
		}
		if len(pair) != 2 {
			return errShape
		}
		if err := each(pair[0], pair[1]); err != nil {
			return err
		}
		pair = pair[:0]
	}
	return errShape
}

// alphabet maps the characters that stand for bytes in the tokens of a byte-level vocabulary: those of Latin-1 that
// are printed stand for themselves, the others for what follows U+0100 in their order.
var alphabet = func() (bytes [0x144]int16) {
	for i := range bytes {
		bytes[i] = -1
	}
	next := 0x100
	for b := range 256 {
		if b > ' ' && b < 0x7F || b >= 0xA1 && b != 0xAD {
			bytes[b] = int16(b)
		} else {
			bytes[next] = int16(b)
			next++
		}
	}
	return bytes
}()

// appendBytes appends the bytes that a token of a byte-level vocabulary stands for, and returns false if it stands for
// none.
func appendBytes(b, token []byte) ([]byte, bool) {
	for len(token) > 0 {
		r, n := utf8.DecodeRune(token)
		if r >= rune(len(alphabet)) || alphabet[r] < 0 {
			return b, false
		}
		b = append(b, byte(alphabet[r]))
		token = token[n:]
	}
	return b, true
}

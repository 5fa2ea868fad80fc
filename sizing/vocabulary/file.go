package vocabulary

import (
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

// scanner reads the parts of a file that are too long for package json. What it reads is valid JSON.
type scanner struct {
	data []byte
	i    int
	text []byte // of a string with escapes
}

// token returns the next byte that is not white space, and skips it.
func (s *scanner) token() byte {
	for s.i < len(s.data) {
		b := s.data[s.i]
		s.i++
		if b != ' ' && b != '\n' && b != '\t' && b != '\r' {
			return b
		}
	}
	return 0
}

var errShape = errors.New("vocabulary: not a tokenizer.json: a vocabulary or merges of another form")

// string reads a string, whose first quote was skipped. It is valid until the next call.
func (s *scanner) string() ([]byte, error) {
	start := s.i
	for s.i < len(s.data) {
		switch s.data[s.i] {
		case '"':
			s.i++
			return s.data[start : s.i-1], nil
		case '\\':
			return s.escaped(start)
		}
		s.i++
	}
	return nil, errShape
}

// escaped reads a string that holds escapes.
func (s *scanner) escaped(start int) ([]byte, error) {
	for s.i < len(s.data) && s.data[s.i] != '"' {
		if s.data[s.i] == '\\' {
			s.i++
		}
		s.i++
	}
	s.i++
	var text string
	if s.i > len(s.data) || json.Unmarshal(s.data[start-1:s.i], &text) != nil {
		return nil, errShape
	}
	s.text = append(s.text[:0], text...)
	return s.text, nil
}

// number reads a number whose first digit was skipped.
func (s *scanner) number() (uint64, error) {
	start := s.i - 1
	for s.i < len(s.data) && s.data[s.i] >= '0' && s.data[s.i] <= '9' {
		s.i++
	}
	return strconv.ParseUint(string(s.data[start:s.i]), 10, 32)
}

// entries reads an object of numbers.
func (s *scanner) entries(each func(name []byte, n uint64) error) error {
	if s.token() != '{' {
		return errShape
	}
	for {
		switch s.token() {
		case '}':
			return nil
		case ',':
		case '"':
			name, err := s.string()
			if err != nil || s.token() != ':' {
				return errShape
			}
			s.token()
			n, err := s.number()
			if err != nil {
				return errShape
			}
			if err := each(name, n); err != nil {
				return err
			}
		default:
			return errShape
		}
	}
}

// merges reads a list of pairs: lists of two strings, or strings with a space between the two.
func (s *scanner) merges(each func(left, right []byte) error) error {
	if s.token() != '[' {
		return errShape
	}
	var left []byte
	for {
		switch s.token() {
		case ']':
			return nil
		case ',':
		case '[':
			if s.token() != '"' {
				return errShape
			}
			text, err := s.string()
			if err != nil || s.token() != ',' || s.token() != '"' {
				return errShape
			}
			left = append(left[:0], text...)
			right, err := s.string()
			if err != nil || s.token() != ']' {
				return errShape
			}
			if err := each(left, right); err != nil {
				return err
			}
		case '"':
			text, err := s.string()
			if err != nil {
				return errShape
			}
			space := -1
			for i, b := range text {
				if b == ' ' {
					if space >= 0 {
						return errShape
					}
					space = i
				}
			}
			if space < 0 {
				return errShape
			}
			if err := each(text[:space], text[space+1:]); err != nil {
				return err
			}
		default:
			return errShape
		}
	}
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

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/promptree-go/promptree/internal/plainjson"
)

// Kind is the kind of a JSON value, as errors name it.
type Kind string

// The kinds.
const (
	KindObject  Kind = "an object"
	KindList    Kind = "a list"
	KindText    Kind = "a text"
	KindNumber  Kind = "a number"
	KindBoolean Kind = "true or false"
	KindNull    Kind = "null"
)

// KindOf returns the kind of a valid JSON value from its first byte.
func KindOf(raw json.RawMessage) Kind {
	switch raw[skipSpace(raw, 0)] {
	case '{':
		return KindObject
	case '[':
		return KindList
	case '"':
		return KindText
	case 't', 'f':
		return KindBoolean
	case 'n':
		return KindNull
	default:
		return KindNumber
	}
}

// Compacted returns valid JSON without white space.
func Compacted(raw json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it is valid
	return b.String()
}

// Marshal returns the JSON of a value that always encodes: texts, JSON, and lists and maps of them.
func Marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("wire: a value that is not JSON: " + err.Error())
	}
	return raw
}

// MaxItems is the maximum length of a list. An object takes far more memory than "{}" does in a file.
const MaxItems = 1 << 17

// Values returns the values of a list of valid JSON, which are not copies, and an error if there are too many or it is not a
// list.
func Values(list json.RawMessage) ([]json.RawMessage, error) {
	var values []json.RawMessage
	err := eachValue(list, func(value json.RawMessage, _, _ int) error {
		values = append(values, value)
		return nil
	})
	return values, err
}

// Each calls f for each object of a list of valid JSON, with its offset in the list. An error of f is returned with the
// index, and what is not a list is one too. What the object records is up to f.
func Each(list json.RawMessage, f func(item *Object, offset int) error) error {
	return eachValue(list, func(value json.RawMessage, index, offset int) error {
		item, err := parse(value)
		if err == nil {
			err = f(item, offset)
		}
		if err != nil {
			return fmt.Errorf("part %d: %w", index, err)
		}
		return nil
	})
}

func eachValue(list json.RawMessage, f func(value json.RawMessage, index, offset int) error) error {
	if list == nil || KindOf(list) != KindList {
		return errors.New("not a list of parts")
	}
	for i, n := bytes.IndexByte(list, '[')+1, 0; ; n++ {
		if i = skipSpace(list, i); list[i] == ']' {
			return nil
		}
		if n == MaxItems {
			return fmt.Errorf("more than %d parts", MaxItems)
		}
		if list[i] == ',' {
			i = skipSpace(list, i+1)
		}
		end := skipValue(list, i)
		if err := f(list[i:end:end], n, i); err != nil {
			return err
		}
		i = end
	}
}

// skipSpace returns the index of the first byte from i on that is not white space.
func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n') {
		i++
	}
	return i
}

// skipValue returns the index after the value that begins at i in valid JSON.
func skipValue(raw []byte, i int) int {
	depth := 0
	for start, end := range plainjson.Tokens(raw[i:]) {
		switch raw[i+start] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			return i + end
		}
	}
	return len(raw)
}

// surrogates matches escaped backslashes, pairs, and halves of pairs.
var surrogates = regexp.MustCompile(`\\\\|(?i:\\ud[89ab]..\\ud[c-f]..|\\ud[89a-f]..)`)

// Mended returns valid JSON with U+FFFD for each escape of half a surrogate pair, and reports whether there was one. Many
// parsers refuse them.
func Mended(raw []byte) (mended []byte, changed bool) {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw, false
	}
	mended = surrogates.ReplaceAllFunc(raw, func(found []byte) []byte {
		if len(found) != len(`\ud83d`) {
			return found
		}
		changed = true
		return []byte(`\ufffd`)
	})
	return mended, changed
}

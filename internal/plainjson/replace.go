package plainjson

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"
)

// Tokens yields the start and the end of each string, number, literal and delimiter of a JSON value.
func Tokens(value []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(value); {
			end := i + 1
			switch value[i] {
			case ' ', '\t', '\r', '\n':
				i = end
				continue
			case '{', '}', '[', ']', ':', ',':
			case '"':
				end = TextEnd(value, i)
			default:
				for end < len(value) && strings.IndexByte("{}[]:,\" \t\r\n", value[end]) < 0 {
					end++
				}
			}
			if !yield(i, end) {
				return
			}
			i = end
		}
	}
}

// Splice is a value in which places are replaced, one after the other.
type Splice struct {
	made []byte
	next int // the first place that was not copied yet
}

// Put replaces a place of the value.
func (s *Splice) Put(value []byte, start, end int, with []byte) {
	s.made = append(append(s.made, value[s.next:start]...), with...)
	s.next = end
}

// All returns the value, unchanged if nothing was replaced.
func (s *Splice) All(value []byte) []byte {
	if s.next == 0 {
		return value
	}
	return append(s.made, value[s.next:]...)
}

// Text is a string, a number or a key in a JSON value.
type Text struct {
	Text string
	// Key of the value, or of the list that contains it; "" for a key itself.
	Key             string
	IsKey, IsNumber bool
}

// Replace returns valid JSON with what replace returns in place of each text, as a string where that differs. All else
// stays as it is.
func Replace(value []byte, replace func(Text) string) []byte {
	var keys []string // the key of the current place in each container around it
	var s Splice
	for start, end := range Tokens(value) {
		top := len(keys) - 1
		var t Text
		if top >= 0 {
			t.Key = keys[top]
		}
		switch c := value[start]; c {
		case '{', '[':
			keys = append(keys, t.Key)
			continue
		case '}', ']':
			keys = keys[:top]
			continue
		case ':', ',', 't', 'f', 'n':
			continue
		case '"':
			t.Text = Unquote(value[start:end])
			if bytes.HasPrefix(bytes.TrimLeft(value[end:], " \t\r\n"), []byte(":")) {
				keys[top], t.Key, t.IsKey = t.Text, "", true
			}
		default:
			t.Text, t.IsNumber = string(value[start:end]), true
		}
		if got := replace(t); got != t.Text {
			quoted, _ := Marshal(got) // texts always encode
			s.Put(value, start, end, quoted)
		}
	}
	return s.All(value)
}

// escaped holds the characters of one byte that may follow a backslash, and what they stand for.
var escaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Unquote returns the text of a valid JSON string.
func Unquote(quoted []byte) string {
	text, ok := UnquotePlain(quoted)
	if ok {
		return text
	}
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic(err)
	}
	return text
}

// UnquotePlain returns the text of a JSON string, several times as fast as encoding/json, and false if it is not UTF-8 or
// has escapes of more than one byte.
func UnquotePlain(quoted []byte) (text string, ok bool) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), utf8.Valid(inner)
	}
	made := make([]byte, 0, len(inner))
	for i := bytes.IndexByte(inner, '\\'); i >= 0; i = bytes.IndexByte(inner, '\\') {
		c := escaped[inner[i+1]]
		if c == 0 {
			return "", false
		}
		made, inner = append(append(made, inner[:i]...), c), inner[i+2:]
	}
	made = append(made, inner...)
	return string(made), utf8.Valid(made)
}

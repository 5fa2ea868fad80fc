package plainjson

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
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
			quoted, err := Marshal(got)
			if err != nil {
				panic(err) // strings always encode
			}
			s.Put(value, start, end, quoted)
		}
	}
	return s.All(value)
}

// Unquote returns the text of a valid JSON string.
func Unquote(quoted []byte) (text string) {
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic(err)
	}
	return text
}

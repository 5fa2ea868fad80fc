package entry

import (
	"encoding/json"
	"iter"
	"strings"

	"github.com/promptree-go/promptree/internal/plainjson"
)

// tokens yields the start and the end of each string, number, literal and delimiter of a JSON value.
func tokens(value []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(value); {
			end := i + 1
			switch value[i] {
			case ' ', '\t', '\r', '\n':
				i = end
				continue
			case '{', '}', '[', ']', ':', ',':
			case '"':
				end = plainjson.TextEnd(value, i)
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

// splice is a value in which places are replaced, one after the other.
type splice struct {
	made []byte
	next int // the first place that was not copied yet
}

func (s *splice) put(value []byte, start, end int, with []byte) {
	s.made = append(append(s.made, value[s.next:start]...), with...)
	s.next = end
}

// all returns the value, unchanged if nothing was replaced.
func (s *splice) all(value []byte) []byte {
	if s.next == 0 {
		return value
	}
	return append(s.made, value[s.next:]...)
}

// unquote returns the text of a valid JSON string.
func unquote(quoted []byte) (text string) {
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic(err)
	}
	return text
}

// quote returns a text as a JSON string.
func quote(text string) []byte {
	quoted, err := plainjson.Marshal(text)
	if err != nil {
		panic(err)
	}
	return quoted
}

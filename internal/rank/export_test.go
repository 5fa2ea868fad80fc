package rank

import "strings"

// Words returns the words of a text.
func Words(text string) (list []string) {
	split(text, func(word string, _ uint32) { list = append(list, strings.ToLower(word)) })
	return list
}

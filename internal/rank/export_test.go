package rank

// Words returns the words of a text.
func Words(text string) (list []string) {
	split(text, func(word []byte, _ uint32) { list = append(list, string(word)) })
	return list
}

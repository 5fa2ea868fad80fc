package history

// UnmarshalJSON reads an entry from its line in a log. An entry of a kind that this version does not know is an
// [Unknown].
func (e *Entry) UnmarshalJSON(line []byte) error {
	read, err := decode(line)
	if err == nil {
		*e = read
	}
	return err
}

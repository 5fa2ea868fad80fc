package history

// UnmarshalJSON reads an entry from its line in a log. An entry of an unknown type becomes an [Unknown].
func (e *Entry) UnmarshalJSON(line []byte) error {
	read, err := decode(line)
	if err == nil {
		*e = read
	}
	return err
}

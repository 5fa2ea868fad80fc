package importer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// parseText decodes a JSON string. Half a surrogate pair is an error, because encoding/json would replace it by U+FFFD.
func parseText(raw json.RawMessage) (string, error) {
	if half := halfSurrogate(raw); half != "" {
		return "", fmt.Errorf("%s is half a surrogate pair", half)
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// halfSurrogate returns the first escape in a valid JSON string for half a surrogate pair without its other half, "" if
// there is none.
func halfSurrogate(raw []byte) string {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		r, ok := escapedUnit(raw[i:])
		if !ok {
			i++ // the byte after the backslash, which may be one itself
			continue
		}
		if utf16.IsSurrogate(r) {
			low, _ := escapedUnit(raw[i+6:])
			if utf16.DecodeRune(r, low) == utf8.RuneError {
				return string(raw[i : i+6])
			}
			i += 6
		}
		i += 5
	}
	return ""
}

// escapedUnit returns the UTF-16 unit of an escape such as \u00e9 at the start of raw.
func escapedUnit(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}

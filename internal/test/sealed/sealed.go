// Package sealed gives the lines of logs that tests write by hand the checksums that logs have.
package sealed

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/promptree-go/promptree/internal/checksum"
)

// Line returns a line of a log with its checksum, in place of the one that it has. Text that is not a JSON object with fields stays.
func Line(line string) string {
	raw := []byte(line)
	err := checksum.Check(raw)
	switch {
	case err == nil || !strings.HasPrefix(line, `{"`) || !json.Valid(raw):
		return line
	case errors.Is(err, checksum.ErrWrong):
		raw = checksum.Cut(raw)
	}
	return string(checksum.Add(raw))
}

// Log returns a log each of whose lines has its checksum, except for a last line without a line break.
func Log(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if whole, ok := strings.CutSuffix(line, "\n"); ok {
			line = Line(whole) + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/wire"
)

// lineReader reads a recording line by line and counts the lines.
type lineReader struct {
	r       *bufio.Reader
	max     int    // maximum bytes of a line
	readOn  bool   // skip lines that are longer
	number  int    // of the line read last, from 1
	buf     []byte // that line
	tooLong bool   // whether that line is longer; it was skipped
	torn    bool   // whether that line is the last, has no line feed and cannot be read
}

// object returns the object on the next line that is not blank, and io.EOF at the end.
func (l *lineReader) object() (*wire.Object, error) {
	for {
		whole, err := l.next()
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(l.buf)) == 0 {
			continue
		}
		o, err := parseLine(l.buf)
		switch {
		case err == nil:
			return o, nil
		case whole:
			return nil, l.wrap(err)
		default:
			l.torn = true
			return nil, l.wrap(fmt.Errorf("the last line has no line feed, it may be torn: %w", err))
		}
	}
}

// next reads one line into buf, without its line feed, and reports whether it had one.
func (l *lineReader) next() (whole bool, err error) {
	l.buf, l.tooLong = l.buf[:0], false
	for first := true; ; first = false {
		piece, err := l.r.ReadSlice('\n')
		if first && len(piece) == 0 && err == io.EOF {
			return false, io.EOF
		}
		if first {
			l.number++
		}
		whole = err == nil
		if whole {
			piece = piece[:len(piece)-1]
		}
		if l.tooLong = l.tooLong || len(l.buf)+len(piece) > l.max; !l.tooLong {
			l.buf = append(l.buf, piece...)
		}
		switch {
		case l.tooLong && !l.readOn, l.tooLong && (whole || err == io.EOF):
			return false, l.wrap(fmt.Errorf("the line is longer than %d bytes", l.max))
		case whole, err == io.EOF:
			return whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return false, fmt.Errorf("importer: read line %d: %w", l.number, err)
		}
	}
}

// wrap adds the number of the line that was read last to an error.
func (l *lineReader) wrap(err error) error { return &LineError{Line: l.number, Err: err} }

// parseLine parses a line, and returns an error if encoding/json would change its content.
func parseLine(line []byte) (*wire.Object, error) {
	if !utf8.Valid(line) {
		return nil, fmt.Errorf("byte %d: invalid UTF-8", validPrefix(line)+1)
	}
	return wire.Parse(bytes.Clone(line)) // the buffer is used again
}

// validPrefix returns the length in bytes of the longest start of b that is valid UTF-8.
func validPrefix(b []byte) int {
	n := 0
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

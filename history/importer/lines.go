package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// lineReader reads a recording line by line and counts.
type lineReader struct {
	r       *bufio.Reader
	max     int    // the longest line in bytes
	readOn  bool   // past a line that is longer, to the next
	number  int    // of the line read last, from 1
	buf     []byte // that line
	tooLong bool   // that line is; it was read past
}

func newLineReader(r io.Reader, maxLine int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: maxLine}
}

// object gives the object on the next line that is not blank, and io.EOF where there is none.
func (l *lineReader) object() (*object, error) {
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
			return nil, l.wrap(fmt.Errorf("the last line has no end, perhaps it is torn: %w", err))
		}
	}
}

// next reads one line into buf, without its line feed, and tells whether it had one.
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

// wrap names the line that was read last.
func (l *lineReader) wrap(err error) error { return &LineError{Line: l.number, Err: err} }

// parseLine parses a line, unless encoding/json would change what it says.
func parseLine(line []byte) (*object, error) {
	if !utf8.Valid(line) {
		return nil, fmt.Errorf("byte %d: invalid UTF-8", validPrefix(line)+1)
	}
	return parseObject(line)
}

// validPrefix is how many bytes of b are valid UTF-8, from its start.
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

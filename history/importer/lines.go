package importer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/wire"
)

// LineError is returned for a line of a recording that could not be read.
type LineError struct {
	// Line of the recording, from 1.
	Line int
	// Err is the cause.
	Err error
}

func (e *LineError) Error() string { return fmt.Sprintf("importer: line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// lineReader reads a recording line by line and counts the lines.
type lineReader struct {
	r       *bufio.Reader
	max     int    // maximum bytes of a line
	readOn  bool   // skip lines that are longer
	number  int    // of the line read last, from 1
	buf     []byte // that line
	tooLong bool   // whether that line is longer; it was skipped
	mended  []int  // lines in which something was replaced
	status  int    // lines before the recording
}

// item is an object on a line, or one of a list.
type item struct {
	*wire.Object
	number int  // of its line
	torn   bool // whether it could not be read, and is the last
}

// item returns the object on the next line that is not blank, and io.EOF at the end.
func (l *lineReader) item() (item, error) {
	for {
		whole, err := l.next()
		if err != nil {
			return item{}, err
		}
		line := bytes.TrimSpace(l.buf)
		if len(line) == 0 {
			continue
		}
		line, changed := mend(bytes.Clone(line)) // the buffer is used again
		if changed {
			l.mended = append(l.mended, l.number)
		}
		o, err := wire.Parse(line)
		switch {
		case err == nil:
			return item{Object: o, number: l.number}, nil
		case whole:
			return item{}, l.wrap(err)
		default:
			return item{torn: true}, l.wrap(fmt.Errorf("the last line has no line feed, it may be torn: %w", err))
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

// mend replaces what a text cannot hold, invalid UTF-8 and halves of surrogate pairs, by U+FFFD.
func mend(text []byte) (mended []byte, changed bool) {
	if !utf8.Valid(text) {
		text, changed = bytes.ToValidUTF8(text, []byte("\uFFFD")), true
	}
	text, halves := wire.Mended(text)
	return text, changed || halves
}

// skipStatus reads the lines before the first that may begin a recording, such as those that a program printed before its
// export. If there is none within the reader's buffer, it reads nothing.
func (l *lineReader) skipStatus() error {
	ahead, _ := l.r.Peek(l.r.Size()) // an error shows when the line is read
	if at := begins.FindIndex(ahead); at != nil {
		l.status = bytes.Count(ahead[:at[0]], []byte("\n"))
	}
	for range l.status {
		if _, err := l.next(); err != nil {
			return err
		}
	}
	return nil
}

// begins matches the first line of a recording: an object, or a list of them.
var begins = regexp.MustCompile(`(?m)^[^\S\n]*(\{|\[\s*([{\]]|$))`)

// decoded returns a reader of UTF-8 without a byte order mark. Text that begins with the mark of UTF-16, as Windows
// PowerShell writes it, is read whole and converted.
func decoded(r *bufio.Reader) (*bufio.Reader, error) {
	start, _ := r.Peek(3)
	var order binary.ByteOrder
	switch {
	case bytes.Equal(start, []byte("\xef\xbb\xbf")):
		_, _ = r.Discard(3) // it was peeked
		return r, nil
	case bytes.HasPrefix(start, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(start, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return r, nil
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("importer: %w", err)
	}
	units := make([]uint16, len(raw)/2)
	_, _ = binary.Decode(raw, order, units) // has as many bytes
	text := string(utf16.Decode(units[1:])) // without the mark; half a pair becomes U+FFFD
	return bufio.NewReaderSize(strings.NewReader(text), r.Size()), nil
}

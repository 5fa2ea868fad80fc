package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/promptree-go/promptree/internal/checksum"
)

// CorruptError is returned for a line of a log that cannot be read. The log is left as it is.
type CorruptError struct {
	// Path of the log, "" if it is not a file.
	Path string
	// Line number, from 1.
	Line int
	// Byte is the offset at which the line starts, if the log is a file.
	Byte int64
	Err  error
}

func (e *CorruptError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("storage: line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("storage: %s: line %d, from byte %d on: %v", e.Path, e.Line, e.Byte, e.Err)
}

// Unwrap returns what is wrong with the line.
func (e *CorruptError) Unwrap() error { return e.Err }

// Recovery describes what was found after the last line break on opening: a torn end, as a crash in the middle of a write
// leaves it, or a whole line. A line that ends in a line break is never torn: if it cannot be read, it is damaged.
type Recovery struct {
	// Line at which the log was torn, from 1.
	Line int
	// Whole is set if the line has its checksum: it lacks only its line break, or another byte has its place, and is kept. A log that is open for writing
	// is given the line break.
	Whole bool
	// Bytes is the number of bytes that were cut off, 0 for a whole line.
	Bytes int64
	// SavedTo is the file to which the bytes were moved, below a line that says so. "" if nothing was changed because the
	// log is only read.
	SavedTo string
}

// open opens the file, and finds its end and the bytes after the last complete line. It reads only the header and the
// last lines.
func (f *File) open() (err error) {
	if f.file, err = openLog(f.options.Disk, f.path, f.readOnly); err != nil {
		return err
	}
	size, err := f.file.Size()
	if err == nil {
		f.end, err = lastBreak(f.file, 0, size)
	}
	if rest := size - f.end; err == nil && 0 < rest && rest <= f.options.MaxLine {
		line := make([]byte, rest)
		_, err = io.ReadFull(io.NewSectionReader(f.file, f.end, rest), line)
		for at := size; err == nil && at >= size-1 && at > f.end; at-- { // without its line break, or with another byte there
			if checksum.Check(line[:at-f.end]) == nil {
				f.unended, f.file, f.end = true, &withBreak{f.file, at}, at+1
				size = f.end
			}
		}
	}
	if err == nil {
		err = f.checkHeader(size)
	}
	if err == nil && !f.readOnly {
		err = f.finishReplacing()
	}
	if f.torn = size - f.end; err == nil && (f.torn > 0 || f.unended) {
		var lines int
		lines, err = countLines(context.Background(), f.file, 0, f.end)
		f.recovery = &Recovery{Line: lines + 1, Bytes: f.torn}
		if f.unended {
			f.recovery = &Recovery{Line: lines, Whole: true}
		}
	}
	if _, corrupt := errors.AsType[*CorruptError](err); err != nil && !corrupt {
		err = fmt.Errorf("storage: reading %s: %w", f.path, err)
	}
	return err
}

// withBreak is a file that is read as if the line break followed that its last line lacks, in place of any other byte.
type withBreak struct {
	DiskFile
	at int64
}

func (w *withBreak) Size() (int64, error) {
	size, err := w.DiskFile.Size()
	return max(size, w.at+1), err
}

func (w *withBreak) ReadAt(p []byte, at int64) (int, error) {
	n, err := w.DiskFile.ReadAt(p, at)
	if i := w.at - at; i >= 0 && i < int64(len(p)) && int64(n) >= i {
		p[i] = '\n'
		if n = max(n, int(i)+1); n == len(p) {
			err = nil
		}
	}
	return n, err
}

// checkHeader returns an error unless the file starts with the header of a session, whole or torn, so that a
// file of another program is never changed.
func (f *File) checkHeader(size int64) error {
	var err error
	if f.end > 0 {
		lines := f.forward(0, f.end)
		raw, size, readErr := lines.next()
		if size == 0 {
			return readErr
		}
		if err = readErr; err == nil {
			err = checkHeader(raw)
		}
		if err != nil && lines.entryFollows() {
			return nil // the session reports the details
		}
	} else {
		start := make([]byte, min(size, 1<<10))
		if _, err = io.ReadFull(io.NewSectionReader(f.file, 0, size), start); err != nil {
			return err
		}
		if header := []byte(`{"type":"session",`); !bytes.HasPrefix(start, header) && !bytes.HasPrefix(header, start) {
			err = errNotHeader
		}
	}
	if err != nil {
		return &CorruptError{Path: f.path, Line: 1, Err: err}
	}
	return nil
}

// entryFollows reports whether one of the next three lines is an entry, which shows that the file is a log whatever its
// header is.
func (l *forward) entryFollows() bool {
	for range 3 {
		if raw, _, err := l.next(); err == nil && isEntry(raw) {
			return true
		}
	}
	return false
}

var errNotHeader = errors.New("it is not the header of a session (package importer reads those of other programs)")

// checkHeader returns an error unless a line is the header of a session. The session checks what the header holds.
func checkHeader(raw []byte) error {
	var head lineHead
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("%w: %w", errNotHeader, err)
	}
	if head.Type != KindHeader {
		return fmt.Errorf("%w: its type is %q, not %q", errNotHeader, head.Type, KindHeader)
	}
	return nil
}

// isEntry reports whether a line is an entry of a session.
func isEntry(raw []byte) bool {
	var head lineHead
	var at time.Time
	return json.Unmarshal(raw, &head) == nil && head.Type != "" && head.Type != KindHeader && head.ID != "" && json.Unmarshal(head.Time, &at) == nil && !at.IsZero()
}

// Mend moves a torn end out of the log now, and gives a whole last line its line break; otherwise the first Append does.
// Call it once everything before is known to be readable. It does nothing if the log ends in a line break.
func (f *File) Mend() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.setAside()
}

func (f *File) setAside() error {
	if f.torn == 0 && !f.unended || f.broken != nil {
		return f.broken
	}
	if err := f.checkPath(); err != nil {
		return err
	}
	if f.unended {
		_, err := f.file.WriteAt([]byte("\n"), f.end-1)
		if err == nil {
			err = f.file.Sync()
		}
		if err != nil {
			return fmt.Errorf("storage: ending the last line of %s: %w", f.path, err)
		}
		f.unended = false
		return nil
	}
	path, err := saveTorn(f.options.Disk, f.path, io.NewSectionReader(f.file, f.end, f.torn))
	if err == nil {
		err = errors.Join(f.file.Truncate(f.end), f.file.Sync())
	}
	if err != nil {
		return fmt.Errorf("storage: setting aside a torn end of %s: %w", f.path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.torn = 0
	f.recovery = &Recovery{Line: f.recovery.Line, Bytes: f.recovery.Bytes, SavedTo: path}
	return nil
}

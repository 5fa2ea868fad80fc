package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// CorruptError is returned for a line of a log that cannot be read. The log is left as it is.
type CorruptError struct {
	// Path of the log, "" if it is not a file.
	Path string
	// Line number, from 1.
	Line int
	Err  error
}

func (e *CorruptError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("storage: line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("storage: %s: line %d: %v", e.Path, e.Line, e.Err)
}

// Unwrap returns what is wrong with the line.
func (e *CorruptError) Unwrap() error { return e.Err }

// Recovery describes a torn end that was found on opening, as a crash in the middle of a write leaves it.
type Recovery struct {
	// Line at which the log was torn, from 1.
	Line int
	// Bytes is the number of bytes that were cut off.
	Bytes int64
	// SavedTo is the file to which the bytes were moved, "" if nothing was changed because the log is only read.
	SavedTo string
}

// open opens the file, and finds its end and the bytes after the last complete line. It reads only the header and the
// last lines.
func (f *File) open(readOnly bool) (err error) {
	if f.file, err = openLog(f.options.Disk, f.path, readOnly); err != nil {
		return err
	}
	size, err := f.file.Size()
	if err == nil {
		f.end, err = lastBreak(f.file, 0, size)
	}
	if err == nil {
		err = f.checkHeader(size)
	}
	if err == nil && !readOnly {
		err = f.finishReplacing()
	}
	if err == nil {
		f.end, err = f.wholeLines(0, size)
	}
	if err != nil {
		if _, corrupt := errors.AsType[*CorruptError](err); corrupt {
			return err
		}
		return fmt.Errorf("storage: reading %s: %w", f.path, err)
	}
	if f.torn = size - f.end; f.torn > 0 {
		lines, err := countLines(context.Background(), f.file, 0, f.end)
		if err != nil {
			return fmt.Errorf("storage: reading %s: %w", f.path, err)
		}
		f.recovery = &Recovery{Line: lines + 1, Bytes: f.torn}
	}
	return nil
}

// checkHeader returns an error unless the file starts with the header of a session, whole or torn, so that a
// file of another program is never changed.
func (f *File) checkHeader(size int64) error {
	var err error
	if f.end > 0 {
		lines := fileLines{file: f.file, max: f.options.MaxLine}
		raw, next, readErr := lines.next(0, f.end)
		if next == 0 {
			return readErr
		}
		if err = readErr; err == nil {
			err = checkHeader(raw)
		}
		if err != nil && f.entryFollows(next) {
			return nil // the session reports the details
		}
	} else {
		start := make([]byte, min(size, 1<<10))
		if _, err = io.ReadFull(io.NewSectionReader(f.file, 0, size), start); err != nil {
			return err
		}
		if !tornHeader(start) {
			err = errors.New("it is not the header of a session")
		}
	}
	if err != nil {
		return &CorruptError{Path: f.path, Line: 1, Err: err}
	}
	return nil
}

// entryFollows reports whether one of the three lines from a position on is an entry, which shows that the file is a
// log whatever its header is.
func (f *File) entryFollows(at int64) bool {
	lines := fileLines{file: f.file, max: f.options.MaxLine}
	for range 3 {
		if at >= f.end {
			return false
		}
		raw, next, err := lines.next(at, f.end)
		if next == 0 {
			return false
		}
		if err == nil && isEntry(raw) {
			return true
		}
		at = next
	}
	return false
}

// checkHeader returns an error unless a line is the header of a session. The session checks what the header holds.
func checkHeader(raw []byte) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("it is not the header of a session: %w", err)
	}
	if head.Type != KindHeader {
		return fmt.Errorf("it is not the header of a session: its type is %q, not %q", head.Type, KindHeader)
	}
	return nil
}

// isEntry reports whether a line is an entry of a session.
func isEntry(raw []byte) bool {
	var head struct {
		Type string    `json:"type"`
		ID   string    `json:"id"`
		Time time.Time `json:"time"`
	}
	return json.Unmarshal(raw, &head) == nil && head.Type != "" && head.Type != KindHeader && head.ID != "" && !head.Time.IsZero()
}

// tornHeader reports whether bytes are the start of a header.
func tornHeader(raw []byte) bool {
	start := []byte(`{"type":"session",`)
	return bytes.HasPrefix(raw, start) || bytes.HasPrefix(start, raw)
}

// Mend moves a torn end out of the log now; otherwise the first Append does. Call it once everything before the torn
// end is known to be readable. It does nothing if there is no torn end.
func (f *File) Mend() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.setAside()
}

func (f *File) setAside() error {
	if f.torn == 0 || f.broken != nil {
		return f.broken
	}
	if err := f.checkPath(); err != nil {
		return err
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

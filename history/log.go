package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrLocked tells that another process, or another Session in this one, writes to the log.
var ErrLocked = errors.New("history: another writer has the log open")

// ErrReadOnly tells that a session was opened with [Read].
var ErrReadOnly = errors.New("history: the session is open for reading only")

// ErrClosed tells that a session was closed.
var ErrClosed = errors.New("history: the session is closed")

// CorruptError tells that a line in the middle of a log cannot be read. The file is left as it is.
type CorruptError struct {
	Path string
	// Line from 1.
	Line int
	Err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("history: %s: line %d: %v", e.Path, e.Line, e.Err)
}

// Unwrap gives what is wrong with the line.
func (e *CorruptError) Unwrap() error { return e.Err }

// Recovery tells of a torn last line that was found on opening, as a crash in the middle of a write leaves it.
type Recovery struct {
	// Line at which the log was torn, from 1.
	Line int
	// Bytes that were cut off.
	Bytes int
	// SavedTo is the file that the bytes were appended to; "" where nothing was changed because the session is only
	// read.
	SavedTo string
}

// log is the file behind a session. A nil log keeps nothing on disk.
type log struct {
	path   string
	file   *os.File // nil where it is only read
	lock   *flock.Flock
	size   int64 // bytes up to the end of the last whole line
	lines  int
	broken error // a write that could neither be finished nor undone
}

// readLog reads all entries of a log. What follows the last whole line is given back as torn.
func readLog(path string, r io.Reader) (entries []Entry, head Header, whole int64, torn []byte, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	ids := map[string]bool{}
	for n := 1; ; n++ {
		raw, readErr := in.ReadBytes('\n')
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return nil, Header{}, 0, nil, fmt.Errorf("history: reading %s: %w", path, readErr)
		}
		if len(raw) == 0 {
			return entries, head, whole, nil, nil
		}
		if readErr != nil { // the last line has no end
			if n == 1 && !tornHeader(raw) {
				return nil, Header{}, 0, nil, &CorruptError{Path: path, Line: 1, Err: errors.New("it is not the header of a session")}
			}
			return entries, head, whole, raw, nil
		}
		body := bytes.TrimSuffix(raw, []byte("\n"))
		if n == 1 {
			head, err = decodeHeader(body)
		} else {
			var e Entry
			if e, err = decode(body); err == nil && ids[e.ID] {
				err = fmt.Errorf("a second entry with the id %q", e.ID)
			}
			entries = append(entries, e)
			ids[e.ID] = true
		}
		if err != nil {
			if _, peekErr := in.Peek(1); n > 1 && errors.Is(peekErr, io.EOF) && !json.Valid(body) {
				return entries[:n-2], head, whole, raw, nil // garbage at the very end is a torn write too
			}
			return nil, Header{}, 0, nil, &CorruptError{Path: path, Line: n, Err: err}
		}
		whole += int64(len(raw))
	}
}

// tornHeader tells the start of a header from the start of something else.
func tornHeader(raw []byte) bool {
	start := []byte(`{"type":"session",`)
	return bytes.HasPrefix(raw, start) || bytes.HasPrefix(start, raw)
}

// openLog opens a log for writing, and makes it where there is none.
func openLog(path string) (l *log, entries []Entry, head Header, recovery *Recovery, err error) {
	path, err = realPath(path)
	if err != nil {
		return nil, nil, Header{}, nil, fmt.Errorf("history: %w", err)
	}
	l = &log{path: path, lock: flock.New(path + ".lock")}
	switch ok, err := l.lock.TryLock(); {
	case err != nil:
		return nil, nil, Header{}, nil, fmt.Errorf("history: locking %s: %w", path, err)
	case !ok:
		return nil, nil, Header{}, nil, fmt.Errorf("%w: %s", ErrLocked, path)
	}
	locked := l // a return may have set l to nil
	defer func() {
		if err != nil {
			err = errors.Join(err, locked.close())
		}
	}()
	l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, Header{}, nil, fmt.Errorf("history: %w", err)
	}
	var torn []byte
	entries, head, l.size, torn, err = readLog(path, l.file)
	if err != nil {
		return nil, nil, Header{}, nil, err
	}
	l.lines = len(entries)
	if l.size > 0 {
		l.lines++
	}
	if len(torn) > 0 {
		if recovery, err = l.setAside(torn); err != nil {
			return nil, nil, Header{}, nil, err
		}
	}
	return l, entries, head, recovery, nil
}

// realPath is the absolute path of a file without symbolic links, so that a log has one name and one lock.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // the file is made later
	return filepath.Join(dir, filepath.Base(path)), err
}

// setAside moves a torn last line out of the log.
func (l *log) setAside(torn []byte) (*Recovery, error) {
	r := &Recovery{Line: l.lines + 1, Bytes: len(torn), SavedTo: l.path + ".torn"}
	side, err := os.OpenFile(r.SavedTo, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = side.Write(append(bytes.TrimSuffix(torn, []byte("\n")), '\n'))
		err = errors.Join(err, side.Sync(), side.Close())
	}
	if err == nil {
		err = errors.Join(l.file.Truncate(l.size), l.file.Sync())
	}
	if err != nil {
		return nil, fmt.Errorf("history: setting aside a torn line of %s: %w", l.path, err)
	}
	return r, nil
}

// write appends whole lines and returns once they are on disk. What was written of them is taken back where that
// fails.
func (l *log) write(data []byte, lines int) error {
	switch {
	case l == nil:
		return nil
	case l.broken != nil:
		return l.broken
	case l.file == nil:
		return ErrReadOnly
	}
	info, err := l.file.Stat()
	if err == nil && info.Size() != l.size {
		return fmt.Errorf("history: %s has %d bytes and not %d: somebody else writes to it", l.path, info.Size(), l.size)
	}
	if err == nil {
		_, err = l.file.WriteAt(data, l.size)
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		err = fmt.Errorf("history: writing to %s: %w", l.path, err)
		if undo := l.file.Truncate(l.size); undo != nil {
			l.broken = errors.Join(err, undo)
		}
		return err
	}
	l.size += int64(len(data))
	l.lines += lines
	return nil
}

func (l *log) close() error {
	if l == nil {
		return nil
	}
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.Unlock())
	}
	l.broken = ErrClosed
	return err
}

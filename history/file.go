package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"sync"
	"time"
)

// Sync says when a [FileStore] forces what was appended to the disk, and so what outlives a loss of power. Whatever was
// acknowledged outlives the death of the process under each of them.
type Sync int

const (
	// SyncAlways forces each Append before it returns. It is the default.
	SyncAlways Sync = iota
	// SyncInterval forces what was appended at most [FileOptions.SyncEvery] later, and on Close.
	SyncInterval
	// SyncNever leaves it to the operating system.
	SyncNever
)

// FileOptions say how a [FileStore] works. The zero value is the default.
type FileOptions struct {
	// Sync says when what was appended is forced to the disk. Defaults to [SyncAlways].
	Sync Sync
	// SyncEvery is the longest time under [SyncInterval] for which what was appended is not forced. Defaults to a
	// second.
	SyncEvery time.Duration
	// MaxLine is the most bytes of a line that is read or written, and so the most memory that one takes. Defaults to
	// 64 MiB.
	MaxLine int64
	// Disk on which the file is. Defaults to that of the operating system.
	Disk Disk
}

func (o FileOptions) withDefaults() (FileOptions, error) {
	if o.SyncEvery == 0 {
		o.SyncEvery = time.Second
	}
	if o.MaxLine == 0 {
		o.MaxLine = 64 << 20
	}
	if o.Disk == nil {
		o.Disk = osDisk{}
	}
	switch {
	case o.Sync < SyncAlways || o.Sync > SyncNever:
		return o, fmt.Errorf("history: FileOptions.Sync is %d", o.Sync)
	case o.SyncEvery < 0:
		return o, fmt.Errorf("history: FileOptions.SyncEvery is %v", o.SyncEvery)
	case o.MaxLine < 0:
		return o, fmt.Errorf("history: FileOptions.MaxLine is %d", o.MaxLine)
	}
	return o, nil
}

// CorruptError tells that a line of a log cannot be read. The file is left as it is.
type CorruptError struct {
	// Path of the log, "" where it is no file.
	Path string
	// Line from 1.
	Line int
	Err  error
}

func (e *CorruptError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("history: line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("history: %s: line %d: %v", e.Path, e.Line, e.Err)
}

// Unwrap gives what is wrong with the line.
func (e *CorruptError) Unwrap() error { return e.Err }

// Recovery tells of a torn end that was found on opening, as a crash in the middle of a write leaves it.
type Recovery struct {
	// Line at which the log was torn, from 1.
	Line int
	// Bytes that were cut off.
	Bytes int64
	// SavedTo is the file that the bytes were appended to; "" where nothing was changed because the log is only read.
	SavedTo string
}

// FileStore is a [Store] in a file of one JSON object a line that is only ever appended to. One writes to it at a time,
// by a lock on a file beside it; others may read it meanwhile. In memory it keeps 8 bytes for each line.
type FileStore struct {
	path    string
	options FileOptions
	file    DiskFile
	lock    io.Closer // nil where it is only read

	writing sync.Mutex // one writes at a time; held while the disk is waited for
	unsaved bool       // something was written that was not forced
	timer   *time.Timer
	torn    int64 // bytes after the last whole line
	broken  error // why nothing can be written any more

	mu       sync.RWMutex // guards what follows, and is never held for long
	ends     []int64      // where each line ends, its line break included
	recovery *Recovery
	closed   bool
}

// OpenFile opens the file for writing, and makes it where there is none. A torn end, as a crash leaves it, is left out;
// before the first Append it is cut off at the last whole line and appended to a file of the same name with ".torn". The
// error is a [*LockedError] where another writer has it open, and a [*CorruptError] where it is no session.
func OpenFile(path string, o FileOptions) (f *FileStore, err error) {
	if f, err = newFile(path, o); err != nil {
		return nil, err
	}
	if f.lock, err = f.options.Disk.Lock(f.path + ".lock"); err != nil {
		if errors.Is(err, ErrLocked) {
			return nil, err // it says all
		}
		return nil, fmt.Errorf("history: locking %s: %w", f.path, err)
	}
	opened := f
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.Close())
		}
	}()
	if err := f.open(false); err != nil {
		return nil, err
	}
	if f.size() == 0 && f.options.Sync != SyncNever { // it may just have been made
		if err := f.options.Disk.SyncDir(filepath.Dir(f.path)); err != nil {
			return nil, fmt.Errorf("history: making %s durable: %w", f.path, err)
		}
	}
	return f, nil
}

// ReadFile opens the file for reading, as it is at the time. It takes no lock and changes nothing; a torn end is left
// out. Append fails with [ErrReadOnly].
func ReadFile(path string, o FileOptions) (*FileStore, error) {
	f, err := newFile(path, o)
	if err != nil {
		return nil, err
	}
	err = f.open(true)
	if err == nil && len(f.ends) == 0 {
		err = &CorruptError{Path: f.path, Line: 1, Err: errors.New("there is no header of a session")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.broken = ErrReadOnly
	return f, nil
}

func newFile(path string, o FileOptions) (*FileStore, error) {
	own := o.Disk == nil
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if own {
		if path, err = realPath(path); err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
	}
	return &FileStore{path: path, options: o}, nil
}

// open opens the file, finds its lines, and how much follows the last whole one.
func (f *FileStore) open(readOnly bool) (err error) {
	if f.file, err = f.options.Disk.Open(f.path, readOnly); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	size, err := f.file.Size()
	if err == nil {
		err = f.scan(size)
	}
	if err == nil {
		err = f.checkHeader(size)
	}
	if err != nil {
		if _, corrupt := errors.AsType[*CorruptError](err); corrupt {
			return err
		}
		return fmt.Errorf("history: reading %s: %w", f.path, err)
	}
	// Garbage at the very end is a torn write too, whether or not there are line breaks in it.
	for n := len(f.ends); n > 1; n-- {
		garbage := false
		for l, err := range f.Lines(n-1, n) {
			if _, long := errors.AsType[*LineTooLongError](err); err != nil && !long {
				return err
			}
			garbage = err == nil && !json.Valid(l)
		}
		if !garbage {
			break
		}
		f.ends = f.ends[:n-1]
	}
	if f.torn = size - f.size(); f.torn > 0 {
		f.recovery = &Recovery{Line: len(f.ends) + 1, Bytes: f.torn}
	}
	return nil
}

// A file of many lines that are too short to be entries is no log. Its index would be larger than itself.
const (
	shortLine  = 16
	shortLines = 1 << 20
)

// scan finds where the lines of the file end.
func (f *FileStore) scan(size int64) error {
	in := io.NewSectionReader(f.file, 0, size)
	buffer := make([]byte, 1<<18)
	short := 0
	for at := int64(0); ; {
		n, err := in.Read(buffer)
		for start := 0; ; {
			i := bytes.IndexByte(buffer[start:n], '\n')
			if i < 0 {
				break
			}
			start += i + 1
			if at+int64(start)-f.size() <= shortLine {
				short++
			}
			f.ends = append(f.ends, at+int64(start))
			if short > shortLines {
				return &CorruptError{Path: f.path, Line: len(f.ends), Err: errors.New("too many lines are too short to be entries")}
			}
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// checkHeader tells a session, or the torn beginning of one, from another file, which is left alone.
func (f *FileStore) checkHeader(size int64) error {
	var err error
	if len(f.ends) > 0 {
		for l, lineErr := range f.Lines(0, 1) {
			if err = lineErr; err == nil {
				_, err = decodeHeader(l)
			}
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

// tornHeader tells the start of a header from the start of something else.
func tornHeader(raw []byte) bool {
	start := []byte(`{"type":"session",`)
	return bytes.HasPrefix(raw, start) || bytes.HasPrefix(start, raw)
}

// mend moves a torn end out of the log, in pieces, for it may be large. It is done once it is known that what comes before
// it can be read, for else the log is left alone.
func (f *FileStore) mend() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.setAside()
}

func (f *FileStore) setAside() error {
	if f.torn == 0 || f.broken != nil {
		return f.broken
	}
	path := f.path + ".torn"
	err := f.copyTorn(path)
	if err == nil {
		err = errors.Join(f.file.Truncate(f.size()), f.file.Sync())
	}
	if err != nil {
		return fmt.Errorf("history: setting aside a torn end of %s: %w", f.path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.torn = 0
	f.recovery = &Recovery{Line: f.recovery.Line, Bytes: f.recovery.Bytes, SavedTo: path}
	return nil
}

// copyTorn appends the torn end to another file, and a line break where it has none, so that the next one begins a line.
func (f *FileStore) copyTorn(path string) error {
	side, err := f.options.Disk.Open(path, false)
	if err != nil {
		return err
	}
	end, err := side.Size()
	if err == nil {
		out := io.NewOffsetWriter(side, end)
		last := make([]byte, 1)
		_, err = io.Copy(out, io.NewSectionReader(f.file, f.size(), f.torn))
		if err == nil {
			_, err = f.file.ReadAt(last, f.size()+f.torn-1)
		}
		if err == nil && last[0] != '\n' {
			_, err = out.Write([]byte("\n"))
		}
	}
	if err == nil {
		err = errors.Join(side.Sync(), f.options.Disk.SyncDir(filepath.Dir(path)))
	}
	return errors.Join(err, side.Close())
}

// size of the whole lines in bytes.
func (f *FileStore) size() int64 {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// Path of the file, absolute.
func (f *FileStore) Path() string { return f.path }

// Recovered tells of a torn end found on opening, nil where there was none. Its SavedTo is set once it was cut off.
func (f *FileStore) Recovered() *Recovery {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.recovery
}

// Len is the number of lines.
func (f *FileStore) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.ends)
}

// readAhead is how much is read at once of many lines.
const readAhead = 1 << 18

// Lines gives lines, one after the other from the file.
func (f *FileStore) Lines(from, to int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f.mu.RLock()
		ends, closed := f.ends, f.closed
		f.mu.RUnlock()
		err := checkRange(from, to, len(ends))
		if closed {
			err = ErrClosed
		}
		if err != nil {
			yield(nil, err)
			return
		}
		start := func(n int) int64 {
			if n == 0 {
				return 0
			}
			return ends[n-1]
		}
		var buffer []byte
		for n := from; n < to; {
			first, last := start(n), n+1
			if size := ends[n] - first - 1; size > f.options.MaxLine {
				if !yield(nil, &LineTooLongError{Bytes: size, Max: f.options.MaxLine}) {
					return
				}
				n++
				continue
			}
			for last < to && ends[last]-first <= readAhead {
				last++
			}
			size := int(ends[last-1] - first)
			if cap(buffer) < size {
				buffer = make([]byte, size)
			}
			buffer = buffer[:size]
			if k, err := f.file.ReadAt(buffer, first); k < size {
				yield(nil, f.readError(err))
				return
			}
			for ; n < last; n++ {
				if !yield(buffer[start(n)-first:ends[n]-first-1], nil) {
					return
				}
			}
		}
	}
}

// readError tells why the file could not be read: another may have closed it in the meantime.
func (f *FileStore) readError(err error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return ErrClosed
	}
	return fmt.Errorf("history: reading %s: %w", f.path, err)
}

// Append adds lines and returns once they are as durable as the [Sync] says. What was written of them is taken back
// where that fails.
func (f *FileStore) Append(lines ...[]byte) error {
	if err := checkLines(lines); err != nil {
		return err
	}
	var data bytes.Buffer
	ends := make([]int64, len(lines))
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := f.setAside(); err != nil {
		return err
	}
	at := f.size()
	for i, l := range lines {
		if int64(len(l)) > f.options.MaxLine {
			return fmt.Errorf("history: writing to %s: %w", f.path, &LineTooLongError{Bytes: int64(len(l)), Max: f.options.MaxLine})
		}
		data.Write(l)
		data.WriteByte('\n')
		ends[i] = at + int64(data.Len())
	}
	switch size, err := f.file.Size(); {
	case len(lines) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("history: writing to %s: %w", f.path, err)
	case size != at:
		return fmt.Errorf("history: %s has %d bytes and not %d: somebody else writes to it", f.path, size, at)
	}
	_, err := f.file.WriteAt(data.Bytes(), at)
	if err == nil && f.options.Sync == SyncAlways {
		err = f.file.Sync()
	}
	if err != nil {
		err = fmt.Errorf("history: writing to %s: %w", f.path, err)
		if undo := f.file.Truncate(at); undo != nil {
			f.broken = errors.Join(err, undo)
		}
		return err
	}
	if f.options.Sync == SyncInterval && !f.unsaved {
		f.timer = time.AfterFunc(f.options.SyncEvery, f.save)
	}
	f.unsaved = f.options.Sync == SyncInterval
	f.mu.Lock()
	f.ends = append(f.ends, ends...)
	f.mu.Unlock()
	return nil
}

// save forces what was written. Where that fails nothing more is taken, for what was acknowledged may be lost.
func (f *FileStore) save() {
	f.writing.Lock()
	defer f.writing.Unlock()
	if !f.unsaved || f.broken != nil {
		return
	}
	f.unsaved = false
	if err := f.file.Sync(); err != nil {
		f.broken = fmt.Errorf("history: what was written to %s may not be durable: %w", f.path, err)
	}
}

// Close gives the file up; under [SyncInterval] what was written is forced first. Closing twice does nothing.
func (f *FileStore) Close() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.mu.Lock()
	closed := f.closed
	f.closed = true
	f.mu.Unlock()
	if closed {
		return nil
	}
	var err error
	if f.timer != nil {
		f.timer.Stop()
	}
	if f.unsaved {
		f.unsaved, err = false, f.file.Sync()
	}
	if f.broken != nil && !errors.Is(f.broken, ErrReadOnly) {
		err = errors.Join(err, f.broken)
	}
	if f.file != nil {
		err = errors.Join(err, f.file.Close())
	}
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	f.broken = ErrClosed
	return err
}

package storage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"
)

// Sync says when a [File] forces appended lines to the disk, and so what survives a loss of power. With each of
// them, whatever was acknowledged survives the death of the process.
type Sync int

const (
	// SyncAlways forces each Append before it returns. It is the default.
	SyncAlways Sync = iota
	// SyncInterval forces appended lines at most [FileOptions.SyncEvery] later, and on Close.
	SyncInterval
	// SyncNever leaves it to the operating system.
	SyncNever
)

// FileOptions configure a [File]. The zero value holds the defaults.
type FileOptions struct {
	// Sync says when appended lines are forced to the disk. Defaults to [SyncAlways].
	Sync Sync
	// SyncEvery is the maximum time between an append and its sync with [SyncInterval]. Defaults to one second.
	SyncEvery time.Duration
	// MaxLine is the maximum length, in bytes, of a line that is read or written. It limits the memory used for one line.
	// Defaults to 64 MiB.
	MaxLine int64
	// NoTexts writes no texts of long entries beside the log ([Texter]); those that are there are removed as their entries
	// are. Off by default, and always on with a Disk of your own.
	NoTexts bool
	// Snapshot ends a file that is only read where it ended when it was opened: [File.End] does not look for what was
	// appended since. Off by default.
	Snapshot bool
	// Disk that holds the file. Defaults to that of the operating system.
	Disk Disk
}

// DefaultMaxLine is the default of [FileOptions.MaxLine], in bytes.
const DefaultMaxLine = 64 << 20

func (o FileOptions) withDefaults() (FileOptions, error) {
	o.SyncEvery, o.MaxLine = cmp.Or(o.SyncEvery, time.Second), cmp.Or(o.MaxLine, DefaultMaxLine)
	o.Disk = cmp.Or[Disk](o.Disk, osDisk{})
	switch {
	case o.Sync < SyncAlways || o.Sync > SyncNever:
		return o, fmt.Errorf("storage: FileOptions.Sync is %d", o.Sync)
	case o.SyncEvery < 0:
		return o, fmt.Errorf("storage: FileOptions.SyncEvery is %v", o.SyncEvery)
	case o.MaxLine < 0:
		return o, fmt.Errorf("storage: FileOptions.MaxLine is %d", o.MaxLine)
	}
	return o, nil
}

// File is a [Store] in a file of one JSON object per line that is only ever appended to. It has one writer at a
// time, enforced by a lock on the file, whatever its name; others may read it at the same time. Its positions are
// offsets in bytes. It keeps no lines in memory: an id is searched for from the end of the file backwards.
type File struct {
	path     string
	options  FileOptions
	file     DiskFile
	readOnly bool
	onDisk   bool // of the operating system
	crashed  bool // the last writer did not close the log

	writing sync.Mutex // held during writes, and while waiting for the disk
	unsaved bool       // something was written but not forced
	timer   *time.Timer
	torn    int64 // number of bytes after the last complete line
	unended bool  // the last complete line lacks its line break
	broken  error // why nothing can be written any more

	mu       sync.RWMutex // guards the fields below, never held for long
	end      int64        // end of the last complete line
	recovery *Recovery
	textsErr error // see TextsErr
	closed   bool
}

// OpenFile opens the file for writing and creates it if it is missing; an empty file becomes a log. A torn end, as a
// crash leaves it, is ignored; before the first Append it is moved to a new file, of the same name with ".torn", or
// ".torn.1" and so on if that is taken ([Recovery]). While the log is open, a file of the same name with ".writer" names the
// process. The error is a [*LockedError] if another writer has the log open, and a [*CorruptError] if it is not a
// session. Files that are refused, and files beside the log that promptree did not create, are left as they are.
func OpenFile(path string, o FileOptions) (*File, error) {
	f, err := newFile(path, o)
	if err != nil {
		return nil, err
	}
	if err = f.open(); err == nil && f.end == 0 && f.options.Sync != SyncNever { // it may just have been created
		if err = f.options.Disk.SyncDir(filepath.Dir(f.path)); err != nil {
			err = fmt.Errorf("storage: making %s durable: %w", f.path, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.crashed = writeHolder(f.options.Disk, f.path)
	return f, nil
}

// ReadFile opens the file for reading. It takes no lock and changes nothing; a torn end is ignored. [File.End]
// finds what was appended since. Append fails with [ErrReadOnly].
func ReadFile(path string, o FileOptions) (*File, error) {
	f, err := newFile(path, o)
	if err != nil {
		return nil, err
	}
	f.readOnly = true
	err = f.open()
	if err == nil && f.end == 0 {
		err = &CorruptError{Path: f.path, Line: 1, Err: errors.New("there is no header of a session")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.broken = ErrReadOnly
	return f, nil
}

func newFile(path string, o FileOptions) (*File, error) {
	own := o.Disk == nil
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	o.NoTexts = o.NoTexts || !own
	if own {
		if path, err = realPath(path); err != nil {
			return nil, fmt.Errorf("storage: %w", err)
		}
	}
	f := &File{path: path, options: o, onDisk: own}
	if root, err := f.texts(); err == nil {
		_ = root.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		f.setTextsErr(err)
	}
	return f, nil
}

// ReadOnly reports whether the file was opened by [ReadFile].
func (f *File) ReadOnly() bool { return f.readOnly }

// Path returns the absolute path of the file.
func (f *File) Path() string { return f.path }

// Recovered describes the torn end that was found on opening, and is nil if there was none. Its SavedTo is set once the
// torn end was moved.
func (f *File) Recovered() *Recovery {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.recovery
}

// state returns the end of the last complete line, or an error if nothing can be read.
func (f *File) state(ctx context.Context) (int64, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case f.closed:
		return 0, ErrClosed
	}
	return f.end, nil
}

// End returns the end of the last complete line, in bytes. In a file that is only read it finds what was appended
// since.
func (f *File) End(ctx context.Context) (Position, error) {
	end, err := f.state(ctx)
	if err != nil || !f.ReadOnly() || f.options.Snapshot {
		return Position(end), err
	}
	size, err := f.file.Size()
	if err == nil && (size < end || f.checkPosition(end, size) != nil) {
		end = 0 // the writer undid the append that ended there
	}
	if err == nil {
		end, err = lastBreak(f.file, end, size)
	}
	if err != nil {
		return 0, f.readError(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end = end
	return Position(f.end), nil
}

// readError returns the cause of a failed read: the file may have been closed in the meantime.
func (f *File) readError(err error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return ErrClosed
	}
	return fmt.Errorf("storage: reading %s: %w", f.path, err)
}

// Append adds lines and returns once they are as durable as [Sync] says. If that fails, the lines that were written are
// removed. The error is [ErrMoved] if the file is no longer at its path.
func (f *File) Append(ctx context.Context, at Position, lines ...Line) ([]Position, error) {
	if err := CheckLines(lines); err != nil {
		return nil, err
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	end, err := f.state(ctx)
	if err = cmp.Or(err, f.broken); err != nil {
		return nil, err
	}
	if int64(at) != end {
		return nil, &ConflictError{At: at, End: Position(end)}
	}
	var data bytes.Buffer
	ends := make([]Position, len(lines))
	for i, l := range lines {
		if int64(len(l.Data)) > f.options.MaxLine {
			return nil, fmt.Errorf("storage: writing to %s: %w", f.path, &LineTooLongError{Bytes: int64(len(l.Data)), Max: f.options.MaxLine})
		}
		data.Write(l.Data)
		data.WriteByte('\n')
		ends[i] = at + Position(data.Len())
	}
	if len(lines) == 0 {
		return nil, nil
	}
	if err := f.setAside(); err != nil {
		return nil, err
	}
	switch size, err := f.file.Size(); {
	case err != nil:
		return nil, fmt.Errorf("storage: writing to %s: %w", f.path, err)
	case size != end:
		return nil, fmt.Errorf("storage: %s has %d bytes and not %d: somebody else writes to it", f.path, size, end)
	}
	if err := f.checkPath(); err != nil {
		return nil, err
	}
	_, err = f.file.WriteAt(data.Bytes(), end)
	if err == nil && f.options.Sync == SyncAlways {
		err = f.file.Sync()
	}
	if err != nil {
		err = fmt.Errorf("storage: writing to %s: %w", f.path, err)
	} else {
		err = f.checkPath() // otherwise acknowledged lines could not be read back
	}
	if err != nil {
		if undo := f.file.Truncate(end); undo != nil {
			f.broken = errors.Join(err, undo)
		}
		return nil, err
	}
	if f.options.Sync == SyncInterval && !f.unsaved {
		f.timer = time.AfterFunc(f.options.SyncEvery, f.save)
	}
	f.unsaved = f.options.Sync == SyncInterval
	f.mu.Lock()
	f.end += int64(data.Len())
	f.mu.Unlock()
	return ends, nil
}

// save forces what was written to the disk. If that fails nothing more is accepted, because acknowledged lines may be
// lost.
func (f *File) save() {
	f.writing.Lock()
	defer f.writing.Unlock()
	if !f.unsaved || f.broken != nil {
		return
	}
	f.unsaved = false
	if err := f.file.Sync(); err != nil {
		f.broken = fmt.Errorf("storage: what was written to %s may not be durable: %w", f.path, err)
	}
}

// Close closes the file; with [SyncInterval] what was written is forced to the disk first. Closing twice does nothing.
func (f *File) Close() error {
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
		if !f.readOnly {
			removeHolder(f.options.Disk, f.path)
		}
		if closing := f.file.Close(); !errors.Is(closing, fs.ErrClosed) { // Remove may have closed it before
			err = errors.Join(err, closing)
		}
	}
	f.broken = ErrClosed
	return err
}

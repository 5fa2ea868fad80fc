package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// maxLine is the default of [FileOptions.MaxLine].
const maxLine = 64 << 20

func (o FileOptions) withDefaults() (FileOptions, error) {
	if o.SyncEvery == 0 {
		o.SyncEvery = time.Second
	}
	if o.MaxLine == 0 {
		o.MaxLine = maxLine
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

// FileStore is a [Store] in a file of one JSON object a line that is only ever appended to. One writes to it at a time, by a
// lock on the file, under whatever name; others may read it meanwhile. Its positions are offsets in bytes. It holds nothing of the file in memory: an id that is
// asked for is looked for from the end back.
type FileStore struct {
	path     string
	options  FileOptions
	file     DiskFile
	readOnly bool

	writing sync.Mutex // one writes at a time; held while the disk is waited for
	unsaved bool       // something was written that was not forced
	timer   *time.Timer
	torn    int64 // bytes after the last whole line
	broken  error // why nothing can be written any more

	mu       sync.RWMutex // guards what follows, and is never held for long
	end      int64        // of the last whole line
	recovery *Recovery
	closed   bool
}

// OpenFile opens the file for writing, and makes it if there is none; an empty file becomes a log. A torn end, as a crash leaves
// it, is left out; before the first Append it is moved to a new file, of the same name with ".torn", or ".torn.1" and so on if
// that is taken. While it is open, a file of the same name with ".writer" names the process. The error is a [*LockedError] if
// another writer has the log open, and a [*CorruptError] if it is not a session. Files that are refused, and files beside the
// log that promptree did not make, are left as they are.
func OpenFile(path string, o FileOptions) (f *FileStore, err error) {
	if f, err = newFile(path, o); err != nil {
		return nil, err
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
	if f.end == 0 && f.options.Sync != SyncNever { // it may just have been made
		if err := f.options.Disk.SyncDir(filepath.Dir(f.path)); err != nil {
			return nil, fmt.Errorf("history: making %s durable: %w", f.path, err)
		}
	}
	writeHolder(f.options.Disk, f.path)
	return f, nil
}

// ReadFile opens the file for reading. It takes no lock and changes nothing; a torn end is left out. [FileStore.End] finds what
// was appended since. Append fails with [ErrReadOnly].
func ReadFile(path string, o FileOptions) (*FileStore, error) {
	f, err := newFile(path, o)
	if err != nil {
		return nil, err
	}
	f.readOnly = true
	err = f.open(true)
	if err == nil && f.end == 0 {
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

// ReadOnly reports whether the file was opened by [ReadFile].
func (f *FileStore) ReadOnly() bool { return f.readOnly }

// Path of the file, absolute.
func (f *FileStore) Path() string { return f.path }

// Transcript names the file, for a tool that reads files.
func (f *FileStore) Transcript() Transcript { return Transcript{Name: f.path} }

// Recovered returns what is known of a torn end that was found on opening, nil if there was none. Its SavedTo is set once it
// was cut off.
func (f *FileStore) Recovered() *Recovery {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.recovery
}

// state returns the end of the last whole line, or why nothing can be read.
func (f *FileStore) state(ctx context.Context) (int64, error) {
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

// End returns the end of the last whole line, in bytes. In a file that is only read it finds what was appended since.
func (f *FileStore) End(ctx context.Context) (Position, error) {
	end, err := f.state(ctx)
	if err != nil || !f.ReadOnly() {
		return Position(end), err
	}
	size, err := f.file.Size()
	if err == nil && (size < end || f.checkPosition(end, size) != nil) {
		end = 0 // what ended there was taken back by the writer
	}
	if err == nil {
		end, err = f.wholeLines(end, size)
	}
	if err != nil {
		return 0, f.readError(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end = end
	return Position(f.end), nil
}

// readError says why the file could not be read: another may have closed it in the meantime.
func (f *FileStore) readError(err error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return ErrClosed
	}
	return fmt.Errorf("history: reading %s: %w", f.path, err)
}

// Append adds lines and returns once they are as durable as the [Sync] says. What was written of them is taken back if that
// fails. The error is an [ErrMoved] if the file is no longer at its path.
func (f *FileStore) Append(ctx context.Context, at Position, lines ...Line) ([]Position, error) {
	if err := CheckLines(lines); err != nil {
		return nil, err
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	end, err := f.state(ctx)
	switch {
	case err != nil:
		return nil, err
	case f.broken != nil:
		return nil, f.broken
	case int64(at) != end:
		return nil, &ConflictError{At: at, End: Position(end)}
	}
	var data bytes.Buffer
	ends := make([]Position, len(lines))
	for i, l := range lines {
		if int64(len(l.Data)) > f.options.MaxLine {
			return nil, fmt.Errorf("history: writing to %s: %w", f.path, &LineTooLongError{Bytes: int64(len(l.Data)), Max: f.options.MaxLine})
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
		return nil, fmt.Errorf("history: writing to %s: %w", f.path, err)
	case size != end:
		return nil, fmt.Errorf("history: %s has %d bytes and not %d: somebody else writes to it", f.path, size, end)
	}
	if err := f.checkPath(); err != nil {
		return nil, err
	}
	_, err = f.file.WriteAt(data.Bytes(), end)
	if err == nil && f.options.Sync == SyncAlways {
		err = f.file.Sync()
	}
	if err != nil {
		err = fmt.Errorf("history: writing to %s: %w", f.path, err)
	} else {
		err = f.checkPath() // else what is acknowledged could not be read back
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

// save forces what was written. If that fails nothing more is taken, for what was acknowledged may be lost.
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
		if !f.readOnly {
			removeHolder(f.options.Disk, f.path)
		}
		if closing := f.file.Close(); !errors.Is(closing, fs.ErrClosed) { // it may be removed, and closed before
			err = errors.Join(err, closing)
		}
	}
	f.broken = ErrClosed
	return err
}

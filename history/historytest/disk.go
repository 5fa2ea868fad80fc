package historytest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/promptree-go/promptree/history/storage"
)

// Disk is a [storage.Disk] in memory that can lose power and can be made to fail. The zero value is empty. Every folder
// exists.
type Disk struct {
	// NoSync makes every sync succeed without effect, to check that a test fails without syncs.
	NoSync bool

	mu     sync.Mutex
	files  map[string]*diskFile
	names  map[string]*diskFile // the durable names
	cuts   int                  // the number of power cuts so far
	syncs  int
	failed error
	spared int // the number of writes and syncs that succeed before they fail
}

// diskFile is a file: the bytes that were written, and those that outlive a power cut.
type diskFile struct {
	written, durable []byte
	writer           *handle
}

// ErrPowerCut is returned by a file that was open when the power was cut.
var ErrPowerCut = errors.New("historytest: the power was cut")

// PowerCut drops everything that was not synced: new names, and what was written to files. For a file to which bytes
// were appended, keep returns how many of them still reach the disk; nil means none. Open files are closed, and
// so lose their locks.
func (d *Disk) PowerCut(keep func(appended int) int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cuts++
	d.files = maps.Clone(d.names)
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		f, kept := d.files[path], 0
		if more := len(f.written) - len(f.durable); keep != nil && more > 0 && bytes.HasPrefix(f.written, f.durable) {
			kept = keep(more)
			f.durable = slices.Clone(f.written[:len(f.durable)+kept])
		}
		f.written = slices.Clone(f.durable)
		f.writer = nil
	}
}

// Fail makes each write and sync fail with an error, until it is called with nil.
func (d *Disk) Fail(err error) { d.FailAfter(0, err) }

// FailAfter acts like [Disk.Fail] after n more writes and syncs have succeeded.
func (d *Disk) FailAfter(n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed, d.spared = err, n
}

// fails returns the error for a write or a sync. The caller holds mu.
func (d *Disk) fails() error {
	if d.failed != nil && d.spared > 0 {
		d.spared--
		return nil
	}
	return d.failed
}

// Syncs returns the number of times that a file was synced.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// ReadFile returns what was written to a file, nil if there is none.
func (d *Disk) ReadFile(path string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[path]; f != nil {
		return slices.Clone(f.written)
	}
	return nil
}

// Open opens a file.
func (d *Disk) Open(path string, readOnly bool) (storage.DiskFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[path]
	switch {
	case f == nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case !readOnly && f.writer != nil:
		return nil, &storage.LockedError{Path: path}
	}
	h := &handle{disk: d, path: path, file: f, cuts: d.cuts, readOnly: readOnly}
	if !readOnly {
		f.writer = h
	}
	return h, nil
}

// Create creates a file.
func (d *Disk) Create(path string) (storage.DiskFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[path] != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	h := &handle{disk: d, path: path, file: &diskFile{}, cuts: d.cuts}
	h.file.writer = h
	d.name(path, h.file)
	return h, nil
}

// name links a file under a name.
func (d *Disk) name(path string, f *diskFile) {
	if d.files == nil {
		d.files = map[string]*diskFile{}
	}
	d.files[path] = f
}

// Remove removes a name.
func (d *Disk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[path] == nil {
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrNotExist}
	}
	delete(d.files, path)
	return nil
}

// Link gives a file a second name, replacing the file that has it.
func (d *Disk) Link(old, path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[old]
	if f == nil {
		return &fs.PathError{Op: "link", Path: old, Err: fs.ErrNotExist}
	}
	d.name(path, f)
	return nil
}

// SyncDir makes the names in a folder durable.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails(); err != nil || d.NoSync {
		return err
	}
	if d.names == nil {
		d.names = map[string]*diskFile{}
	}
	maps.DeleteFunc(d.names, func(path string, _ *diskFile) bool { return filepath.Dir(path) == dir && d.files[path] == nil })
	for path, f := range d.files {
		if filepath.Dir(path) == dir {
			d.names[path] = f
		}
	}
	return nil
}

// handle is an open file.
type handle struct {
	disk             *Disk
	path             string
	file             *diskFile
	cuts             int // of the disk when the file was opened
	readOnly, closed bool
}

// use calls f while the file is open.
func (h *handle) use(write bool, f func() error) error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	switch {
	case h.closed:
		return fs.ErrClosed
	case h.cuts != h.disk.cuts:
		return ErrPowerCut
	case write && h.readOnly:
		return fs.ErrPermission
	case write:
		if err := h.disk.fails(); err != nil {
			return err
		}
	}
	return f()
}

func (h *handle) ReadAt(p []byte, at int64) (n int, err error) {
	err = h.use(false, func() error {
		if at > int64(len(h.file.written)) {
			return io.EOF
		}
		if n = copy(p, h.file.written[at:]); n < len(p) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

func (h *handle) WriteAt(p []byte, at int64) (int, error) {
	err := h.use(true, func() error {
		if end := int(at) + len(p); end > len(h.file.written) {
			h.file.written = append(h.file.written, make([]byte, end-len(h.file.written))...)
		}
		copy(h.file.written[at:], p)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (h *handle) Size() (n int64, err error) {
	err = h.use(false, func() error {
		n = int64(len(h.file.written))
		return nil
	})
	return n, err
}

func (h *handle) Truncate(size int64) error {
	return h.use(false, func() error {
		h.file.written = append(h.file.written[:min(size, int64(len(h.file.written)))], make([]byte, max(0, size-int64(len(h.file.written))))...)
		return nil
	})
}

func (h *handle) Sync() error {
	return h.use(true, func() error {
		h.disk.syncs++
		if !h.disk.NoSync {
			h.file.durable = slices.Clone(h.file.written)
		}
		return nil
	})
}

func (h *handle) Close() error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.closed = true
	if h.file.writer == h {
		h.file.writer = nil
	}
	return nil
}

func (h *handle) Check() error {
	return h.use(false, func() error {
		switch h.disk.files[h.path] {
		case h.file:
			return nil
		case nil:
			return &fs.PathError{Op: "check", Path: h.path, Err: fs.ErrNotExist}
		}
		return fmt.Errorf("another file is at %s", h.path)
	})
}

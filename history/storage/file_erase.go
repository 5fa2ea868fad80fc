package storage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// replacement is a line of the file beside a log that records what is being replaced in the log, so that the next Open
// completes a replacement that a crash interrupted. The last line marks the end.
type replacement struct {
	Type string `json:"type"` // always replacementType
	At   int64  `json:"at"`
	Size int64  `json:"size"` // of the old data
	Data []byte `json:"data,omitempty"`
	End  bool   `json:"end,omitempty"`
}

const (
	replacementType   = "promptree-replacement"
	replacementStart  = `{"type":"` + replacementType + `"`
	replacementSuffix = ".erasing"
)

// Replace overwrites the data of lines in the file, padded with spaces to the length of the old data. What lies below the
// file keeps the old data: file systems that write elsewhere than over it, as on flash and copy-on-write do, snapshots and
// backups. Removing the snapshots and discarding free blocks (fstrim, or deleting the key of an encrypted disk) removes
// that. A torn end of the log that was moved to another file stays there until Remove.
func (f *File) Replace(ctx context.Context, lines ...Stored) error {
	if len(lines) == 0 {
		return nil
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	end, err := f.state(ctx)
	if err = cmp.Or(err, f.broken); err != nil {
		return err
	}
	list := make([]replacement, 0, len(lines)+1)
	for _, l := range lines {
		size := int64(l.End-l.At) - 1
		if l.At <= 0 || int64(l.End) > end || int64(len(l.Data)) > size || bytes.IndexByte(l.Data, '\n') >= 0 {
			return fmt.Errorf("storage: %d bytes cannot replace the line from %d to %d", len(l.Data), l.At, l.End)
		}
		if err := f.checkPosition(int64(l.At), end); err != nil {
			return err
		}
		list = append(list, replacement{Type: replacementType, At: int64(l.At), Size: size, Data: l.Data})
	}
	var data bytes.Buffer
	journal := json.NewEncoder(&data)
	for _, r := range append(list, replacement{Type: replacementType, End: true}) {
		_ = journal.Encode(r) // numbers and bytes always encode
	}
	if err := f.checkPath(); err != nil {
		return err
	}
	path := f.path + replacementSuffix
	side, err := f.options.Disk.Create(path)
	if err == nil {
		_, err = side.WriteAt(data.Bytes(), 0)
		err = durable(f.options.Disk, path, side, err)
	}
	if err != nil {
		return fmt.Errorf("storage: erasing in %s: %w", f.path, err)
	}
	if err = f.replace(list); err != nil {
		f.broken = fmt.Errorf("storage: erasing in %s: %w: open the log again to finish it", f.path, err)
		return f.broken
	}
	return f.options.Disk.Remove(path)
}

// replace makes the replacements.
func (f *File) replace(list []replacement) error {
	for _, r := range list {
		data := append(bytes.Clone(r.Data), bytes.Repeat([]byte(" "), int(r.Size)-len(r.Data))...)
		if _, err := f.file.WriteAt(data, r.At); err != nil {
			return err
		}
	}
	return f.file.Sync()
}

// finishReplacing completes a [File.Replace] that a crash interrupted.
func (f *File) finishReplacing() error {
	path := f.path + replacementSuffix
	side, err := f.options.Disk.Open(path, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("completing an erasure: %w", err)
	}
	defer side.Close()
	size, err := side.Size()
	if err != nil {
		return fmt.Errorf("completing an erasure: %w", err)
	}
	var list []replacement
	whole := false
	in := json.NewDecoder(io.NewSectionReader(side, 0, size))
	for {
		var r replacement
		if err := in.Decode(&r); err != nil {
			break // nothing has been replaced yet
		}
		if r.Type != replacementType || r.At < 0 || r.Size < int64(len(r.Data)) || r.Size > f.end || r.At >= f.end-r.Size {
			return fmt.Errorf("%s is not what promptree writes there: move it away", path)
		}
		if whole = r.End; whole {
			break
		}
		list = append(list, r)
	}
	if whole {
		err = f.replace(list)
	} else if len(list) == 0 { // a crash may leave a part of the first line, or zeros
		start := make([]byte, min(size, int64(len(replacementStart))))
		_, err = io.ReadFull(io.NewSectionReader(side, 0, size), start)
		if err == nil && !strings.HasPrefix(replacementStart, strings.TrimRight(string(start), "\x00")) {
			return fmt.Errorf("%s is not what promptree writes there: move it away", path)
		}
	}
	if err = errors.Join(err, side.Close()); err != nil { // Windows does not remove open files
		return fmt.Errorf("completing an erasure: %w", err)
	}
	return f.options.Disk.Remove(path)
}

// Remove removes the file, the files beside it that hold torn ends and texts, and closes the store.
func (f *File) Remove(ctx context.Context) error {
	f.writing.Lock()
	_, err := f.state(ctx)
	if err = cmp.Or(err, f.broken); err == nil {
		err = f.checkPath()
	}
	closed := false
	if err == nil {
		if err = f.options.Disk.Remove(f.path); err != nil { // Windows does not remove open files
			closed = true
			f.unsaved = false
			err = errors.Join(f.file.Close(), f.options.Disk.Remove(f.path))
		}
	}
	if err == nil {
		err = errors.Join(f.removeTorn(), f.removeAllTexts())
	}
	if err == nil {
		err = f.options.Disk.SyncDir(filepath.Dir(f.path))
	}
	f.writing.Unlock()
	if err != nil && !closed {
		return err
	}
	return errors.Join(err, f.Close())
}

// removeTorn removes the files to which torn ends were moved. Others of such names stay.
func (f *File) removeTorn() error {
	path := f.path + ".torn"
	for n := 1; ; n++ {
		side, err := f.options.Disk.Open(path, true)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			head := make([]byte, len(tornHead))
			_, unread := side.ReadAt(head, 0)
			if err = side.Close(); err == nil && unread == nil && string(head) == tornHead {
				err = f.options.Disk.Remove(path)
			}
		}
		if err != nil && !errors.Is(err, ErrForeign) {
			return err
		}
		path = fmt.Sprintf("%s.torn.%d", f.path, n)
	}
}

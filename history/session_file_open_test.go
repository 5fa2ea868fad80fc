package history_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
)

// windowsDisk is a disk that refuses to remove an open file, as Windows does.
type windowsDisk struct {
	historytest.Disk
	mu   sync.Mutex
	open map[string]int
}

type windowsFile struct {
	storage.DiskFile
	close func() error
}

func (f windowsFile) Close() error { return f.close() }

func (d *windowsDisk) opened(path string, f storage.DiskFile, err error) (storage.DiskFile, error) {
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[string]int{}
	}
	d.open[path]++
	closed := false
	return windowsFile{f, func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if closed {
			return fs.ErrClosed
		}
		closed = true
		d.open[path]--
		return f.Close()
	}}, nil
}

func (d *windowsDisk) Open(path string, readOnly bool) (storage.DiskFile, error) {
	f, err := d.Disk.Open(path, readOnly)
	return d.opened(path, f, err)
}

func (d *windowsDisk) Create(path string) (storage.DiskFile, error) {
	f, err := d.Disk.Create(path)
	return d.opened(path, f, err)
}

func (d *windowsDisk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[path] > 0 {
		return &fs.PathError{Op: "remove", Path: path, Err: errors.New("the file is used by a process")}
	}
	return d.Disk.Remove(path)
}

func TestFilesAreClosedBeforeTheyAreRemoved(t *testing.T) {
	disk := &windowsDisk{}
	open := func() *history.Session {
		return openedWith(t, onDisk, history.Options{File: storage.FileOptions{Disk: disk}})
	}
	s := open()
	require.NoError(t, s.Append(t.Context(), chat.UserMessage(secret+" one"), chat.AssistantMessage("two")))
	erase(t, s, all(t, s)[0].ID)
	for _, left := range []string{`{"type":"promptree-replacement","at":0,"size":0,"end":true}` + "\n", `{"type":"promptree-repl`, "\x00\x00", ""} {
		require.NoError(t, s.Close())
		side, err := disk.Create(onDisk + ".erasing") // a process was killed just before it removed this, or while it wrote it
		require.NoError(t, err)
		_, err = side.WriteAt([]byte(left), 0)
		require.NoError(t, err)
		require.NoError(t, side.Close())
		s = open()
		require.Len(t, all(t, s), 3)
	}
	require.NoError(t, s.Remove(t.Context()))
	require.NoError(t, s.Close())
	_, err := disk.Open(onDisk, true)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestAnUnfinishedErasureOutsideTheLogIsRefused(t *testing.T) {
	for _, c := range []struct{ at, size int64 }{{math.MaxInt64, 10}, {10, math.MaxInt64}, {math.MaxInt64 - 5, 10}, {-1, 1}, {1, -1}, {0, 1 << 40}} {
		disk := &historytest.Disk{}
		s := openedOn(t, disk, storage.SyncAlways)
		require.NoError(t, s.Append(t.Context(), user))
		require.NoError(t, s.Close())
		side, err := disk.Create(onDisk + ".erasing")
		require.NoError(t, err)
		_, err = fmt.Fprintf(offset{side}, `{"type":"promptree-replacement","at":%d,"size":%d}`+"\n"+`{"type":"promptree-replacement","end":true}`+"\n", c.at, c.size)
		require.NoError(t, err)
		require.NoError(t, side.Close())
		before := string(disk.ReadFile(onDisk))
		_, err = openOn(disk, storage.SyncAlways)
		require.ErrorContains(t, err, "not what promptree writes", "%+v", c)
		require.Equal(t, before, string(disk.ReadFile(onDisk)))
	}
}

// offset is an [io.Writer] that writes at the start of a file.
type offset struct{ storage.DiskFile }

func (o offset) Write(data []byte) (int, error) { return o.WriteAt(data, 0) }

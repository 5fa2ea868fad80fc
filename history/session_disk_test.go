package history_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// requireRefused checks that a path can be opened neither for writing nor for reading, and that its folder is
// unchanged.
func requireRefused(t *testing.T, path, says string) {
	t.Helper()
	before := sure.Tree(t, filepath.Dir(path))
	for how, open := range map[string]func(string, history.Options) (*history.Session, error){"Open": history.Open, "Read": history.Read} {
		s, err := open(path, history.Options{})
		require.Nil(t, s, how)
		require.ErrorContains(t, err, says, how)
		require.ErrorContains(t, err, path, how)
		equal(t, before, sure.Tree(t, filepath.Dir(path)))
	}
}

// Files with the names that promptree uses beside a log are neither written to nor removed unless promptree created
// them.
func TestFilesOfOtherProgramsBesideALogAreNotChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rule, log string }{
		{"a new log", ""},
		{"a log", header + "\n" + hello + "\n"},
		{"a log with a torn end", header + "\n" + hello + "\ntorn"},
		{"a file that is not a log", "[package]\n"},
	} {
		for _, side := range []string{"", "\n", "somebody else's", `{"pid":1,"host":"h"}` + "\n", `{"type":"promptree-writer","pid":1,"host":"h"}`} {
			t.Run(tt.rule+" beside "+side, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path := filepath.Join(dir, "Cargo")
				want := map[string]string{}
				for _, suffix := range []string{".lock", ".writer", ".torn"} {
					require.NoError(t, os.WriteFile(path+suffix, []byte(side), 0o600))
					want[path+suffix] = side
				}
				if tt.log != "" {
					require.NoError(t, os.WriteFile(path, []byte(tt.log), 0o600))
				}
				requireUnchanged := func() {
					t.Helper()
					got := sure.Tree(t, dir)
					delete(got, path)
					delete(got, path+".torn.1")
					equal(t, want, got)
				}
				s, err := history.Open(path, history.Options{})
				requireUnchanged()
				if err != nil {
					requireCorrupt(t, err, path, 1)
					return
				}
				_, err = history.Open(path, history.Options{})
				require.ErrorIs(t, err, storage.ErrLocked)
				require.NotContains(t, err.Error(), "process 1", "a file that promptree did not write names no writer")
				require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")))
				if r := s.Recovered(); r != nil {
					require.Equal(t, path+".torn.1", r.SavedTo)
					require.Equal(t, tornHead+"torn", content(t, r.SavedTo))
				}
				require.NoError(t, s.Close())
				requireUnchanged()
				s = openedWith(t, path, history.Options{})
				require.NoError(t, s.Remove(t.Context()))
				equal(t, want, sure.Tree(t, dir))
			})
		}
	}
}

func TestSymbolicLinksBesideALogAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"victim", "nothing"} {
		t.Run("to "+target, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "victim"), []byte("precious"), 0o600))
			path := filepath.Join(dir, "session.jsonl")
			for _, suffix := range []string{".lock", ".writer", ".torn"} {
				if err := os.Symlink(filepath.Join(dir, target), path+suffix); err != nil {
					t.Skip(err) // on Windows, links need a privilege
				}
			}
			before := sure.Tree(t, dir)
			require.NoError(t, os.WriteFile(path, []byte(header+"\n"+hello+"\ntorn"), 0o600))
			s := openedWith(t, path, history.Options{})
			require.Equal(t, path+".torn.1", s.Recovered().SavedTo)
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")))
			require.NoError(t, s.Close())
			after := sure.Tree(t, dir)
			delete(after, path)
			delete(after, path+".torn.1")
			equal(t, before, after)
			s = openedWith(t, path, history.Options{})
			require.NoError(t, s.Remove(t.Context()))
			equal(t, before, sure.Tree(t, dir))
		})
	}
}

func TestAFileThatIsNotALogIsRefusedAndNotChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(path, []byte("Dear diary,\n"), 0o600))
	requireRefused(t, path, "not the header of a session")

	path = filepath.Join(dir, "folder")
	require.NoError(t, os.Mkdir(path, 0o700))
	requireRefused(t, path, "is a directory")

	path = filepath.Join(dir, "socket")
	socket, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer socket.Close()
	requireRefused(t, path, "")

	path = filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "nothing"), path); err != nil {
		t.Skip(err)
	}
	requireRefused(t, path, "symbolic link to nothing")
}

func TestALogWithTwoNamesHasOneWriter(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(old, path string) error{"a hard link": os.Link, "a symbolic link": os.Symlink} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := tempFile(t)
			other := filepath.Join(filepath.Dir(path), "other.jsonl")
			s := openedWith(t, path, history.Options{})
			if err := link(path, other); err != nil {
				require.NoError(t, s.Close())
				t.Skip(err)
			}
			_, err := history.Open(other, history.Options{})
			require.ErrorIs(t, err, storage.ErrLocked)
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")), "a second name is not an error")
			reader := readOnly(t, other)
			require.Equal(t, 1, count(t, reader))
			require.NoError(t, reader.Close())
			_, err = history.Open(path, history.Options{})
			require.ErrorIs(t, err, storage.ErrLocked, "closing a reader does not release the writer's lock")
			require.NoError(t, s.Close())

			s = opened(t, other)
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("two")))
			_, err = history.Open(path, history.Options{})
			require.ErrorIs(t, err, storage.ErrLocked)
		})
	}
}

// The tests of power cuts use this disk.
func TestTheDiskInMemoryBehavesLikeThatOfTheOperatingSystem(t *testing.T) {
	t.Parallel()
	const moved = "/sessions/moved.jsonl"
	disk := &historytest.Disk{}
	s := openedOn(t, disk, storage.SyncAlways)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
	_, err := openOn(disk, storage.SyncAlways)
	held := errorAs[*storage.LockedError](t, err)
	require.Equal(t, onDisk, held.Path)
	require.Equal(t, os.Getpid(), held.Holder.PID)

	require.NoError(t, disk.Link(onDisk, moved))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("two")))
	_, err = disk.Open(moved, false)
	require.ErrorIs(t, err, storage.ErrLocked)
	_, err = disk.Create(moved)
	require.ErrorIs(t, err, fs.ErrExist)

	require.NoError(t, disk.Remove(onDisk))
	before, syncs := string(disk.ReadFile(moved)), disk.Syncs()
	require.ErrorIs(t, s.Append(t.Context(), chat.UserMessage("three")), storage.ErrMoved)
	other, err := disk.Create(onDisk)
	require.NoError(t, err)
	require.NoError(t, other.Close())
	require.ErrorIs(t, s.Append(t.Context(), chat.UserMessage("three")), storage.ErrMoved)
	require.Equal(t, before, string(disk.ReadFile(moved)))
	require.Equal(t, syncs, disk.Syncs(), "nothing was written")
	require.NoError(t, disk.Link(moved, onDisk))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("three")))

	require.NoError(t, disk.Remove(moved))
	require.NoError(t, disk.SyncDir(filepath.Dir(moved)))
	disk.PowerCut(nil)
	_, err = disk.Open(moved, true)
	require.ErrorIs(t, err, fs.ErrNotExist)
	s = openedOn(t, disk, storage.SyncAlways)
	require.Equal(t, 3, count(t, s))
	require.NoError(t, s.Close())
}

// racingDisk is a disk on which another writer creates each file just before.
type racingDisk struct{ *historytest.Disk }

func (d racingDisk) Create(path string) (storage.DiskFile, error) {
	if _, err := d.Disk.Create(path); err != nil {
		return nil, err
	}
	return d.Disk.Create(path)
}

func TestALogThatAnotherWriterCreatesMeanwhileIsLocked(t *testing.T) {
	t.Parallel()
	disk := racingDisk{&historytest.Disk{}}
	_, err := history.Open(onDisk, history.Options{File: storage.FileOptions{Disk: disk}})
	require.ErrorIs(t, err, storage.ErrLocked)
}

// movingDisk is a disk on which, if move is set, each write is followed by a rename of the log.
type movingDisk struct {
	*historytest.Disk
	move *bool
}

type movingFile struct {
	storage.DiskFile
	disk movingDisk
}

func (d movingDisk) Open(path string, readOnly bool) (storage.DiskFile, error) {
	f, err := d.Disk.Open(path, readOnly)
	return movingFile{f, d}, err
}

func (f movingFile) WriteAt(data []byte, at int64) (int, error) {
	n, err := f.DiskFile.WriteAt(data, at)
	if *f.disk.move {
		err = errors.Join(err, f.disk.Link(onDisk, onDisk+".old"), f.disk.Remove(onDisk))
	}
	return n, err
}

func TestAnAppendToALogThatIsMovedMeanwhileIsUndone(t *testing.T) {
	t.Parallel()
	disk := movingDisk{&historytest.Disk{}, new(bool)}
	s := openedOn(t, disk.Disk, storage.SyncAlways)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
	require.NoError(t, s.Close())
	before := string(disk.ReadFile(onDisk))

	s = openedWith(t, onDisk, history.Options{File: storage.FileOptions{Disk: disk}})
	*disk.move = true
	require.ErrorIs(t, s.Append(t.Context(), chat.UserMessage("two")), storage.ErrMoved)
	require.Equal(t, 1, count(t, s))
	require.Equal(t, before, string(disk.ReadFile(onDisk+".old")))
	require.NoError(t, s.Close())
}

func TestAFailedAttemptToSaveATornEndLeavesNoFile(t *testing.T) {
	t.Parallel()
	disk, full := &historytest.Disk{}, errors.New("full")
	f, err := disk.Create(onDisk)
	require.NoError(t, err)
	torn := header + "\n" + hello + "\n" + strings.Repeat("torn", 10)
	_, err = f.WriteAt([]byte(torn), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	disk.Fail(full)
	_, err = openOn(disk, storage.SyncNever)
	require.ErrorIs(t, err, full)
	_, err = disk.Open(onDisk+".torn", true)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, torn, string(disk.ReadFile(onDisk)))
	disk.Fail(nil)
	s := openedOn(t, disk, storage.SyncNever)
	require.Equal(t, onDisk+".torn", s.Recovered().SavedTo)
	require.NoError(t, s.Close())
}

func TestAPictureIsMadeSmallerOnceAndStandsBesideItsOriginal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	called := 0
	open := func() *history.Session {
		s, err := history.Open(path, history.Options{Shrink: func(p chat.Image) string {
			called++
			switch {
			case strings.HasSuffix(p.URL, "QUFB"):
				return "data:image/png;base64,QQ==" + strings.Repeat(" ", called-1) // not the same the next time
			case strings.HasSuffix(p.URL, "WFhY"):
				panic("no picture")
			}
			return ""
		}, Redact: func(p entry.Passage) string { return strings.ReplaceAll(p.Text, "secret", "[secret]") }})
		require.NoError(t, err)
		return s
	}
	large, small := "data:image/png;base64,QUFBQUFBQUFBQUFB", chat.NewImage("image/png", []byte("A"))
	show := func(s *history.Session) chat.Parts {
		return sessiontest.View(t, s).Messages()[0].Content
	}
	s := open()
	first := chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("See."), chat.Image{URL: large, Detail: chat.DetailHigh}, small}}
	require.NoError(t, s.Append(t.Context(), first, chat.AssistantMessage("A."), chat.UserMessage("And?")))
	want := chat.Parts{chat.Text("See."), chat.Image{URL: small.URL, Original: large, Detail: chat.DetailHigh}, small}
	require.Equal(t, want, show(s))
	require.Equal(t, chat.Image{URL: large, Detail: chat.DetailHigh}, first.Content[1], "the caller's message does not change")
	require.NoError(t, s.Close())
	s = open()
	require.Equal(t, want, show(s), "in another process too")
	root := s.Leaf()
	for e, err := range s.PathTo(t.Context(), s.Leaf()) {
		require.NoError(t, err)
		root = e.ID
		break
	}
	require.NoError(t, s.Branch(t.Context(), root))
	require.NoError(t, s.Append(t.Context(), chat.AssistantMessage("B.")))
	require.Equal(t, want, show(s), "and on a branch")
	require.Equal(t, 2, called)

	err := s.Append(t.Context(), chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "data:image/png;base64,WFhY"}}})
	require.Equal(t, "Options.Shrink", errtest.As[*chat.CallbackError](t, err).Name)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("More."), chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "https://host/secret/of/pictures/QUFB"}}}))
	added := sessiontest.Entry(t, s, s.Leaf())
	require.Equal(t, "https://host/[secret]/of/pictures/QUFB", added.Message().Content[0].(chat.Image).Original, "the original is redacted too")
}

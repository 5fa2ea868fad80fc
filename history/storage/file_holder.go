package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/promptree-go/promptree/internal/plainjson"
)

// ErrLocked is returned if another process, or another Session in this one, writes to the log. It is wrapped in a
// [*LockedError].
var ErrLocked = errors.New("storage: another writer has the log open")

// LockedError is returned for opening a log that has another writer.
type LockedError struct {
	// Path of the log.
	Path string
	// Holder is the writer, and the zero value if it is not known, as for a log that was opened under another name.
	Holder Holder
}

// Holder is a process that writes to a log.
type Holder struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

func (e *LockedError) Error() string {
	if e.Holder == (Holder{}) {
		return fmt.Sprintf("%v: %s is locked", ErrLocked, e.Path)
	}
	what := fmt.Sprintf("%v: %s is locked by process %d on %s", ErrLocked, e.Path, e.Holder.PID, e.Holder.Host)
	if e.Holder == thisProcess() {
		what += ", which is this one: close the session that has it open"
	}
	return what
}

// Unwrap returns [ErrLocked].
func (e *LockedError) Unwrap() error { return ErrLocked }

// holderSuffix ends the name of the file beside a log that names its writer, for the [LockedError] of others. The file
// is not the lock, so errors of reading or writing it are ignored. A file of that name is left alone unless it is byte
// for byte as promptree writes it.
const holderSuffix = ".writer"

// maxHolder is the maximum number of bytes that are read from that file.
const maxHolder = 1 << 10

// thisProcess returns this process as a holder.
func thisProcess() Holder {
	host, _ := os.Hostname()
	return Holder{PID: os.Getpid(), Host: host}
}

// line returns the content of the file that names the holder.
func (h Holder) line() []byte {
	line, _ := plainjson.Marshal(struct {
		Type string `json:"type"`
		Holder
	}{"promptree-writer", h})
	return append(line, '\n')
}

// readHolder returns the writer that the file beside a log names. ok reports whether the file exists and is valid.
func readHolder(d Disk, log string) (h Holder, ok bool) {
	f, err := d.Open(log+holderSuffix, true)
	if err != nil {
		return Holder{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
	if err != nil || json.Unmarshal(data, &h) != nil || !bytes.Equal(data, h.line()) {
		return Holder{}, false
	}
	return h, true
}

// writeHolder names this process as the writer of a log that it has locked. It overwrites the name of a process that
// died, and reports whether there was one.
func writeHolder(d Disk, log string) (dead bool) {
	path := log + holderSuffix
	if _, dead = readHolder(d, log); dead {
		_ = d.Remove(path)
	}
	f, err := d.Create(path)
	if err != nil {
		return dead
	}
	_, err = f.WriteAt(thisProcess().line(), 0)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = d.Remove(path)
	}
	return dead
}

// removeHolder removes the file that names this process.
func removeHolder(d Disk, log string) {
	if h, ok := readHolder(d, log); ok && h == thisProcess() {
		_ = d.Remove(log + holderSuffix)
	}
}

package log

import (
	"cmp"
	"context"
	"time"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// Options are those of package history, which guards the functions.
type Options struct {
	Header  entry.Header
	MaxLine int64 // 0 for the default
	Redact  func(entry.Passage) string
	Salvage bool
	IDs     func(context.Context) (string, error)
	Now     func(context.Context) (time.Time, error)
	Cache   *Cache // nil for the one that all logs of the process share
}

// writable returns a line that was encoded, or an error if it is nested too deep or too long to be written.
func (o Options) writable(line []byte, err error) ([]byte, error) {
	if err == nil {
		err = entry.CheckDepth(line)
	}
	limit := cmp.Or(o.MaxLine, storage.DefaultMaxLine)
	if size := int64(len(line)); err == nil && size > limit {
		err = &storage.LineTooLongError{Bytes: size, Max: limit}
	}
	return line, err
}

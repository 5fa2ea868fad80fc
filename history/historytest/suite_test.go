package historytest_test

import (
	"path/filepath"
	"testing"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/historytest"
)

func TestAMemoryStorePassesTheSuite(t *testing.T) {
	t.Parallel()
	historytest.Run(t, historytest.Suite{
		New: func(*testing.T) func() (history.Store, error) {
			return func() (history.Store, error) { return &history.MemoryStore{}, nil }
		},
		Volatile: true,
	})
}

func TestAFileStorePassesTheSuite(t *testing.T) {
	t.Parallel()
	for name, sync := range map[string]history.Sync{"always": history.SyncAlways, "interval": history.SyncInterval, "never": history.SyncNever} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			historytest.Run(t, historytest.Suite{New: func(t *testing.T) func() (history.Store, error) {
				path := filepath.Join(t.TempDir(), "session.jsonl")
				return func() (history.Store, error) {
					f, err := history.OpenFile(path, history.FileOptions{Sync: sync})
					if err != nil {
						return nil, err
					}
					return f, nil
				}
			}})
		})
	}
}

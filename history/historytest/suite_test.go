package historytest_test

import (
	"path/filepath"
	"testing"

	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
)

func TestAMemoryStorePassesTheSuite(t *testing.T) {
	t.Parallel()
	historytest.Run(t, historytest.Suite{
		New: func(*testing.T) func() (storage.Store, error) {
			return func() (storage.Store, error) { return &storage.Memory{}, nil }
		},
		Volatile: true,
	})
}

func TestAFileStorePassesTheSuite(t *testing.T) {
	t.Parallel()
	for name, sync := range map[string]storage.Sync{"always": storage.SyncAlways, "interval": storage.SyncInterval, "never": storage.SyncNever} {
		t.Run("sync "+name, func(t *testing.T) {
			t.Parallel()
			historytest.Run(t, historytest.Suite{New: func(t *testing.T) func() (storage.Store, error) {
				path := filepath.Join(t.TempDir(), "session.jsonl")
				return func() (storage.Store, error) {
					f, err := storage.OpenFile(path, storage.FileOptions{Sync: sync})
					if err != nil {
						return nil, err
					}
					return f, nil
				}
			}})
		})
	}
}

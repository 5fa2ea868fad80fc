package folderagent

import (
	"os"
	"path/filepath"

	"github.com/promptree-go/promptree/history"
)

// OpenSession opens a session's file, by default a new one in a temporary folder. Recall says that the agent has the
// tools of package recall. If the file cannot be opened, the error is a [UsageError].
func OpenSession(path string, recall bool) (*history.Session, error) {
	if path == "" {
		dir, err := os.MkdirTemp("", "promptree-")
		if err != nil {
			return nil, err
		}
		path = filepath.Join(dir, "session.jsonl")
	}
	session, err := history.Open(path, history.Options{Recall: recall})
	if err != nil {
		return nil, UsageError{Err: err}
	}
	return session, nil
}

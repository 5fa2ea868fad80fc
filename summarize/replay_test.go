package summarize_test

import (
	"testing"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// Sessions of a long day's work: a synthetic one, and a real one if it is beside the repository, in shared/.
const (
	generated = "../history/importer/testdata/generated.jsonl"
)

// spoken is a recorded message.
type spoken struct {
	Line    int
	Message chat.Message
}

func recording(t testing.TB, path string) []spoken {
	t.Helper()
	r := sessiontest.Read(t, path)
	var all []spoken
	for e, m := range r.Conversation() {
		all = append(all, spoken{e.Line, m})
	}
	return all
}

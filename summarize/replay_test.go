package summarize_test

import (
	"regexp"
	"strconv"
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

var saidMark = regexp.MustCompile(`\[said (\d+)\]`)

// marks returns the numbers that messages show.
func marks(messages []chat.Message) map[int]bool {
	found := map[int]bool{}
	for _, m := range messages {
		for _, hit := range saidMark.FindAllStringSubmatch(m.Text(), -1) {
			n, _ := strconv.Atoi(hit[1])
			found[n] = true
		}
	}
	return found
}

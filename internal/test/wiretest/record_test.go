package wiretest_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/replaytest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/wiretest"
)

var record = flag.Bool("record", false, "record the requests of all sessions in the folder of -requests")

// The requests are those of the replays of both sessions, of 200 random ones, and of each fixture of the importer as it was
// recorded.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("set -record and -requests")
	}
	root := filepath.Join("..", "..", "..")
	store := wiretest.NewStore(t, flag.Lookup("requests").Value.String())
	var mu sync.Mutex
	n := 0
	add := func(t *testing.T, name string, req chat.Request) {
		mu.Lock()
		defer mu.Unlock()
		n++
		store.Add(t, fmt.Sprintf("%s %d", strings.ReplaceAll(name, "\n", " "), n), req)
	}
	fixtures, err := filepath.Glob(filepath.Join(root, "history/importer/testdata/formats/*.json*"))
	require.NoError(t, err)
	for _, path := range fixtures {
		var said []chat.Message
		for _, m := range sessiontest.Read(t, path).Conversation() {
			if m.Role == chat.RoleAssistant && len(said) > 0 {
				add(t, filepath.Base(path), chat.Request{Messages: said})
			}
			said = append(said, m)
		}
		add(t, filepath.Base(path), chat.Request{Messages: append(said, chat.UserMessage("Go on."))})
	}
	for seed := range uint64(200) {
		replaytest.Random(t, seed, nil, func(t *testing.T, r replaytest.Request) { add(t, fmt.Sprint("seed ", seed), r.Request) })
	}
	t.Run("replay", func(t *testing.T) {
		replaytest.Replay{Root: root, Recorded: true, Check: func(t *testing.T, r replaytest.Request) {
			if r.Close || r.Line%20 == 0 {
				add(t, t.Name(), r.Request)
			}
		}}.Run(t)
	})
	t.Logf("%d requests", n)
}

func TestRandomRequestsAreTheSameEachTime(t *testing.T) {
	for seed := range uint64(20) {
		require.Equal(t, wiretest.Random(seed), wiretest.Random(seed))
	}
}

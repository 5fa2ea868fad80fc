package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/summarize/copilotchat"
)

// written writes a file of lines and returns its path.
func written(t testing.TB, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := ""
	for _, l := range lines {
		text += l + "\n"
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func opened(t testing.TB, path string) source {
	t.Helper()
	s, err := open(1, path)
	require.NoError(t, err)
	return s
}

func replayerOf(t testing.TB, budget int) *replayer {
	return &replayer{tokenizer: counter(t), wholeWindow: budget, window: budget, budget: budget}
}

// Tokens of messages.
const (
	instructions = 10 // 3, the role, and 6 of text
	word         = 5  // a message of one word
	standIn      = 13 // "<summary>", "so far", "</summary>" on lines of their own
)

var talk = []string{
	`{"type":"session","version":3,"id":"s"}`,
	`{"type":"message","id":"2","parentId":null,"message":{"role":"user","content":"one"}}`,
	`{"type":"message","id":"3","parentId":"2","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}`,
	`{"type":"message","id":"4","parentId":"3","message":{"role":"user","content":"three"}}`,
	`{"type":"message","id":"5","parentId":"4","message":{"role":"assistant","content":[{"type":"text","text":"four"}]}}`,
	`{"type":"message","id":"6","parentId":"5","message":{"role":"user","content":"five"}}`,
	`{"type":"message","id":"7","parentId":"6","message":{"role":"assistant","content":[{"type":"text","text":"six"}]}}`,
}

func TestASessionThatFitsIsMeasured(t *testing.T) {
	run, err := replayerOf(t, 1000).replay(t.Context(), opened(t, written(t, "s.jsonl", talk...)), copilotchat.Policy())
	require.NoError(t, err)
	want := &Run{
		Format: "pi", Policy: "copilot-chat", Model: modelOffline, Window: 1000, Budget: 1000, Requests: 3, RequestsIn: 3,
		Sent:        3*instructions + (1+3+5)*word,
		Cached:      2*instructions + (1+3)*word, // each request after the first begins with the one before
		Peak:        instructions + 5*word,
		Compactions: []Compaction{}, Events: map[string]int{},
	}
	require.Empty(t, cmp.Diff(want, run, cmpopts.IgnoreFields(Run{}, "Session")))
}

func TestARecordedCompactionIsMeasured(t *testing.T) {
	lines := append(talk[:5:5],
		`{"type":"compaction","id":"6","parentId":"5","summary":"so far","firstKeptEntryId":"4","tokensBefore":900}`,
		`{"type":"message","id":"7","parentId":"6","message":{"role":"user","content":"five"}}`,
		`{"type":"message","id":"8","parentId":"7","message":{"role":"assistant","content":[{"type":"text","text":"six"}]}}`,
	)
	s := opened(t, written(t, "s.jsonl", lines...))
	require.True(t, s.compacted())
	run, err := replayerOf(t, 20).replayRecorded(t.Context(), s) // the window does not limit it
	require.NoError(t, err)
	last := instructions + standIn + 3*word // three, four, five
	want := &Run{
		Format: "pi", Policy: recorded, Window: 20, Budget: 20, Requests: 3, RequestsIn: 3,
		Sent:   2*instructions + (1+3)*word + last,
		Cached: 2*instructions + word, // after the compaction only the instructions
		Peak:   last,
		Compactions: []Compaction{{
			Request: 3, Line: 8, TokensBefore: 900, TokensAfter: last, StandIn: standIn, Covered: 2, Kept: 2, KeptTokens: 2 * word,
		}},
	}
	require.Empty(t, cmp.Diff(want, run, cmpopts.IgnoreFields(Run{}, "Session")))
}

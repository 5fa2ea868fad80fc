package summarize_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/sizing/openai"
	"github.com/promptree-go/promptree/summarize"
)

// Sessions of the size of a long day's work: one made up, and a real one that lies beside the repository, in shared/,
// where there is one.
const (
	generated = "../history/importer/testdata/generated.jsonl"
	recorded  = "../../shared/sessions/pi-before-compaction.jsonl"
)

// spoken is a recorded message.
type spoken struct {
	Line    int
	Message chat.Message
}

func recording(t testing.TB, path string) []spoken {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs the recorded session %s, which is not part of the project", path)
	}
	require.NoError(t, err)
	defer f.Close()
	r, err := importer.Read(f)
	require.NoError(t, err)
	var all []spoken
	for e, m := range r.Conversation() {
		all = append(all, spoken{e.Line, m})
	}
	return all
}

func TestReplay(t *testing.T) {
	all := []int{8_000, 32_000, 64_000, 128_000, 200_000}
	counter, err := openai.New("o200k_base")
	require.NoError(t, err)
	for _, c := range []struct {
		name, path string
		windows    []int
		few        []int // where time is short
	}{
		{"generated", generated, all, all[1:2]},
		{"recorded", recorded, all, all[2:3]},
	} {
		t.Run(c.name, func(t *testing.T) {
			if race && c.path == recorded {
				t.Skip("takes too long with the race detector")
			}
			entries := recording(t, c.path)
			if testing.Short() || race {
				c.windows = c.few
			}
			for _, window := range c.windows {
				t.Run(fmt.Sprint(window), func(t *testing.T) {
					t.Parallel()
					replay(t, entries, counter, window)
				})
			}
		})
	}
}

// replay renders the prompt before each assistant message, as it would have been sent, and checks what is promised.
func replay(t *testing.T, entries []spoken, counter *openai.Counter, window int) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	d := deskOf(t, opened(t, path))
	d.Tokenizer, d.Budget, d.Model = counter, window, summarize.Offline{Tokenizer: counter}
	root := prompt(d.Session)
	var unsaid []chat.Message // that are appended at once, before the next render
	var summary string
	renders, largest := 0, 0
	var asked chat.Message // by the user, last
	for _, e := range entries {
		if e.Message.Role == chat.RoleAssistant {
			d.say(unsaid...)
			unsaid = unsaid[:0]
			done := len(*d.events)
			r, err := d.Render(t.Context(), root)
			require.NoError(t, err, "line %d", e.Line)
			require.LessOrEqual(t, r.Tokens, window, "line %d", e.Line)
			require.NoError(t, chat.Validate(r.Messages), "line %d", e.Line)
			require.Equal(t, chat.SystemMessage("You are a coding agent."), r.Messages[0])
			if asked.Role != "" {
				require.True(t, slices.ContainsFunc(r.Messages, func(m chat.Message) bool { return reflect.DeepEqual(m, asked) }), "line %d: what the user asks now stays as it is", e.Line)
			}
			renders++
			largest = max(largest, r.Tokens)
			if compacted := viewOf(t, d.Session).Compacted; len(compacted) > 0 {
				if len(*d.events) == done {
					require.Equal(t, summary, r.Messages[1].Text(), "the summary stays as it is")
				}
				summary = compacted[0].Text()
				require.Equal(t, summary, r.Messages[1].Text())
				require.Equal(t, 1, strings.Count(summary, "<transcript "))
			}
		}
		unsaid = append(unsaid, e.Message)
		if e.Message.Role == chat.RoleUser && strings.TrimSpace(e.Message.Text()) != "" {
			asked = e.Message
		}
	}
	d.say(unsaid...)

	var all []chat.Message
	for _, e := range entries {
		all = append(all, e.Message)
	}
	again, err := history.Read(path)
	require.NoError(t, err)
	defer again.Close()
	equal(t, all, said(again))
	require.NotContains(t, kinds(*d.events), "refused")
	before, after := 0, 0
	for _, c := range compactions(d.Session) {
		require.Greater(t, c.TokensBefore, window)
		before, after = before+c.TokensBefore, after+c.TokensAfter
	}
	n := len(compactions(d.Session))
	if window <= 64_000 {
		require.NotZero(t, n)
	}
	if window == 8_000 {
		require.GreaterOrEqual(t, n, 5, "one after the other")
	}
	t.Logf("%d renders, %d compactions, at most %d of %d tokens; a compaction takes %d to %d", renders, n, largest, window, before/max(1, n), after/max(1, n))
}

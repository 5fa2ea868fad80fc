package summarize_test

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Sessions of a long day's work: a synthetic one, and a real one if it is beside the repository, in shared/.
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
	r := sessiontest.Read(t, path)
	var all []spoken
	for e, m := range r.Conversation() {
		all = append(all, spoken{e.Line, m})
	}
	return all
}

// numberedParts returns a recording in which each text of the assistant or of a tool begins with its number, so that it
// can be found in any form in which it is shown.
func numberedParts(all []spoken) []spoken {
	list := slices.Clone(all)
	for i, e := range list {
		if e.Message.Role != chat.RoleAssistant && e.Message.Role != chat.RoleTool {
			continue
		}
		parts := slices.Clone(e.Message.Content)
		for k, p := range parts {
			if text, ok := p.(chat.Text); ok {
				parts[k] = chat.Text(fmt.Sprintf("[said %d] ", i)) + text
				break
			}
		}
		list[i].Message.Content = parts
	}
	return list
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

// replayed is a session that is replayed under a policy. It records what its requests for summaries show.
type replayed struct {
	fixture
	path string

	mu       sync.Mutex
	asked    int            // requests for summaries
	shown    map[int]bool   // marks that the requests showed
	covered  map[int]bool   // marks that were compacted
	again    []string       // marks that a request showed though they were compacted
	standing []chat.Message // messages of the latest compaction
}

// answer returns a different summary for each request, in the form that the request asks for. It quotes nothing, so
// that a mark in a request is always that of a message.
func (r *replayed) answer(ctx context.Context, req chat.Request) (chat.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	for n := range marks(req.Messages) {
		r.shown[n] = true
		if r.covered[n] {
			r.again = append(r.again, fmt.Sprintf("request %d shows what was said at %d", r.asked, n))
		}
	}
	words := fmt.Sprintf("# Part %d\n\nWhat was to be done in this part was done.", r.asked)
	if strings.Contains(req.Messages[len(req.Messages)-1].Text(), "<summary> block") {
		return models.SaySummary(words)(ctx, req)
	}
	return models.Say(words)(ctx, req)
}

// Two policies that differ in most of their parts stand for all, unless PROMPTREE_TESTS=all.
func TestALongSessionIsCompactedManyTimesUnderEveryPolicy(t *testing.T) {
	t.Parallel()
	counter := tiktoken.O200k()
	for _, c := range []struct {
		name, path string
		window     int
	}{
		{"generated", generated, 16_000},
		{"recorded", recorded, 40_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.path == recorded && !extremes.All() {
				t.Skip("takes minutes")
			}
			entries := numberedParts(recording(t, c.path))
			for name, policy := range policies.All() {
				if !extremes.All() && name != "copilot-chat" && name != "stagewise" {
					continue
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					replay(t, entries, counter, c.window, policy)
				})
			}
		})
	}
}

// replay renders and checks the prompt before each assistant message, as it would have been sent.
func replay(t *testing.T, entries []spoken, counter *tiktoken.Counter, window int, policy policy.Policy) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	r := &replayed{fixture: fixtureOf(t, opened(t, path)), path: path, covered: map[int]bool{}, shown: map[int]bool{}}
	r.Target.Tokenizer, r.Target.Budget, r.Policy, r.Target.Model = counter, window, policy, chat.ModelFunc(r.answer)
	var unsaid []chat.Message // are appended before the next render
	var asked chat.Message    // the user's latest message
	for _, e := range entries {
		if e.Message.Role == chat.RoleAssistant {
			r.Say(unsaid...)
			unsaid = unsaid[:0]
			r.request(e.Line, asked)
			require.NoError(t, r.Wait(t.Context()))
		}
		unsaid = append(unsaid, e.Message)
		if e.Message.Role == chat.RoleUser && strings.TrimSpace(e.Message.Text()) != "" {
			asked = e.Message
		}
	}
	r.Say(unsaid...)

	require.Greater(t, len(r.shown), len(r.covered)/4, "requests show the marks, though not those of all tool output")
	require.Empty(t, r.again, "no later request shows what was compacted")
	require.GreaterOrEqual(t, len(compactions(r.Session)), 5, "the session is compacted many times")
	require.NotContains(t, kinds(*r.Heard), "failed")
	var all []chat.Message
	for _, e := range entries {
		all = append(all, e.Message)
	}
	again, err := history.Read(path, history.Options{})
	require.NoError(t, err)
	defer again.Close()
	equal(t, all, said(again))
	equal(t, compactions(r.Session), compactions(again))
}

// request renders the prompt and checks it.
func (r *replayed) request(line int, asked chat.Message) {
	newest := func() entry.Entry {
		e, _, err := r.Session.Latest(r.T.Context(), entry.TypeCompaction)
		require.NoError(r.T, err)
		return e
	}
	before := newest()
	got := r.Messages()
	require.Equal(r.T, chat.SystemMessage("You are a coding agent."), got[0], "line %d", line)
	if asked.Role != "" {
		has := slices.ContainsFunc(got, func(m chat.Message) bool { return reflect.DeepEqual(m, asked) })
		require.True(r.T, has, "line %d: the user's latest message stays as it is", line)
	}
	made := newest()
	if made.ID == "" {
		return
	}
	if last := made.Compaction(); made.ID != before.ID {
		r.standing = last.Messages
		require.Equal(r.T, 1, strings.Count(text(last.Messages), "<transcript "), "line %d", line)
		require.Contains(r.T, text(last.Messages), r.path)
		require.Contains(r.T, text(last.Messages), last.Text)
		r.cover(last.FirstKept)
	}
	equal(r.T, r.standing, got[1:1+len(r.standing)]) // byte for byte
}

// cover records the marks before an entry.
func (r *replayed) cover(firstKept string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries(r.T, r.Session) {
		if e.ID == firstKept {
			return
		}
		if e.Type() == entry.TypeMessage {
			for n := range marks([]chat.Message{e.Message()}) {
				r.covered[n] = true
			}
		}
	}
}

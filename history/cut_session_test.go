package history_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/sessiontest"
	"github.com/promptree-go/promptree/sizing"
)

// theFive are the rules of the five products.
func theFive() map[string]history.Cut {
	return map[string]history.Cut{
		"Copilot Chat": history.CopilotChatCut(), "Copilot CLI": history.CopilotCLICut(), "oh-my-pi": history.OhMyPiCut(),
		"A3S": history.A3SCut(), "stagewise": history.StagewiseCut(),
	}
}

// recorded reads the entries of a recorded session. Of one that is missing the test is skipped.
func recorded(t testing.TB, path string) []history.Entry {
	t.Helper()
	r := sessiontest.Read(t, path)
	session := &history.Session{}
	notes, err := r.AppendTo(session)
	require.NoError(t, err)
	require.Empty(t, notes)
	return all(t, session)
}

// recording gives the messages of a recorded session.
func recording(t testing.TB, path string) []chat.Message {
	t.Helper()
	return messagesOf(recorded(t, path))
}

// messagesOf gives the messages among entries.
func messagesOf(entries []history.Entry) []chat.Message {
	var messages []chat.Message
	for _, e := range entries {
		if e.Type() == history.TypeMessage {
			messages = append(messages, e.Message())
		}
	}
	return messages
}

// sent gives what of a view goes to a model.
func sent(v history.View, limits history.Limits, s sizing.Sizing) []chat.Message {
	messages := append([]chat.Message(nil), v.Compacted...)
	for _, turn := range v.Turns {
		if m, ok := turn.Message(); ok {
			messages = append(messages, m)
		}
		for _, r := range turn.Rounds {
			messages = append(messages, r.Messages(limits, s)...)
		}
	}
	return messages
}

// requireCutShown checks that with a cut the view obeys the providers, and that the log and the view together hold
// everything that was said.
func requireCutShown(t testing.TB, session *history.Session, path []history.Entry, p history.CutPoint, s sizing.Sizing) {
	t.Helper()
	v, err := history.ViewIn(history.Preview(t.Context(), session, summary("summary", p.FirstKept)), session)
	require.NoError(t, err)
	messages := sent(v, history.Limits{}, s)
	require.NoError(t, chat.Validate(append(messages, user)), "the leaf is %s, the cut at %s", path[len(path)-1].ID, p.At)
	require.Greater(t, len(messages), 1, "the tail is empty")

	shown := map[string]bool{}
	for _, turn := range v.Turns {
		shown[turn.Start.ID] = true
		for _, r := range turn.Rounds {
			shown[r.Assistant.ID] = true
			for _, e := range r.Results {
				shown[e.ID] = true
			}
		}
	}
	kept := map[string]bool{}
	for _, e := range p.Kept {
		kept[e.ID] = true
	}
	for _, e := range p.Kept {
		if e.Type() == history.TypeMessage && speaks(e) && e.Message().Role != chat.RoleTool {
			if !shown[e.ID] {
				t.Fatalf("%s is kept and not shown", e.ID)
			}
		}
	}
	callers := map[string]string{}
	for _, e := range path {
		for _, c := range e.Message().ToolCalls {
			callers[c.ID] = e.ID
		}
		if e.Message().Role == chat.RoleTool && kept[callers[e.Message().ToolCallID]] && !shown[e.ID] {
			t.Fatalf("%s is a result of a call that is kept, and not shown", e.ID)
		}
	}
	for _, e := range p.Covered {
		if !starts(e) && shown[e.ID] {
			t.Fatalf("%s is covered and shown", e.ID)
		}
	}
}

// Every entry of a recorded session, of whatever kind, is the leaf once, for every rule; every fiftieth time the cut is made,
// and the compaction is the leaf.
func TestCutAtEveryLeafOfASession(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"generated": "importer/testdata/generated.jsonl", "recorded": "../../shared/sessions/pi-before-compaction.jsonl",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries := recorded(t, path)
			for product, rule := range theFive() {
				t.Run(product, func(t *testing.T) {
					t.Parallel()
					cutAtEveryLeaf(t, entries, rule)
				})
			}
		})
	}
}

// cutAtEveryLeaf says again what was said, and cuts after each entry.
func cutAtEveryLeaf(t testing.TB, said []history.Entry, rule history.Cut) {
	t.Helper()
	s := sizing.Sizing{Window: 100_000, Tokenizer: quarter{}}
	session := &history.Session{}
	leaves, cuts := 0, 0
	last := ""
	for i, e := range said {
		require.Equal(t, last, e.Parent, "the recording is one branch")
		last, e.Parent = e.ID, "" // the compactions come between
		_, err := session.Add(e)
		if boundary, ok := errors.AsType[*history.BoundaryError](err); ok {
			require.Equal(t, history.BoundaryCovered, boundary.Reason)
			continue // a compaction in the recording: one of this test came further
		}
		require.NoError(t, err)
		if race && i%5 != 0 {
			continue
		}
		leaves++
		require.NoError(t, chat.Validate(append(viewOf(t, session).Messages(), user)))
		path := list(t, session.PathTo(""))
		p, err := rule.Find(along(path), s)
		if errors.Is(err, history.ErrNoCut) {
			continue
		}
		require.NoError(t, err)
		cuts++
		requireCut(t, rule, path, p, nil)
		requireCutShown(t, session, path, p, s)
		if i%50 != 0 {
			continue
		}
		require.NoError(t, session.Compact(summary(fmt.Sprint("summary ", i), p.FirstKept)))
		require.NoError(t, chat.Validate(append(viewOf(t, session).Messages(), user)))
		path = list(t, session.PathTo(""))
		if p, err = rule.Find(along(path), s); err == nil { // less may fit where the whole turn was counted before
			requireCut(t, rule, path, p, nil)
			requireCutShown(t, session, path, p, s)
		}
	}
	require.Greater(t, cuts, leaves/20)
	equal(t, messagesOf(said), messagesOf(all(t, session)))
}

// Cutting and compacting again and again ends: nothing is left to cut, and the tail is there.
func TestCuttingEnds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		session := talkAtRandom(t, r).session
		said := all(t, session)
		rule := anyRule(r)
		s := sizing.Sizing{Window: 1 + r.IntN(2000), Tokenizer: quarter{}}
		last := len(said)
		for n := 0; ; n++ {
			require.LessOrEqual(t, n, len(said), "seed %d: it does not end", seed)
			entries := all(t, session)
			p, err := rule.Find(along(entries), s)
			requireCut(t, rule, entries, p, err)
			if err != nil {
				break
			}
			requireCutShown(t, session, entries, p, s)
			require.NoError(t, session.Compact(summary("again", p.FirstKept)))
			if !rule.SinceCompaction {
				kept := 0
				for _, e := range p.Kept {
					if e.Type() == history.TypeMessage {
						kept++
					}
				}
				require.Less(t, kept, last, "seed %d: as much is kept as before", seed)
				last = kept
			}
		}
		equal(t, said, all(t, session)[:len(said)])
		require.NotEmpty(t, viewOf(t, session).Turns)
	}
}

func BenchmarkCut(b *testing.B) {
	path := along(all(b, long(b, &history.Session{}, 10_000)))
	s := sizing.Sizing{Window: 200_000, Tokenizer: quarter{}}
	for name, rule := range theFive() {
		b.Run(name+" at 10000 entries", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rule.Find(path, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("all but the first turn at 10000 entries", func(b *testing.B) {
		rule := history.Cut{Messages: 9_990}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := rule.Find(path, s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A session of all kinds of entries takes every cut, and shows what it keeps.
func TestAnyCutIsTaken(t *testing.T) {
	t.Parallel()
	taken, withUnsaid := 0, 0
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 7))
		session := &history.Session{}
		for _, e := range anyPath(r) {
			if _, err := session.Add(e); err != nil {
				continue // a result of no call, a compaction that cuts at one
			}
		}
		path := list(t, session.PathTo(""))
		rule := anyRule(r)
		s := sizing.Sizing{Window: 1 + r.IntN(3000), Tokenizer: quarter{}}
		p, err := rule.Find(session.PathTo(""), s)
		requireCut(t, rule, path, p, err)
		if err != nil {
			continue
		}
		requireCutShown(t, session, path, p, s)
		require.NoError(t, session.Compact(summary("summary", p.FirstKept)), "seed %d", seed)
		requireSame(t, path, list(t, session.PathTo(""))[:len(path)])
		require.NoError(t, chat.Validate(append(viewOf(t, session).Messages(), user)), "seed %d", seed)
		taken++
		if p.At != p.FirstKept {
			withUnsaid++
		}
	}
	require.Greater(t, taken, 350)
	require.Greater(t, withUnsaid, 15)
}

// Of a long path what was covered long ago is let go, and the cut is the same.
func TestCutOfALongPathIsThatOfItsEnd(t *testing.T) {
	t.Parallel()
	before := pathOf(strings.Repeat("u a ", 2000) + "k")
	cuts := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 8))
		end, rule := anyPath(r), anyRule(r)
		rule.First = 0
		s := sizing.Sizing{Window: 1 + r.IntN(3000), Tokenizer: quarter{}}
		want, wantErr := rule.Find(along(append(before[len(before)-3:len(before):len(before)], end...)), s)
		got, err := rule.Find(along(append(before[:len(before):len(before)], end...)), s)
		require.Equal(t, wantErr, err)
		require.Equal(t, found(want, wantErr), found(got, err), "seed %d", seed)
		require.Equal(t, want.Tokens, got.Tokens)
		if err == nil {
			cuts++
		}
	}
	require.Greater(t, cuts, 50)

	// The first messages are kept through it.
	p, err := history.Cut{First: 3}.Find(along(append(before[:len(before):len(before)], pathOf("u a u a")...)), in(1000))
	require.NoError(t, err)
	require.Equal(t, "u0 a1 u2", idsOf(p.Head))
}

package history_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
)

// A rule is a value. Change its fields to change the rule.
func ExampleCut() {
	session := numbered.Session()
	err := session.Append(context.Background(),
		chat.UserMessage("Why does the build fail?"),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "build", Arguments: `{}`}}},
		chat.ToolResult("c1", "main.go:7: undefined: run"),
		chat.AssistantMessage("A function is missing."),
		chat.UserMessage("Write it."),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c2", Name: "edit", Arguments: `{"path":"main.go"}`}}},
		chat.ToolResult("c2", "done"),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c3", Name: "build", Arguments: `{}`}}},
		chat.ToolResult("c3", "ok"),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := session.View(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	rule := newestTokens
	rule.Tokens = 250
	for _, rule := range []history.Cut{newestRound, rule, {Messages: 4}} {
		point, err := rule.Find(context.Background(), view, elements.Sizing{Tokenizer: sizing.Estimator{MessageChars: 160}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d units covered, %d messages kept from %s on\n", len(point.Covered()), point.Messages, point.FirstKept)
	}
	_, err = firstAndNewest.Find(context.Background(), view, elements.Sizing{Tokenizer: sizing.Estimator{}})
	fmt.Println(err)
	// Output:
	// 5 units covered, 3 messages kept from e8 on
	// 3 units covered, 5 messages kept from e5 on
	// 3 units covered, 5 messages kept from e5 on
	// history: there is no cut that covers anything
}

// pathOf makes a path from a sketch, a word for each entry. An entry's id is its letter and its index:
//
//	u, v       a user message, an empty one
//	a, e       an assistant message, an empty one
//	c, d       an assistant message with one call, with two
//	r, q       the result of the first call, of the second; r:3 and q:3 answer the message at index 3
//	x, h       a shell command, one hidden from the model
//	m, b, l, n a custom message, a branch summary, a label, a custom entry
//	k, k:3     a compaction that keeps nothing, that keeps the entries from index 3 on
//	w, w:3     a clearing of all results before it, of the arguments of the first call at index 3
func pathOf(sketch string) []entry.Entry {
	var path []entry.Entry
	last := 0
	for i, word := range strings.Fields(sketch) {
		kind, to, given := strings.Cut(word, ":")
		e := entry.Entry{ID: fmt.Sprint(kind, i)}
		say := func(m chat.Message) { e.Body = entry.Message{Message: m} }
		of := fmt.Sprint(last)
		if given {
			of = to
		}
		switch kind {
		case "u":
			say(chat.UserMessage(e.ID))
		case "v":
			say(chat.UserMessage(" "))
		case "a":
			say(chat.AssistantMessage(e.ID))
		case "e":
			say(chat.Message{Role: chat.RoleAssistant})
		case "c":
			say(calls(fmt.Sprint(i)))
			last = i
		case "d":
			say(calls(fmt.Sprint(i), fmt.Sprint(i, "q")))
			last = i
		case "r":
			say(chat.ToolResult(of, e.ID))
		case "q":
			say(chat.ToolResult(of+"q", e.ID))
		case "x", "h":
			e.Body = entry.Shell{Command: "ls", Output: e.ID, Hidden: kind == "h"}
		case "m":
			e.Body = entry.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text(e.ID)}}
		case "b":
			e.Body = entry.BranchSummary{Summary: entry.Summary{Text: e.ID}}
		case "l":
			e.Body = entry.Label{Text: "here"}
		case "n":
			e.Body = entry.Custom{Name: "state"}
		case "w":
			const text = `"this was cleared by the rule of a test"`
			var c entry.Clearing
			for k, before := range path {
				if !given && before.Message().Role == chat.RoleTool {
					c.Results = append(c.Results, entry.Cleared{Entry: before.ID, Text: text})
				}
				if given && to == fmt.Sprint(k) && len(before.Message().ToolCalls) > 0 {
					c.Arguments = append(c.Arguments, entry.Cleared{Entry: before.ID, Call: before.Message().ToolCalls[0].ID, Text: text})
				}
			}
			e.Body = c
		case "k":
			c := entry.Compaction{Messages: []chat.Message{chat.UserMessage(e.ID)}}
			for _, kept := range path {
				if given && strings.TrimLeft(kept.ID, "abcdefghijklmnopqrstuvwxyz") == to {
					c.FirstKept = kept.ID
				}
			}
			e.Body = c
		}
		path = append(path, e)
	}
	return path
}

func idsOf(entries []entry.Entry) string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.ID
	}
	return strings.Join(list, " ")
}

// sessionOf returns a session with the entries of a path. If lenient, entries that the session refuses are left out.
func sessionOf(t testing.TB, path []entry.Entry, lenient bool) *history.Session {
	t.Helper()
	session := numbered.Session()
	for _, e := range path {
		if _, err := session.Add(t.Context(), e); !lenient {
			require.NoError(t, err)
		}
	}
	return session
}

func unitIDs(units []history.Unit) string {
	list := make([]string, len(units))
	for i, u := range units {
		list[i] = u.ID
		if u.Last != u.ID {
			list[i] += "-" + u.Last
		}
	}
	return strings.Join(list, " ")
}

// found writes a cut as "covered | kept". It may begin with the number of messages in the head, have FirstKept in
// parentheses if that is not a unit, and end with the covered units of the turn that is cut.
func found(p history.CutPoint, err error) string {
	if err != nil {
		return err.Error()
	}
	s := unitIDs(p.Covered()) + " | "
	if p.FirstKept != p.Units[p.At].ID {
		s += "(" + p.FirstKept + ") "
	}
	s += unitIDs(p.Kept())
	if len(p.Head) > 0 {
		s = fmt.Sprint(len(p.Head), " + ", s)
	}
	if prefix := p.TurnPrefix(); len(prefix) > 0 {
		s += " prefix " + unitIDs(prefix)
	}
	if p.Over {
		s += " over"
	}
	return s
}

var none = history.ErrNoCut.Error()

// Each message costs ten tokens.
func TestACutKeepsWhatItsFieldsSay(t *testing.T) {
	newest := history.Cut{}
	tokens := func(n int) history.Cut { return history.Cut{Tokens: n} }
	messages := func(n int) history.Cut { return history.Cut{Messages: n} }
	for _, tt := range []struct {
		rule       string
		cut        history.Cut
		path, want string
	}{
		{"by default the newest round is kept", newest, "u c r c r", "u0 c1-r2 | c3-r4 prefix u0 c1-r2"},
		{"a newest message is kept alone", newest, "u c r u", "u0 c1-r2 | u3"},
		{"a turn of one round is kept whole", newest, "u a u c r", "u0 a1 | u2 c3-r4"},
		{"a single turn of one round cannot be cut", newest, "u c r", none},
		{"a single message cannot be cut", newest, "u", none},
		{"an empty session cannot be cut", newest, "", none},
		{"entries that are not shown cannot be cut", newest, "l n k", none},
		{"a session that starts with an answer is cut within its turn", newest, "a a", "a0 | a1 prefix a0"},

		{"the newest tokens are kept", tokens(40), "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"the tail may have fewer tokens", tokens(49), "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"the first message of a turn that is cut counts", tokens(40), "u c r c r c r", "u0 c1-r2 c3-r4 | c5-r6 prefix u0 c1-r2 c3-r4"},
		{"a larger limit keeps one round more", tokens(50), "u c r c r c r", "u0 c1-r2 | c3-r4 c5-r6 prefix u0 c1-r2"},
		{"a session that fits is not cut", tokens(60), "u a u a u a", none},
		{"a newest round over the limit is kept", tokens(10), "u c r c r", "u0 c1-r2 | c3-r4 prefix u0 c1-r2 over"},
		{"no cut is at a result", tokens(30), "u a u c r c r", "u0 a1 u2 c3-r4 | c5-r6 prefix u2 c3-r4"},
		{"no cut is within parallel calls", tokens(50), "u a u d q r d r q", "u0 a1 u2 d3-r5 | d6-q8 prefix u2 d3-r5"},
		{"an interrupted call may be covered", tokens(30), "u c u a", "u0 c1 | u2 a3"},
		{"a late result is kept or covered with its call", tokens(30), "u a u c u r:3 u a", "u0 a1 u2 c3-r5 u4 | u6 a7"},
		{"a late result is kept with the messages since its call", newest, "u a u c u a r:3", "u0 a1 | u2 c3-r6 u4 a5"},
		{"a late result of a covered call is no place", newest, "u c u a k:2 u r:1 a u", "u2 a3 u5 r6 a7 | u8"},

		{"a shell command starts a turn", newest, "u a x a", "u0 a1 | x2 a3"},
		{"a hidden shell command does not start a turn", newest, "u a h a", "u0 a1 | (h2) a3 prefix u0 a1"},
		{"a custom message starts a turn", newest, "u a m a a", "u0 a1 m2 a3 | a4 prefix m2 a3"},
		{"a branch summary starts a turn", newest, "u a b a a", "u0 a1 b2 a3 | a4 prefix b2 a3"},
		{"no cut is at an empty answer", newest, "u a u e", "u0 a1 | u2"},
		{"no cut is at an empty message", newest, "u a a v", "u0 a1 | a2 prefix u0 a1"},
		{"entries that are not shown are kept with the message after them", newest, "u a l n u", "u0 a1 | (l2) u4"},
		{"only those right before that message are kept", newest, "u l a l u", "u0 a2 | (l3) u4"},
		{"entries that are not shown are kept back to a compaction", newest, "u a u a k:2 l u", "u2 a3 | (l5) u6"},

		{"covered entries are not covered again", newest, "u a u a k:2 u", "u2 a3 | u5"},
		{"entries before a compaction that kept nothing are not covered again", newest, "u a k u a u", "u3 a4 | u5"},
		{"there is no cut if nothing is left to cover", newest, "u a u k:2", none},
		{"the kept rounds of a turn belong to that turn", newest, "u c r c r k:3 c r", "u0 c3-r4 | c6-r7 prefix u0 c3-r4"},
		{"the latest of two compactions counts", newest, "u a u a k:2 u a k:5 u", "u5 a6 | u8"},
		{"SinceCompaction keeps only entries after the compaction", history.Cut{Tokens: 30, SinceCompaction: true}, "u a u a k:2 u a a u", "u2 a3 u5 a6 | a7 u8 prefix u5 a6"},
		{"SinceCompaction covers what the compaction kept", history.Cut{Tokens: 25, SinceCompaction: true}, "u a u a k:2 u a u", "u2 a3 u5 a6 | u7"},
		{"SinceCompaction finds no cut if everything after it fits", history.Cut{Tokens: 1000, SinceCompaction: true}, "u a u a k:2 u a", none},

		{"the newest messages are kept", messages(3), "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"results count as messages", messages(4), "u c r c r c r", "u0 c1-r2 | c3-r4 c5-r6 prefix u0 c1-r2"},
		{"a round is kept whole", messages(3), "u c r c r c r", "u0 c1-r2 | c3-r4 c5-r6 prefix u0 c1-r2"},
		{"a session with fewer messages is not cut", messages(7), "u a u a u a", none},
		{"the newest rounds are kept", history.Cut{Rounds: 2}, "u c r c r c r c r", "u0 c1-r2 c3-r4 | c5-r6 c7-r8 prefix u0 c1-r2 c3-r4"},
		{"user messages between rounds do not count", history.Cut{Rounds: 2}, "u a u a u u a u", "u0 a1 | u2 a3 u4 u5 a6 u7"},
		{"the start of a kept turn is kept", history.Cut{Rounds: 1}, "u a u a", "u0 a1 | u2 a3"},
		{"a session with fewer rounds is not cut", history.Cut{Rounds: 3}, "u a u a", none},
		{"Tokens limits Rounds", history.Cut{Rounds: 3, Tokens: 25}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"Messages and Rounds are both kept", history.Cut{Rounds: 1, Messages: 4}, "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"no more than Messages are kept if more fit", history.Cut{Messages: 2, Tokens: 40}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"Tokens limits Messages", history.Cut{Messages: 4, Tokens: 25}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"Share is a share of the window", history.Cut{Share: 0.04}, "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"the smaller of Share and Tokens counts: Tokens", history.Cut{Share: 0.04, Tokens: 20}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"the smaller of Share and Tokens counts: Share", history.Cut{Share: 0.02, Tokens: 40}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},

		{"the first messages are the head", history.Cut{First: 2}, "u a u a u", "2 + u2 a3 | u4"},
		{"the head has whole rounds", history.Cut{First: 2}, "u c r u a u", "1 + c1-r2 u3 a4 | u5"},
		{"the head is that of the whole path", history.Cut{First: 2}, "u a u a k:2 u", "2 + u2 a3 | u5"},
		{"there is no cut if head and tail keep everything", history.Cut{First: 2, Messages: 2}, "u a u a", none},

		{"ToolBoundary keeps a call that may be running", history.Cut{ToolBoundary: true}, "u a u c u", "u0 a1 | u2 c3 u4"},
		{"ToolBoundary keeps parallel calls of which one may be running", history.Cut{ToolBoundary: true}, "u a u d q u", "u0 a1 | u2 d3-q4 u5"},
		{"ToolBoundary may cover an older call without a result", history.Cut{ToolBoundary: true}, "u c u a u", "u0 c1 u2 a3 | u4"},
		{"ToolBoundary may cover calls with results", history.Cut{ToolBoundary: true}, "u a u c r u", "u0 a1 u2 c3-r4 | u5"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			session := sessionOf(t, pathOf(tt.path), false)
			s := elements.Sizing{PromptBudget: 1000, Tokenizer: flat{}}
			p, err := tt.cut.Find(t.Context(), viewOf(t, session), s)
			require.Equal(t, tt.want, found(p, err))
			requireCut(t, tt.cut, list(t, session.PathTo(t.Context(), "")), p, err)
		})
	}
}

func TestACutWithAFieldOutOfItsRangeIsAnError(t *testing.T) {
	known := elements.Sizing{PromptBudget: 1000, Tokenizer: quarter{}}
	for _, tt := range []struct {
		rule   string
		cut    history.Cut
		sizing elements.Sizing
		want   string
	}{
		{"tokens below 0", history.Cut{Tokens: -1}, known, "Tokens is -1"},
		{"messages below 0", history.Cut{Messages: -1}, known, "Messages -1"},
		{"rounds below 0", history.Cut{Rounds: -1}, known, "Rounds -1"},
		{"first messages below 0", history.Cut{First: -1}, known, "First -1"},
		{"a share below 0", history.Cut{Share: -0.1}, known, "Cut.Share is -0.1"},
		{"a share above 1", history.Cut{Share: 1.1}, known, "Cut.Share is 1.1"},
		{"a share that is not a number", history.Cut{Share: math.NaN()}, known, "Cut.Share is NaN"},
		{"a share of an unknown window", history.Cut{Share: 0.2}, elements.Sizing{Tokenizer: quarter{}}, "set Sizing.PromptBudget"},
		{"limits out of their range", history.Cut{Limits: history.RoundLimits{Head: 2}}, known, "Limits.Head is 2"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			v := viewOf(t, sessionOf(t, pathOf("u a u a"), false))
			_, err := tt.cut.Find(t.Context(), v, tt.sizing)
			require.ErrorContains(t, err, tt.want)
			require.NotErrorIs(t, err, history.ErrNoCut)
			_, err = tt.cut.Earliest(t.Context(), v, tt.sizing)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestACutCountsResultsAsTheyAreShown(t *testing.T) {
	path := pathOf("u a u a u c r")
	path[0].Body = entry.Message{Message: chat.UserMessage(numberedLines(100))}
	path[6].Body = entry.Message{Message: chat.ToolResult("5", numberedLines(1000))} // 2500 tokens
	rule := history.Cut{Tokens: 600}
	v := viewOf(t, sessionOf(t, path, false))
	p, err := rule.Find(t.Context(), v, in(1000)) // the results of a round may take half of it
	require.NoError(t, err)
	require.False(t, p.Over)
	require.LessOrEqual(t, p.Tokens, 600)
	require.Greater(t, len(messagesIn(p.Kept())), 3, "more than the round fits")

	p, err = rule.Find(t.Context(), v, elements.Sizing{Tokenizer: quarter{}})
	require.NoError(t, err)
	require.True(t, p.Over, "without a window nothing is clipped")
	require.Equal(t, "u4", p.FirstKept)
}

// requireCut checks where what a cut keeps and the turn that is cut begin.
func requireCut(t testing.TB, rule history.Cut, path []entry.Entry, p history.CutPoint, err error) {
	t.Helper()
	if err != nil {
		require.Equal(t, history.ErrNoCut, err)
		require.Empty(t, p)
		return
	}
	require.NotEmpty(t, p.Covered())
	index := func(id string) int {
		return slices.IndexFunc(path, func(e entry.Entry) bool { return e.ID == id })
	}
	cut, at := index(p.FirstKept), index(p.Units[p.At].ID)
	require.True(t, cut >= 0 && cut <= at)
	for _, e := range path[cut:at] {
		require.True(t, wordless(e), "%s is kept before the cut", e.ID)
	}
	require.False(t, wordless(path[cut-1]), "%s is covered", path[cut-1].ID)

	start := naivePath(path).turn(at)
	var prefix []history.Unit
	for _, u := range p.Covered() {
		if start < at && index(u.ID) >= start {
			prefix = append(prefix, u)
		}
	}
	require.Equal(t, unitIDs(prefix), unitIDs(p.TurnPrefix()))
	if rule.Tokens > 0 && !p.Over {
		require.LessOrEqual(t, p.Tokens, rule.Tokens)
	}
}

// messagesIn returns the messages of units.
func messagesIn(units []history.Unit) (messages []chat.Message) {
	for _, u := range units {
		messages = append(messages, u.Messages...)
	}
	return messages
}

// requireSame checks that two lists have entries with the same ids.
func requireSame(t testing.TB, want, got []entry.Entry) {
	t.Helper()
	if !slices.EqualFunc(want, got, func(a, b entry.Entry) bool { return a.ID == b.ID }) {
		t.Fatalf("want %s, got %s", idsOf(want), idsOf(got))
	}
}

// starts reports whether a turn starts at an entry.
func starts(e entry.Entry) bool {
	switch e.Type() {
	case entry.TypeMessage:
		return e.Message().Role == chat.RoleUser
	case entry.TypeCustomMessage, entry.TypeBranchSummary:
		return true
	case entry.TypeShell:
		return !e.Body.(entry.Shell).Hidden
	}
	return false
}

// wordless reports whether an entry is never shown to the model.
func wordless(e entry.Entry) bool {
	return e.Type() != entry.TypeMessage && e.Type() != entry.TypeCompaction && !starts(e)
}

// speaks reports whether an entry is shown to the model.
func speaks(e entry.Entry) bool {
	if e.Type() != entry.TypeMessage {
		return starts(e)
	}
	m := e.Message()
	for _, c := range m.ToolCalls {
		if c.ID != "" && c.Name != "" {
			return true
		}
	}
	for _, p := range m.Content {
		text, isText := p.(chat.Text)
		thinking := false
		switch p.(type) {
		case chat.Thinking, chat.CacheBreakpoint:
			thinking = true
		}
		if !thinking && (!isText || strings.TrimSpace(string(text)) != "") {
			return true
		}
	}
	return false
}

// anyRule returns one of the five policies' rules, or a random one.
func anyRule(r *rand.Rand) history.Cut {
	five := []history.Cut{newestRound, toolBoundary, newestTokens, firstAndNewest, shareOrMessages}
	if r.IntN(3) == 0 {
		return five[r.IntN(len(five))]
	}
	return history.Cut{
		Tokens: r.IntN(2) * r.IntN(400), Share: float64(r.IntN(2)) * r.Float64(), Messages: r.IntN(2) * r.IntN(12),
		Rounds: r.IntN(3) / 2 * r.IntN(8),
		First:  r.IntN(2) * r.IntN(5), ToolBoundary: r.IntN(2) == 0, SinceCompaction: r.IntN(3) == 0,
	}
}

// anyPath returns a random path with all types of entries, and with late, missing and unmatched results.
func anyPath(r *rand.Rand) []entry.Entry {
	var words []string
	for i := range r.IntN(60) {
		kinds := []string{"u", "a", "c r", "d r q", "d q r", "d q", "c", "e", "v", "x", "h", "m", "b", "l", "n"}
		kind := kinds[r.IntN(len(kinds))]
		switch {
		case r.IntN(12) == 0 && i > 0:
			kind = fmt.Sprint([]string{"r:", "q:", "k:", "w:"}[r.IntN(4)], r.IntN(i))
		case r.IntN(20) == 0:
			kind = "w"
		case r.IntN(40) == 0:
			kind = "k"
		}
		words = append(words, kind)
	}
	return pathOf(strings.Join(words, " "))
}

// requireAnyCut checks a random rule on a random path against naiveCut, and compacts the session there. It reports whether
// there is a cut, and whether it is at an entry that is not shown.
func requireAnyCut(t testing.TB, seed uint64) (cut, unshown bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 4))
	session, rule := sessionOf(t, anyPath(r), true), anyRule(r)
	path := list(t, session.PathTo(t.Context(), ""))
	s := elements.Sizing{PromptBudget: 1 + r.IntN(3000), Tokenizer: quarter{}}
	v := viewOf(t, session)
	p, err := rule.Find(t.Context(), v, s)
	requireCut(t, rule, path, p, err)
	want, all, wantErr := naiveCut(rule, path, s)
	require.Equal(t, wantErr, err, "seed %d, %+v: %s", seed, rule, idsOf(path))
	if err == nil {
		require.Equal(t, want, p.Units[p.At].ID, "seed %d, %+v: %s", seed, rule, idsOf(path))
	}
	requireWalk(t, rule, v, s, all)
	if err != nil {
		return false, false
	}
	requireCutShown(t, session, path, p, s)
	require.NoError(t, session.Compact(t.Context(), summary("summary", p.FirstKept)), "seed %d", seed)
	requireSame(t, path, list(t, session.PathTo(t.Context(), ""))[:len(path)])
	require.NoError(t, chat.Validate(append(viewOf(t, session).Messages(), user)), "seed %d", seed)
	return true, p.Units[p.At].ID != p.FirstKept
}

// requireWalk checks the cuts from [history.Cut.Earliest] on by [history.CutPoint.Later].
func requireWalk(t testing.TB, rule history.Cut, v history.View, s elements.Sizing, places []string) {
	t.Helper()
	p, err := rule.Earliest(t.Context(), v, s)
	if len(places) == 0 {
		require.ErrorIs(t, err, history.ErrNoCut)
		return
	}
	require.NoError(t, err)
	for i, place := range places {
		require.Equal(t, place, p.Units[p.At].ID)
		require.NotEmpty(t, p.Covered())
		later, ok := p.Later()
		require.Equal(t, i < len(places)-1, ok)
		if !ok {
			return
		}
		require.Greater(t, later.At, p.At)
		require.Equal(t, unitIDs(p.Units), unitIDs(later.Units))
		p = later
	}
}

// The last cut keeps only the newest round.
func TestLaterReturnsTheNextCutThatKeepsLess(t *testing.T) {
	v := viewOf(t, sessionOf(t, pathOf("u a u c r l c r c r"), false))
	s := elements.Sizing{PromptBudget: 1000, Tokenizer: flat{}}
	p, err := history.Cut{Messages: 6}.Find(t.Context(), v, s)
	require.NoError(t, err)
	var cuts []string
	for ok := true; ok; p, ok = p.Later() {
		cuts = append(cuts, fmt.Sprint(found(p, nil), ", ", p.Tokens, " tokens, ", p.Messages, " messages"))
	}
	require.Equal(t, []string{
		"u0 a1 | u2 c3-r4 c6-r7 c8-r9, 70 tokens, 7 messages",
		"u0 a1 u2 c3-r4 | (l5) c6-r7 c8-r9 prefix u2 c3-r4, 50 tokens, 5 messages",
		"u0 a1 u2 c3-r4 c6-r7 | c8-r9 prefix u2 c3-r4 c6-r7, 30 tokens, 3 messages",
	}, cuts)
}

func TestTheEarliestCutKeepsTheMost(t *testing.T) {
	v := viewOf(t, sessionOf(t, pathOf("u a u a u a"), false))
	s := elements.Sizing{PromptBudget: 1000, Tokenizer: flat{}}
	rule := history.Cut{Messages: 100}
	_, err := rule.Find(t.Context(), v, s)
	require.ErrorIs(t, err, history.ErrNoCut)
	p, err := rule.Earliest(t.Context(), v, s)
	require.Equal(t, "u0 a1 | u2 a3 u4 a5", found(p, err))
	p, err = history.Cut{Tokens: 20}.Earliest(t.Context(), v, s)
	require.Equal(t, "u0 a1 | u2 a3 u4 a5 over", found(p, err))
}

func TestACutOfAViewThatNoSessionMadeIsAnError(t *testing.T) {
	v := viewOf(t, sessionOf(t, pathOf("u a u a"), false))
	_, err := history.Cut{}.Find(t.Context(), fields(v), in(1000))
	require.ErrorContains(t, err, "not made by a session")
	require.Equal(t, unitIDs(v.Units(history.RoundLimits{}, in(1000))), unitIDs(fields(v).Units(history.RoundLimits{}, in(1000))))
}

func TestUnitsHaveEachMessageOfTheViewAfterTheCompactionOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(300)) {
		session := talkAtRandom(t, rand.New(rand.NewPCG(seed, 9))).session
		v := viewOf(t, session)
		s := elements.Sizing{Tokenizer: quarter{}} // without a window nothing is clipped
		units := v.Units(history.RoundLimits{}, s)
		equal(t, v.Messages(), append(slices.Clip(v.Compacted), messagesIn(units)...))
		for i, u := range units {
			tokens := 0
			for _, m := range u.Messages {
				tokens += s.CountMessage(m)
			}
			require.Equal(t, tokens, u.Tokens)
			require.Equal(t, u.Start, u.Messages[0].Role == chat.RoleUser && !strings.Contains(u.Messages[0].Text(), "<tool-result call="))
			require.False(t, u.Current && slices.ContainsFunc(units[i+1:], func(u history.Unit) bool { return u.Start }))
			last := sessiontest.Entry(t, session, u.Last)
			if len(u.Messages) > 1 && u.Last != u.ID {
				require.Equal(t, chat.RoleTool, last.Message().Role)
			}
		}
	}
}

func TestAnyCutIsThatOfTheNaiveImplementation(t *testing.T) {
	t.Parallel()
	cuts, unshown := 0, 0
	for seed := range uint64(cases(3000)) {
		cut, between := requireAnyCut(t, seed)
		if cut {
			cuts++
		}
		if between {
			unshown++
		}
	}
	require.Greater(t, cuts, cases(1200))
	require.Greater(t, unshown, cases(50))
}

func FuzzCut(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { requireAnyCut(t, seed) })
}

func TestAClippedUnitFitsAndKeepsShortTexts(t *testing.T) {
	long := strings.Repeat("abc ", 1000)
	said := chat.AssistantMessage("I write it.")
	said.ToolCalls = []chat.ToolCall{{ID: "a", Name: "write", Arguments: `{"path":"a.go","text":"` + long + `"}`}, {ID: "b", Name: "read", Arguments: "{}"}}
	whole := history.Unit{ID: "e1", Messages: []chat.Message{said, chat.ToolResult("a", "Written."), chat.ToolResult("b", long)}}
	for _, limit := range []int{2500, 1000, 300, 100} {
		u := whole.Clipped(quarter{}, limit, 0.4)
		require.Equal(t, "e1", u.ID)
		counted := 0
		for _, m := range u.Messages {
			counted += quarter{}.CountMessage(m)
		}
		require.Equal(t, counted, u.Tokens)
		require.LessOrEqual(t, u.Tokens, limit+30, "messages cost tokens beyond their texts")
		require.NoError(t, chat.Validate(append([]chat.Message{chat.UserMessage("x")}, u.Messages...)))
		require.Equal(t, "I write it.", u.Messages[0].Text())
		require.Equal(t, "{}", u.Messages[0].ToolCalls[1].Arguments)
		require.Equal(t, limit < 2000, strings.Contains(u.Messages[2].Text(), "cut here"))
		require.Contains(t, u.Messages[0].ToolCalls[0].Arguments, `"a.go"`)
	}
	require.Equal(t, long, whole.Messages[2].Text(), "the original is unchanged")
	require.Contains(t, whole.Messages[0].ToolCalls[0].Arguments, long)
}

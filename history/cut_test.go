package history_test

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
)

// A rule is a value: that of a product, or one with a field changed.
func ExampleCut() {
	session := &history.Session{}
	err := session.Append(
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
	rule := history.OhMyPiCut()
	rule.Tokens = 250
	for _, rule := range []history.Cut{history.CopilotChatCut(), rule, {Messages: 4}} {
		point, err := rule.Find(session.PathTo(""), sizing.Sizing{Tokenizer: sizing.Estimator{MessageChars: 160}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d entries covered, %d kept from %s on; within the turn of %q\n", len(point.Covered), len(point.Kept), point.FirstKept, point.SplitTurn)
	}
	_, err = history.A3SCut().Find(session.PathTo(""), sizing.Sizing{Tokenizer: sizing.Estimator{}})
	fmt.Println(err)
	// Output:
	// 7 entries covered, 2 kept from e8 on; within the turn of "e5"
	// 4 entries covered, 5 kept from e5 on; within the turn of ""
	// 4 entries covered, 5 kept from e5 on; within the turn of ""
	// history: there is no place to cut at that leaves something to cover
}

// pathOf makes a path from a sketch. Each entry's id is its kind and its place: "u" a user's message, "a" an
// assistant's, "c" one with a call, "d" with two, "r" the first's result and "q" the second's, "e" an empty answer, "v" an
// empty message of the user's; "x" a shell command and "h" one hidden from the model, "m" a custom message, "b" a branch
// summary; "l" a label, "n" a custom entry. "r:3" and "q:3" answer the call at place 3, "k:3" is a compaction that keeps from
// there on, "k" one that keeps nothing.
func pathOf(sketch string) []history.Entry {
	var path []history.Entry
	last := 0
	for i, word := range strings.Fields(sketch) {
		kind, to, given := strings.Cut(word, ":")
		e := history.Entry{ID: fmt.Sprint(kind, i)}
		say := func(m chat.Message) { e.Body = history.Message{Message: m} }
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
			e.Body = history.Shell{Command: "ls", Output: e.ID, Hidden: kind == "h"}
		case "m":
			e.Body = history.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text(e.ID)}}
		case "b":
			e.Body = history.BranchSummary{Summary: history.Summary{Text: e.ID}}
		case "l":
			e.Body = history.Label{Text: "here"}
		case "n":
			e.Body = history.Custom{Name: "state"}
		case "k":
			c := history.Compaction{Messages: []chat.Message{chat.UserMessage(e.ID)}}
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

// along gives entries one after the other.
func along(path []history.Entry) iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		for _, e := range path {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func idsOf(entries []history.Entry) string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.ID
	}
	return strings.Join(list, " ")
}

// found writes a cut as "covered | kept", with the head before and the turn that is split after it.
func found(p history.CutPoint, err error) string {
	if err != nil {
		return err.Error()
	}
	s := idsOf(p.Covered) + " | " + idsOf(p.Kept)
	if len(p.Head) > 0 {
		s = idsOf(p.Head) + " + " + s
	}
	if p.SplitTurn != "" {
		s += " splits " + p.SplitTurn
	}
	if p.Over {
		s += " over"
	}
	return s
}

var none = history.ErrNoCut.Error()

// Each message takes ten tokens.
func TestCut(t *testing.T) {
	newest := history.Cut{}
	tokens := func(n int) history.Cut { return history.Cut{Tokens: n} }
	messages := func(n int) history.Cut { return history.Cut{Messages: n} }
	for _, tt := range []struct {
		rule string
		cut  history.Cut
		path string
		want string
	}{
		{"by default the newest round is kept", newest, "u c r c r", "u0 c1 r2 | c3 r4 splits u0"},
		{"or the newest message", newest, "u c r u", "u0 c1 r2 | u3"},
		{"a turn of one round is kept whole", newest, "u a u c r", "u0 a1 | u2 c3 r4"},
		{"that is all there is", newest, "u c r", none},
		{"one message", newest, "u", none},
		{"no message", newest, "", none},
		{"nothing that was said", newest, "l n k", none},
		{"a session that starts with an answer", newest, "a a", "a0 | a1 splits a0"},

		{"a tail of so many tokens", tokens(40), "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"of that or less", tokens(49), "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"the first message of a turn that is cut counts", tokens(40), "u c r c r c r", "u0 c1 r2 c3 r4 | c5 r6 splits u0"},
		{"it is in the view", tokens(50), "u c r c r c r", "u0 c1 r2 | c3 r4 c5 r6 splits u0"},
		{"what fits whole is not cut", tokens(60), "u a u a u a", none},
		{"a newest round over the limit is kept", tokens(10), "u c r c r", "u0 c1 r2 | c3 r4 splits u0 over"},
		{"never at a result", tokens(30), "u a u c r c r", "u0 a1 u2 c3 r4 | c5 r6 splits u2"},
		{"never within parallel calls", tokens(50), "u a u d q r d r q", "u0 a1 u2 d3 q4 r5 | d6 r7 q8 splits u2"},
		{"an interrupted call holds nothing back", tokens(30), "u c u a", "u0 c1 | u2 a3"},
		{"a late result holds its call", tokens(30), "u a u c u r:3 u a", "u0 a1 u2 c3 u4 r5:3 | u6 a7"},
		{"whatever was said between", newest, "u a u c u a r:3", "u0 a1 | u2 c3 u4 a5 r6"},
		{"a result of a call that was covered before is the log's alone", newest, "u c u a k:2 u r:1 a u", "u2 a3 k4 u5 r6 a7 | u8"},

		{"a shell command starts a turn", newest, "u a x a", "u0 a1 | x2 a3"},
		{"one that is hidden is none", newest, "u a h a", "u0 a1 | h2 a3 splits u0"},
		{"a custom message starts a turn", newest, "u a m a a", "u0 a1 m2 a3 | a4 splits m2"},
		{"a branch summary starts a turn", newest, "u a b a a", "u0 a1 b2 a3 | a4 splits b2"},
		{"an empty answer is no place", newest, "u a u e", "u0 a1 | u2 e3"},
		{"nor is an empty message", newest, "u a a v", "u0 a1 | a2 v3 splits u0"},
		{"entries without words go with what is kept", newest, "u a l n u", "u0 a1 | l2 n3 u4"},
		{"up to a message", newest, "u l a l u", "u0 l1 a2 | l3 u4"},
		{"or to a compaction", newest, "u a u a k:2 l u", "u2 a3 k4 | l5 u6"},

		{"what is covered is not covered again", newest, "u a u a k:2 u", "u2 a3 k4 | u5"},
		{"a compaction that kept nothing", newest, "u a k u a u", "u3 a4 | u5"},
		{"nothing is left to cover", newest, "u a u k:2", none},
		{"what a compaction kept of a turn is of that turn", newest, "u c r c r k:3 c r", "c3 r4 k5 | c6 r7 splits u0"},
		{"of two compactions the latest counts", newest, "u a u a k:2 u a k:5 u", "u5 a6 k7 | u8"},
		{"since the compaction only", history.Cut{Tokens: 30, SinceCompaction: true}, "u a u a k:2 u a a u", "u2 a3 k4 u5 a6 | a7 u8 splits u5"},
		{"what it had kept is covered then, and nothing lost", history.Cut{Tokens: 25, SinceCompaction: true}, "u a u a k:2 u a u", "u2 a3 k4 u5 a6 | u7"},
		{"nothing since", history.Cut{Tokens: 1000, SinceCompaction: true}, "u a u a k:2 u a", none},

		{"so many messages", messages(3), "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"results are messages", messages(4), "u c r c r c r", "u0 c1 r2 | c3 r4 c5 r6 splits u0"},
		{"a round is kept whole", messages(3), "u c r c r c r", "u0 c1 r2 | c3 r4 c5 r6 splits u0"},
		{"fewer there are not", messages(7), "u a u a u a", none},
		{"so many are enough", history.Cut{Messages: 2, Tokens: 40}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"tokens go before messages", history.Cut{Messages: 4, Tokens: 25}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"a share of the window", history.Cut{Share: 0.04}, "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"the smaller of both", history.Cut{Share: 0.04, Tokens: 20}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"the smaller of both, the other", history.Cut{Share: 0.02, Tokens: 40}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},

		{"the first messages stay", history.Cut{First: 2}, "u a u a u", "u0 a1 + u2 a3 | u4"},
		{"in whole rounds", history.Cut{First: 2}, "u c r u a u", "u0 + c1 r2 u3 a4 | u5"},
		{"of the whole path", history.Cut{First: 2}, "u a u a k:2 u", "u0 a1 + u2 a3 k4 | u5"},
		{"with the first messages everything is kept", history.Cut{First: 2, Messages: 2}, "u a u a", none},

		{"a call that may be running is kept at a tool boundary", history.Cut{ToolBoundary: true}, "u a u c u", "u0 a1 | u2 c3 u4"},
		{"one of parallel calls too", history.Cut{ToolBoundary: true}, "u a u d q u", "u0 a1 | u2 d3 q4 u5"},
		{"an older one was interrupted", history.Cut{ToolBoundary: true}, "u c u a u", "u0 c1 u2 a3 | u4"},
		{"what was answered is done", history.Cut{ToolBoundary: true}, "u a u c r u", "u0 a1 u2 c3 r4 | u5"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := pathOf(tt.path)
			s := sizing.Sizing{Window: 1000, Tokenizer: flat{}}
			p, err := tt.cut.Find(along(path), s)
			want := strings.NewReplacer(":3", "", ":1", "").Replace(tt.want)
			require.Equal(t, want, found(p, err))
			requireCut(t, tt.cut, path, p, err)
		})
	}
}

// The rules of the five, on a path of turns of the user's message and two rounds of a call: 200 tokens each message.
func TestCutsOfTheFive(t *testing.T) {
	long := pathOf(strings.Repeat("u c r c r ", 200))
	running := pathOf(strings.Repeat("u c r c r ", 200) + "u c u")
	s := sizing.Sizing{Window: 200_000, Tokenizer: hundreds{}}
	small := s
	small.Window = 10_000
	for _, tt := range []struct {
		rule   string
		cut    history.Cut
		path   []history.Entry
		sizing sizing.Sizing
		at     string
		kept   int
		split  string
	}{
		{"Copilot Chat keeps the round that overflowed", history.CopilotChatCut(), long, s, "c998", 2, "u995"},
		{"Copilot CLI keeps no more", history.CopilotCLICut(), long, s, "c998", 2, "u995"},
		{"but the tool that runs", history.CopilotCLICut(), running, s, "u1000", 3, ""},
		{"oh-my-pi keeps 20,000 tokens", history.OhMyPiCut(), long, s, "u900", 100, ""},
		{"A3S keeps the first 2 and the newest 20 messages", history.A3SCut(), long, s, "u980", 20, ""},
		{"stagewise keeps 10 messages", history.StagewiseCut(), long, s, "u990", 10, ""},
		{"or a fifth of the window", history.StagewiseCut(), long, small, "u990", 10, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			p, err := tt.cut.Find(along(tt.path), tt.sizing)
			require.NoError(t, err)
			require.Equal(t, tt.at, p.At)
			require.Len(t, p.Kept, tt.kept)
			require.Equal(t, tt.split, p.SplitTurn)
			require.Equal(t, tt.cut.First > 0, len(p.Head) > 0)
			requireCut(t, tt.cut, tt.path, p, err)
		})
	}
}

// hundreds takes a message for 200 tokens.
type hundreds struct{ quarter }

func (hundreds) CountMessage(chat.Message) int { return 200 }

func TestStagewiseCutsAtItsEdges(t *testing.T) {
	rule := history.StagewiseCut()
	for _, tt := range []struct {
		rule   string
		path   string
		window int
		want   string
	}{
		{"ten messages are enough, though more would fit", "u a u a u a u a u a u a", 100_000, "u0 a1 | u2 a3 u4 a5 u6 a7 u8 a9 u10 a11"},
		{"the next message would take more than the budget", "u a u a u a", 200, "u0 a1 | u2 a3 u4 a5"},
		{"the last message alone takes more", "u a u", 40, "u0 a1 | u2 over"},
		{"fewer than ten, and all fit", "u a u a", 100_000, none},
		{"ten, and nothing before them", "u a u a u a u a u a", 100_000, none},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			p, err := rule.Find(along(pathOf(tt.path)), sizing.Sizing{Window: tt.window, Tokenizer: flat{}})
			require.Equal(t, tt.want, found(p, err))
		})
	}
}

func TestCutRefusesWhatMeansNothing(t *testing.T) {
	known := sizing.Sizing{Window: 1000, Tokenizer: quarter{}}
	for _, tt := range []struct {
		rule   string
		cut    history.Cut
		sizing sizing.Sizing
		want   string
	}{
		{"tokens below 0", history.Cut{Tokens: -1}, known, "Tokens is -1"},
		{"messages below 0", history.Cut{Messages: -1}, known, "Messages -1"},
		{"first messages below 0", history.Cut{First: -1}, known, "First -1"},
		{"a share below 0", history.Cut{Share: -0.1}, known, "Cut.Share is -0.1"},
		{"a share above 1", history.Cut{Share: 1.1}, known, "Cut.Share is 1.1"},
		{"a share that is no number", history.Cut{Share: math.NaN()}, known, "Cut.Share is NaN"},
		{"a share of an unknown window", history.Cut{Share: 0.2}, sizing.Sizing{Tokenizer: quarter{}}, "set Sizing.Window"},
		{"limits that mean nothing", history.Cut{Limits: history.Limits{Head: 2}}, known, "Limits.Head is 2"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			_, err := tt.cut.Find(along(pathOf("u a u a")), tt.sizing)
			require.ErrorContains(t, err, tt.want)
			require.NotErrorIs(t, err, history.ErrNoCut)
		})
	}
}

func TestCutCountsWhatIsShown(t *testing.T) {
	path := pathOf("u a u a u c r")
	path[0].Body = history.Message{Message: chat.UserMessage(numberedLines(100))}
	path[6].Body = history.Message{Message: chat.ToolResult("5", numberedLines(1000))} // 2500 tokens
	rule := history.Cut{Tokens: 600}
	p, err := rule.Find(along(path), in(1000)) // a half of which a round's results may take
	require.NoError(t, err)
	require.False(t, p.Over)
	require.LessOrEqual(t, p.Tokens, 600)
	require.Greater(t, len(p.Kept), 3, "there is room for more than the round")

	p, err = rule.Find(along(path), sizing.Sizing{Tokenizer: quarter{}})
	require.NoError(t, err)
	require.True(t, p.Over, "of an unknown window nothing is cut")
	require.Equal(t, "u4", p.FirstKept)
}

// requireCut checks a cut against the rules, each taken by its words.
func requireCut(t testing.TB, rule history.Cut, path []history.Entry, p history.CutPoint, err error) {
	t.Helper()
	if errors.Is(err, history.ErrNoCut) {
		require.Empty(t, p)
		return
	}
	require.NoError(t, err)
	require.NotEmpty(t, p.Kept)
	require.NotEmpty(t, p.Covered)
	require.Equal(t, p.Kept[0].ID, p.FirstKept)
	cut := len(path) - len(p.Kept)
	requireSame(t, path[cut:], p.Kept)
	requireSame(t, path[cut-len(p.Covered):cut], p.Covered)
	requireSame(t, path[:len(p.Head)], p.Head)
	require.LessOrEqual(t, len(p.Head), cut-len(p.Covered))

	at := cut
	for path[at].ID != p.At {
		require.True(t, wordless(path[at]), "%s is kept before the cut", path[at].ID)
		at++
	}
	require.True(t, speaks(path[at]), "the cut lies at %s", p.At)
	require.NotEqual(t, chat.RoleTool, path[at].Message().Role)
	if len(p.Covered) > 0 && !(rule.SinceCompaction && cut > 0 && path[cut-1].Type() == history.TypeCompaction) {
		last := p.Covered[len(p.Covered)-1]
		require.False(t, wordless(last), "%s is covered", last.ID)
	}
	require.True(t, anySpeaks(p.Covered), "nothing that was said is covered")

	callers := map[string]int{}
	first := cut - len(p.Covered)
	for i, e := range path {
		for _, c := range e.Message().ToolCalls {
			callers[c.ID] = i
		}
		if e.Message().Role != chat.RoleTool || i < at {
			continue
		}
		caller, known := callers[e.Message().ToolCallID]
		if known && caller >= first && caller < cut && speaks(path[caller]) {
			t.Fatalf("the call of %s is covered", e.ID)
		}
	}

	start := at
	for start >= 0 && !starts(path[start]) {
		start--
	}
	switch {
	case start == at:
		require.Empty(t, p.SplitTurn)
		require.Empty(t, p.TurnPrefix)
	case start < 0:
		require.NotEmpty(t, p.SplitTurn)
	default:
		require.Equal(t, path[start].ID, p.SplitTurn)
		requireSame(t, path[max(start, first):cut], p.TurnPrefix)
	}
	if rule.Tokens > 0 && !p.Over {
		require.LessOrEqual(t, p.Tokens, rule.Tokens)
	}
	if rule.Messages > 0 && rule.Tokens == 0 && rule.Share == 0 {
		require.GreaterOrEqual(t, p.Messages, rule.Messages)
	}
}

// requireSame checks that two lists are of the same entries.
func requireSame(t testing.TB, want, got []history.Entry) {
	t.Helper()
	if !slices.EqualFunc(want, got, func(a, b history.Entry) bool { return a.ID == b.ID }) {
		t.Fatalf("want %s, got %s", idsOf(want), idsOf(got))
	}
}

// starts tells that a turn starts at an entry.
func starts(e history.Entry) bool {
	switch e.Type() {
	case history.TypeMessage:
		return e.Message().Role == chat.RoleUser
	case history.TypeCustomMessage, history.TypeBranchSummary:
		return true
	case history.TypeShell:
		return !e.Body.(history.Shell).Hidden
	}
	return false
}

// wordless tells that an entry is nothing to the model.
func wordless(e history.Entry) bool {
	return e.Type() != history.TypeMessage && e.Type() != history.TypeCompaction && !starts(e)
}

// speaks tells that an entry says something to the model.
func speaks(e history.Entry) bool {
	if e.Type() != history.TypeMessage {
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

func anySpeaks(entries []history.Entry) bool {
	for _, e := range entries {
		if e.Message().Role != chat.RoleTool && speaks(e) {
			return true
		}
	}
	return false
}

// anyRule is one of the five, or a random one.
func anyRule(r *rand.Rand) history.Cut {
	five := []history.Cut{history.CopilotChatCut(), history.CopilotCLICut(), history.OhMyPiCut(), history.A3SCut(), history.StagewiseCut()}
	if r.IntN(3) == 0 {
		return five[r.IntN(len(five))]
	}
	return history.Cut{
		Tokens: r.IntN(2) * r.IntN(400), Share: float64(r.IntN(2)) * r.Float64(), Messages: r.IntN(2) * r.IntN(12),
		First: r.IntN(2) * r.IntN(5), ToolBoundary: r.IntN(2) == 0, SinceCompaction: r.IntN(3) == 0,
	}
}

// anyPath is a path of all kinds of entries, results late, missing and of no call among them.
func anyPath(r *rand.Rand) []history.Entry {
	var words []string
	for i := range r.IntN(60) {
		kinds := []string{"u", "a", "c r", "d r q", "d q r", "d q", "c", "e", "v", "x", "h", "m", "b", "l", "n"}
		kind := kinds[r.IntN(len(kinds))]
		switch {
		case r.IntN(12) == 0 && i > 0:
			kind = fmt.Sprint([]string{"r:", "q:", "k:"}[r.IntN(3)], r.IntN(i))
		case r.IntN(40) == 0:
			kind = "k"
		}
		words = append(words, kind)
	}
	return pathOf(strings.Join(words, " "))
}

func requireAnyCut(t testing.TB, seed uint64) (cut bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 4))
	path, rule := anyPath(r), anyRule(r)
	s := sizing.Sizing{Window: 1 + r.IntN(3000), Tokenizer: quarter{}}
	p, err := rule.Find(along(path), s)
	requireCut(t, rule, path, p, err)
	want, wantErr := naiveCut(rule, path, s)
	require.Equal(t, want, p.At, "seed %d, %+v: %s", seed, rule, idsOf(path))
	require.Equal(t, wantErr, err)
	return err == nil
}

func TestAnyCut(t *testing.T) {
	t.Parallel()
	cuts := 0
	for seed := range uint64(cases(3000)) {
		if requireAnyCut(t, seed) {
			cuts++
		}
	}
	require.Greater(t, cuts, cases(1200))
}

func FuzzCut(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { requireAnyCut(t, seed) })
}

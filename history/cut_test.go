package history_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/sizing"
)

// A rule is a value: that of a product, or one with a field changed.
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
	// history: there is no place to cut at that leaves something to cover
}

// pathOf makes a path from a sketch. Each entry's id is its kind and its place: "u" a user's message, "a" an
// assistant's, "c" one with a call, "d" with two, "r" the first's result and "q" the second's, "e" an empty answer, "v" an
// empty message of the user's; "x" a shell command and "h" one hidden from the model, "m" a custom message, "b" a branch
// summary; "l" a label, "n" a custom entry. "r:3" and "q:3" answer the call at place 3, "k:3" is a compaction that keeps from
// there on, "k" one that keeps nothing; "w" is a clearing of all results before it, "w:3" of the arguments of the first call
// at place 3.
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
		case "w":
			const text = `"what was here is not needed any more"`
			var c history.Clearing
			for k, before := range path {
				if !given && before.Message().Role == chat.RoleTool {
					c.Results = append(c.Results, history.Cleared{Entry: before.ID, Text: text})
				}
				if given && to == fmt.Sprint(k) && len(before.Message().ToolCalls) > 0 {
					c.Arguments = append(c.Arguments, history.Cleared{Entry: before.ID, Call: before.Message().ToolCalls[0].ID, Text: text})
				}
			}
			e.Body = c
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

// along returns entries one after the other.
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

// sessionOf says what a path does, one entry after the other. What a session refuses, such as a result of no call, is left
// out if that is asked for.
func sessionOf(t testing.TB, path []history.Entry, lenient bool) *history.Session {
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

// found writes a cut as "covered | kept", with the number of messages of the head before, the first entry that is kept where
// it is no unit, and what is covered of the turn that is cut after it.
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

// Each message takes ten tokens.
func TestACutKeepsWhatItsFieldsSay(t *testing.T) {
	newest := history.Cut{}
	tokens := func(n int) history.Cut { return history.Cut{Tokens: n} }
	messages := func(n int) history.Cut { return history.Cut{Messages: n} }
	for _, tt := range []struct {
		rule string
		cut  history.Cut
		path string
		want string
	}{
		{"by default the newest round is kept", newest, "u c r c r", "u0 c1-r2 | c3-r4 prefix u0 c1-r2"},
		{"or the newest message", newest, "u c r u", "u0 c1-r2 | u3"},
		{"a turn of one round is kept whole", newest, "u a u c r", "u0 a1 | u2 c3-r4"},
		{"that is all there is", newest, "u c r", none},
		{"one message", newest, "u", none},
		{"no message", newest, "", none},
		{"nothing that was said", newest, "l n k", none},
		{"a session that starts with an answer", newest, "a a", "a0 | a1 prefix a0"},

		{"a tail of so many tokens", tokens(40), "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"of that or less", tokens(49), "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"the first message of a turn that is cut counts", tokens(40), "u c r c r c r", "u0 c1-r2 c3-r4 | c5-r6 prefix u0 c1-r2 c3-r4"},
		{"it is in the view", tokens(50), "u c r c r c r", "u0 c1-r2 | c3-r4 c5-r6 prefix u0 c1-r2"},
		{"what fits whole is not cut", tokens(60), "u a u a u a", none},
		{"a newest round over the limit is kept", tokens(10), "u c r c r", "u0 c1-r2 | c3-r4 prefix u0 c1-r2 over"},
		{"never at a result", tokens(30), "u a u c r c r", "u0 a1 u2 c3-r4 | c5-r6 prefix u2 c3-r4"},
		{"never within parallel calls", tokens(50), "u a u d q r d r q", "u0 a1 u2 d3-r5 | d6-q8 prefix u2 d3-r5"},
		{"an interrupted call holds nothing back", tokens(30), "u c u a", "u0 c1 | u2 a3"},
		{"a late result holds its call", tokens(30), "u a u c u r:3 u a", "u0 a1 u2 c3-r5 u4 | u6 a7"},
		{"whatever was said between", newest, "u a u c u a r:3", "u0 a1 | u2 c3-r6 u4 a5"},
		{"a result of a call that was covered before is the log's alone", newest, "u c u a k:2 u r:1 a u", "u2 a3 u5 a7 | u8"},

		{"a shell command starts a turn", newest, "u a x a", "u0 a1 | x2 a3"},
		{"one that is hidden is none", newest, "u a h a", "u0 a1 | (h2) a3 prefix u0 a1"},
		{"a custom message starts a turn", newest, "u a m a a", "u0 a1 m2 a3 | a4 prefix m2 a3"},
		{"a branch summary starts a turn", newest, "u a b a a", "u0 a1 b2 a3 | a4 prefix b2 a3"},
		{"an empty answer is no place", newest, "u a u e", "u0 a1 | u2"},
		{"nor is an empty message", newest, "u a a v", "u0 a1 | a2 prefix u0 a1"},
		{"entries without words go with what is kept", newest, "u a l n u", "u0 a1 | (l2) u4"},
		{"up to a message", newest, "u l a l u", "u0 a2 | (l3) u4"},
		{"or to a compaction", newest, "u a u a k:2 l u", "u2 a3 | (l5) u6"},

		{"what is covered is not covered again", newest, "u a u a k:2 u", "u2 a3 | u5"},
		{"a compaction that kept nothing", newest, "u a k u a u", "u3 a4 | u5"},
		{"nothing is left to cover", newest, "u a u k:2", none},
		{"what a compaction kept of a turn is of that turn", newest, "u c r c r k:3 c r", "u0 c3-r4 | c6-r7 prefix u0 c3-r4"},
		{"of two compactions the latest counts", newest, "u a u a k:2 u a k:5 u", "u5 a6 | u8"},
		{"since the compaction only", history.Cut{Tokens: 30, SinceCompaction: true}, "u a u a k:2 u a a u", "u2 a3 u5 a6 | a7 u8 prefix u5 a6"},
		{"what it had kept is covered then, and nothing lost", history.Cut{Tokens: 25, SinceCompaction: true}, "u a u a k:2 u a u", "u2 a3 u5 a6 | u7"},
		{"nothing since", history.Cut{Tokens: 1000, SinceCompaction: true}, "u a u a k:2 u a", none},

		{"so many messages", messages(3), "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"results are messages", messages(4), "u c r c r c r", "u0 c1-r2 | c3-r4 c5-r6 prefix u0 c1-r2"},
		{"a round is kept whole", messages(3), "u c r c r c r", "u0 c1-r2 | c3-r4 c5-r6 prefix u0 c1-r2"},
		{"fewer there are not", messages(7), "u a u a u a", none},
		{"so many rounds", history.Cut{Rounds: 2}, "u c r c r c r c r", "u0 c1-r2 c3-r4 | c5-r6 c7-r8 prefix u0 c1-r2 c3-r4"},
		{"whatever was said between the rounds", history.Cut{Rounds: 2}, "u a u a u u a u", "u0 a1 | u2 a3 u4 u5 a6 u7"},
		{"with what starts their turn", history.Cut{Rounds: 1}, "u a u a", "u0 a1 | u2 a3"},
		{"fewer rounds there are not", history.Cut{Rounds: 3}, "u a u a", none},
		{"tokens go before rounds", history.Cut{Rounds: 3, Tokens: 25}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"of messages and rounds so many as both ask for", history.Cut{Rounds: 1, Messages: 4}, "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"so many are enough", history.Cut{Messages: 2, Tokens: 40}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"tokens go before messages", history.Cut{Messages: 4, Tokens: 25}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"a share of the window", history.Cut{Share: 0.04}, "u a u a u a", "u0 a1 | u2 a3 u4 a5"},
		{"the smaller of both", history.Cut{Share: 0.04, Tokens: 20}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},
		{"the smaller of both, the other", history.Cut{Share: 0.02, Tokens: 40}, "u a u a u a", "u0 a1 u2 a3 | u4 a5"},

		{"the first messages stay", history.Cut{First: 2}, "u a u a u", "2 + u2 a3 | u4"},
		{"in whole rounds", history.Cut{First: 2}, "u c r u a u", "1 + c1-r2 u3 a4 | u5"},
		{"of the whole path", history.Cut{First: 2}, "u a u a k:2 u", "2 + u2 a3 | u5"},
		{"with the first messages everything is kept", history.Cut{First: 2, Messages: 2}, "u a u a", none},

		{"a call that may be running is kept at a tool boundary", history.Cut{ToolBoundary: true}, "u a u c u", "u0 a1 | u2 c3 u4"},
		{"one of parallel calls too", history.Cut{ToolBoundary: true}, "u a u d q u", "u0 a1 | u2 d3-q4 u5"},
		{"an older one was interrupted", history.Cut{ToolBoundary: true}, "u c u a u", "u0 c1 u2 a3 | u4"},
		{"what was answered is done", history.Cut{ToolBoundary: true}, "u a u c r u", "u0 a1 u2 c3-r4 | u5"},
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

// The rules of the five, on a path of turns of the user's message and two rounds of a call: 200 tokens each message.
func TestTheCutsOfTheFivePolicies(t *testing.T) {
	long := pathOf(strings.Repeat("u c r c r ", 200))
	running := pathOf(strings.Repeat("u c r c r ", 200) + "u c u")
	s := elements.Sizing{PromptBudget: 200_000, Tokenizer: hundreds{}}
	small := s
	small.PromptBudget = 10_000
	for _, tt := range []struct {
		rule   string
		cut    history.Cut
		path   []history.Entry
		sizing elements.Sizing
		at     string
		kept   int // messages
		split  string
	}{
		{"the newest round is kept", newestRound, long, s, "c998", 2, "u995"},
		{"and no more at a tool boundary", toolBoundary, long, s, "c998", 2, "u995"},
		{"but the tool that runs", toolBoundary, running, s, "u1000", 4, ""},
		{"20,000 tokens are kept", newestTokens, long, s, "u900", 100, ""},
		{"the first 2 and the newest 20 messages are kept", firstAndNewest, long, s, "u980", 20, ""},
		{"10 messages are kept", shareOrMessages, long, s, "u990", 10, ""},
		{"or a fifth of the window", shareOrMessages, long, small, "u990", 10, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			p, err := tt.cut.Find(t.Context(), viewOf(t, sessionOf(t, tt.path, false)), tt.sizing)
			require.NoError(t, err)
			require.Equal(t, tt.at, p.Units[p.At].ID)
			require.Len(t, messagesIn(p.Kept()), tt.kept)
			split := ""
			if prefix := p.TurnPrefix(); len(prefix) > 0 {
				split = prefix[0].ID
			}
			require.Equal(t, tt.split, split)
			require.Equal(t, tt.cut.First > 0, len(p.Head) > 0)
			requireCut(t, tt.cut, tt.path, p, err)
		})
	}
}

// hundreds takes a message for 200 tokens.
type hundreds struct{ quarter }

func (hundreds) CountMessage(chat.Message) int { return 200 }

func TestAShareCutsAtItsEdges(t *testing.T) {
	rule := shareOrMessages
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
			v := viewOf(t, sessionOf(t, pathOf(tt.path), false))
			p, err := rule.Find(t.Context(), v, elements.Sizing{PromptBudget: tt.window, Tokenizer: flat{}})
			require.Equal(t, tt.want, found(p, err))
		})
	}
}

func TestCutRefusesWhatMeansNothing(t *testing.T) {
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
		{"a share that is no number", history.Cut{Share: math.NaN()}, known, "Cut.Share is NaN"},
		{"a share of an unknown window", history.Cut{Share: 0.2}, elements.Sizing{Tokenizer: quarter{}}, "set Sizing.Window"},
		{"limits that mean nothing", history.Cut{Limits: history.Limits{Head: 2}}, known, "Limits.Head is 2"},
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

func TestCutCountsWhatIsShown(t *testing.T) {
	path := pathOf("u a u a u c r")
	path[0].Body = history.Message{Message: chat.UserMessage(numberedLines(100))}
	path[6].Body = history.Message{Message: chat.ToolResult("5", numberedLines(1000))} // 2500 tokens
	rule := history.Cut{Tokens: 600}
	v := viewOf(t, sessionOf(t, path, false))
	p, err := rule.Find(t.Context(), v, in(1000)) // a half of which a round's results may take
	require.NoError(t, err)
	require.False(t, p.Over)
	require.LessOrEqual(t, p.Tokens, 600)
	require.Greater(t, len(messagesIn(p.Kept())), 3, "there is room for more than the round")

	p, err = rule.Find(t.Context(), v, elements.Sizing{Tokenizer: quarter{}})
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
	require.NotEmpty(t, p.Kept())
	require.NotEmpty(t, p.Covered())
	index := func(id string) int {
		return slices.IndexFunc(path, func(e history.Entry) bool { return e.ID == id })
	}
	cut, at := index(p.FirstKept), index(p.Units[p.At].ID)
	require.True(t, cut >= 0 && cut <= at)
	for _, e := range path[cut:at] {
		require.True(t, wordless(e), "%s is kept before the cut", e.ID)
	}
	require.True(t, speaks(path[at]), "the cut lies at %s", path[at].ID)
	require.NotEqual(t, chat.RoleTool, path[at].Message().Role)
	require.False(t, wordless(path[cut-1]), "%s is covered", path[cut-1].ID)

	callers := map[string]string{}
	for i, e := range path {
		for _, c := range e.Message().ToolCalls {
			callers[c.ID] = e.ID
		}
		if e.Message().Role != chat.RoleTool || i < at {
			continue
		}
		for _, u := range p.Units[:p.At] {
			if u.ID == callers[e.Message().ToolCallID] {
				t.Fatalf("the call of %s is covered", e.ID)
			}
		}
	}

	start := at
	for start >= 0 && !starts(path[start]) {
		start--
	}
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
	if rule.Tokens == 0 && rule.Share == 0 {
		require.GreaterOrEqual(t, p.Messages, rule.Messages)
		require.GreaterOrEqual(t, roundsIn(p.Kept()), rule.Rounds)
	}
}

// roundsIn counts the rounds among units.
func roundsIn(units []history.Unit) (n int) {
	for _, u := range units {
		if !u.Start {
			n++
		}
	}
	return n
}

// messagesIn returns the messages of units.
func messagesIn(units []history.Unit) (messages []chat.Message) {
	for _, u := range units {
		messages = append(messages, u.Messages...)
	}
	return messages
}

// requireSame checks that two lists are of the same entries.
func requireSame(t testing.TB, want, got []history.Entry) {
	t.Helper()
	if !slices.EqualFunc(want, got, func(a, b history.Entry) bool { return a.ID == b.ID }) {
		t.Fatalf("want %s, got %s", idsOf(want), idsOf(got))
	}
}

// starts reports whether a turn starts at an entry.
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

// wordless reports whether an entry is nothing to the model.
func wordless(e history.Entry) bool {
	return e.Type() != history.TypeMessage && e.Type() != history.TypeCompaction && !starts(e)
}

// speaks reports whether an entry says something to the model.
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

// anyRule returns one of the five, or a random one.
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

// anyPath returns a path of all kinds of entries, results late, missing and of no call among them.
func anyPath(r *rand.Rand) []history.Entry {
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

func requireAnyCut(t testing.TB, seed uint64) (cut bool) {
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
	return err == nil
}

// requireWalk goes from the earliest place at which a rule may cut to the latest.
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

// From where a rule cuts, each later cut keeps one place less, until the newest round alone is kept.
func TestLaterKeepsOnePlaceLess(t *testing.T) {
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

// If a rule keeps everything, the earliest cut covers least.
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

// A view that no session made has no path to cut.
func TestACutOfAViewWithoutASessionIsAnError(t *testing.T) {
	v := viewOf(t, sessionOf(t, pathOf("u a u a"), false))
	_, err := history.Cut{}.Find(t.Context(), fields(v), in(1000))
	require.ErrorContains(t, err, "not made by a session")
	require.Equal(t, unitIDs(v.Units(history.Limits{}, in(1000))), unitIDs(fields(v).Units(history.Limits{}, in(1000))))
}

// The units of a view are all that it shows after what stands for the compacted, each message once.
func TestUnitsAreAllThatAViewShows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(300)) {
		session := talkAtRandom(t, rand.New(rand.NewPCG(seed, 9))).session
		v := viewOf(t, session)
		s := elements.Sizing{Tokenizer: quarter{}} // of no window, so that nothing is cut
		units := v.Units(history.Limits{}, s)
		equal(t, v.Messages(), append(slices.Clip(v.Compacted), messagesIn(units)...))
		for i, u := range units {
			tokens := 0
			for _, m := range u.Messages {
				tokens += s.CountMessage(m)
			}
			require.Equal(t, tokens, u.Tokens)
			require.Equal(t, u.Start, u.Messages[0].Role == chat.RoleUser)
			require.False(t, u.Current && slices.ContainsFunc(units[i+1:], func(u history.Unit) bool { return u.Start }))
			last, err := session.Entry(t.Context(), u.Last)
			require.NoError(t, err)
			if len(u.Messages) > 1 && u.Last != u.ID {
				require.Equal(t, chat.RoleTool, last.Message().Role)
			}
		}
	}
}

func TestAnyCutObeysTheRulesOfCuts(t *testing.T) {
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

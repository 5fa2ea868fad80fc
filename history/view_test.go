package history_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// Messages for tables. Entries are numbered e1, e2, … in order.
var (
	user   = chat.UserMessage("do it")
	answer = chat.AssistantMessage("done")
)

func done(id string) chat.Message { return chat.ToolResult(id, "ok") }

// said3 has three turns: e1: e2(e3) e4() | e5: e6(e7 e8) e9() | e10: e11(e12) e13(e14).
func said3() []chat.Message {
	return []chat.Message{
		user, calls("a"), done("a"), answer,
		user, calls("b", "c"), done("b"), done("c"), answer,
		user, calls("d"), done("d"), calls("e"), done("e"),
	}
}

func TestACompactionCoversTheEntriesBeforeTheFirstKept(t *testing.T) {
	for _, tt := range []struct{ rule, firstKept, want string }{
		{"at the first user message nothing is covered", "e1", "S | e1: e2(e3) e4() | e5: e6(e7 e8) e9() | e10: e11(e12) e13(e14)"},
		{"at a user message its whole turn is kept", "e5", "S | e5: e6(e7 e8) e9() | e10: e11(e12) e13(e14)"},
		{"at a turn's first round the user message stays", "e6", "S | e5: e6(e7 e8) e9() | e10: e11(e12) e13(e14)"},
		{"in an older turn the user message stays with the kept rounds", "e9", "S | e5: e9() | e10: e11(e12) e13(e14)"},
		{"at the current user message the whole current turn is kept", "e10", "S | e10: e11(e12) e13(e14)"},
		{"in the current turn the user message stays with the kept rounds", "e13", "S | e10: e13(e14)"},
		{"a compaction of everything keeps the current user message until there is a newer one", "", "S | e10:"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := talk(t, said3()...)
			require.NoError(t, s.Compact(t.Context(), summary("S", tt.firstKept)))
			require.Equal(t, tt.want, shape(viewOf(t, s)))
			require.NoError(t, s.Append(t.Context(), user, answer))
			if tt.firstKept == "" {
				tt.want = "S"
			}
			require.Equal(t, tt.want+" | e16: e17()", shape(viewOf(t, s)))
		})
	}
}

func TestRoundsAfterACompactionOfEverythingJoinTheCurrentTurn(t *testing.T) {
	s := talk(t, user, calls("a", "b"), done("a"))
	require.NoError(t, s.Compact(t.Context(), summary("S", "")))
	require.Equal(t, "S | e1:", shape(viewOf(t, s)))
	require.NoError(t, s.Append(t.Context(), done("b")), "a covered call stays open")
	require.Equal(t, "S | e1: e5()", shape(viewOf(t, s)), "the result of a covered call is shown in its place")
	require.NoError(t, s.Append(t.Context(), answer))
	require.Equal(t, "S | e1: e5() e6()", shape(viewOf(t, s)))
}

func TestALateResultOfAKeptRoundIsKept(t *testing.T) {
	s := talk(t, user, calls("a"), user, calls("b"), done("b"), done("a"))
	require.NoError(t, s.Compact(t.Context(), summary("S", "e2")))
	require.Equal(t, "S | e1: e2(e6) | e3: e4(e5)", shape(viewOf(t, s)))
	require.NoError(t, s.Compact(t.Context(), summary("S", "e4")))
	require.Equal(t, "S | e3: e4(e5) e6()", shape(viewOf(t, s)), "a cut between a call and its result hides no result")
}

func TestACompactionMayHaveSeveralMessages(t *testing.T) {
	s := talk(t, user)
	want := []chat.Message{chat.UserMessage("\n so far \n"), {Role: chat.RoleUser, Content: chat.Parts{chat.Text("and"), chat.Image{URL: "https://u"}}}}
	require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: want}))
	equal(t, want, viewOf(t, s).Compacted)
}

func TestCompactRefusesAnInvalidCompaction(t *testing.T) {
	for _, tt := range []struct {
		rule string
		c    entry.Compaction
		says string
	}{
		{"the first kept entry is not in the session", summary("S", "e99"), `"e99" is not in the session`},
		{"the first kept entry is a result", summary("S", "e7"), `cannot cut at entry "e7"`},
		{"the first kept entry is a compaction", summary("S", "e15"), `cannot cut at entry "e15"`},
		{"a covered turn would come back", summary("S", "e5"), `"e5" is covered`},
		{"a covered round would come back", summary("S", "e4"), `"e4" is covered`},
		{"it has no messages", entry.Compaction{FirstKept: "e10"}, "no messages"},
		{"a message is the assistant's", entry.Compaction{Messages: []chat.Message{user, answer}}, "message 2 is from assistant"},
		{"a message is the system's", entry.Compaction{Messages: []chat.Message{chat.SystemMessage("S")}}, "message 1 is from system"},
		{"a message is a tool's", entry.Compaction{Messages: []chat.Message{done("a")}}, "message 1 is from tool"},
		{"a message cannot be written as JSON", entry.Compaction{Messages: []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "\xff"}}}}}, "UTF-8"},
		{"thinking is cut off", entry.Compaction{Messages: []chat.Message{user}, FirstKept: "e9", Thinking: []chat.Thinking{{Text: "h", Signature: "s"}, {Text: "h"}}}, "thinking 2 is neither signed nor encrypted"},
		{"thinking is not UTF-8", entry.Compaction{Messages: []chat.Message{user}, FirstKept: "e9", Thinking: []chat.Thinking{{Text: "\xff", Signature: "s"}}}, "UTF-8"},
		{"a part is nil", entry.Compaction{Messages: []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{nil}}}}, "nil"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := tempFile(t)
			s := opened(t, path)
			require.NoError(t, s.Append(t.Context(), said3()...))
			require.NoError(t, s.Compact(t.Context(), summary("before", "e6")))
			entries, view, before := all(t, s), viewOf(t, s), content(t, path)
			require.ErrorContains(t, s.Compact(t.Context(), tt.c), tt.says)
			equal(t, entries, all(t, s))
			equal(t, view, viewOf(t, s))
			require.Equal(t, before, content(t, path))
		})
	}
}

func TestACutBeforeACompactionOfEverythingIsRefused(t *testing.T) {
	s := talk(t, said3()...)
	require.NoError(t, s.Compact(t.Context(), summary("S", "")))
	require.ErrorContains(t, s.Compact(t.Context(), summary("S", "e13")), "covered")
	require.ErrorContains(t, s.Compact(t.Context(), summary("S", "e10")), "covered")
}

func TestWithViewSetsTheViewThatElementsShow(t *testing.T) {
	s, other := talk(t, said3()...), talk(t, user)
	before := viewOf(t, s)
	ctx := s.WithView(t.Context(), before)
	shown := renderedIn(t, ctx, prompt(s))
	require.NoError(t, s.Append(ctx, answer, chat.UserMessage("something else")))
	require.NoError(t, other.Append(ctx, answer))
	require.Equal(t, shown, renderedIn(t, ctx, prompt(s)))
	require.NotEqual(t, shown, renderedIn(t, t.Context(), prompt(s)))
	require.Equal(t, renderedIn(t, t.Context(), prompt(other)), renderedIn(t, ctx, prompt(other)), "another session is not affected")

	pinned, err := s.ViewIn(ctx)
	require.NoError(t, err)
	equal(t, before, pinned)
	now, err := s.ViewIn(t.Context())
	require.NoError(t, err)
	equal(t, viewOf(t, s), now)
	pinned.Turns[0] = history.Turn{}
	require.Equal(t, shown, renderedIn(t, ctx, prompt(s)), "the caller may change a view")

	require.NoError(t, s.Close())
	require.Equal(t, shown, renderedIn(t, ctx, prompt(s)))
	_, err = s.ViewIn(t.Context())
	require.ErrorIs(t, err, storage.ErrClosed)
}

func TestWithViewShowsAViewThatWasMadeByHand(t *testing.T) {
	s := talk(t, said3()...)
	require.NoError(t, s.Compact(t.Context(), summary("S", "e6")))
	v := viewOf(t, s)
	require.Equal(t, renderedIn(t, t.Context(), prompt(s)), renderedIn(t, s.WithView(t.Context(), fields(v)), prompt(s)))
	v = history.View{Turns: v.Turns[:1]}
	require.Equal(t, "e5: e6(e7 e8) e9()", shape(v))
	r, err := render.Render(s.WithView(t.Context(), v), prompt(s), render.Options{Budget: 1 << 20, Tokenizer: quarter{}})
	require.NoError(t, err)
	require.Equal(t, dump(v.Messages()), dump(r.Messages[1:]))
}

func TestElementsOfHistoryAreMarkedAsSuch(t *testing.T) {
	for _, e := range []elements.Node{history.Conversation{}, history.TurnStart{}, history.TurnRounds{}} {
		_, ok := e.(interface{ ShowsHistory() })
		require.True(t, ok, "%T", e)
	}
}

func TestThinkingOfACompactionStartsTheFirstAssistantMessageOfTheSameTurn(t *testing.T) {
	kept := []chat.Thinking{{Text: "First the <parser>.", Signature: "c2ln+/="}, {Encrypted: "b3BhcXVl"}}
	own := chat.Thinking{Text: "Mine.", Signature: "b3du"}
	cutOff := chat.Thinking{Text: "I was"}
	with := func(m chat.Message, parts ...chat.Part) chat.Message {
		m.Content = append(parts, m.Content...)
		return m
	}
	nothing := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{own}}
	for _, tt := range []struct {
		rule      string
		said      []chat.Message
		firstKept string // "" for all but the current user message
		later     []chat.Message
		want      []chat.Message // after the summary
	}{
		{
			"the first kept round gets it", []chat.Message{user, calls("a"), done("a"), calls("b"), done("b"), calls("c"), done("c")}, "e4", nil,
			[]chat.Message{user, with(calls("b"), kept[0], kept[1]), done("b"), calls("c"), done("c")},
		},
		{
			"a round with thinking of its own does not get it", []chat.Message{user, calls("a"), done("a"), with(calls("b"), own), done("b"), calls("c"), done("c")}, "e4", nil,
			[]chat.Message{user, with(calls("b"), own), done("b"), calls("c"), done("c")},
		},
		{
			"thinking that was cut off does not count", []chat.Message{user, calls("a"), done("a"), with(calls("b"), cutOff), done("b")}, "e4", nil,
			[]chat.Message{user, with(calls("b"), kept[0], kept[1]), done("b")},
		},
		{
			"a message that is not sent is skipped", []chat.Message{user, calls("a"), done("a"), nothing, calls("b"), done("b")}, "e4", nil,
			[]chat.Message{user, with(calls("b"), kept[0], kept[1]), done("b")},
		},
		{
			"a round of an earlier turn gets it", []chat.Message{user, calls("a"), done("a"), answer, user, calls("b"), done("b")}, "e4", nil,
			[]chat.Message{user, with(answer, kept[0], kept[1]), user, calls("b"), done("b")},
		},
		{
			"if no round is kept the next one gets it", []chat.Message{user, calls("a"), done("a")}, "", []chat.Message{calls("b"), done("b"), answer},
			[]chat.Message{user, with(calls("b"), kept[0], kept[1]), done("b"), answer},
		},
		{
			"a round of another turn does not get it", []chat.Message{user, calls("a"), done("a"), answer}, "", []chat.Message{user, calls("b"), done("b")},
			[]chat.Message{user, calls("b"), done("b")},
		},
		{
			"a turn that is kept as a whole does not get it", []chat.Message{user, answer, user, calls("b"), done("b")}, "e3", nil,
			[]chat.Message{user, calls("b"), done("b")},
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := talk(t, tt.said...)
			c := summary("S", tt.firstKept)
			c.Thinking = kept
			preview := renderedIn(t, trying(t, s, c), prompt(s))
			require.NoError(t, s.Compact(t.Context(), c))
			require.Equal(t, preview, renderedIn(t, t.Context(), prompt(s)))
			for _, m := range tt.later { // one at a time, so that each view goes on from the one before
				require.NoError(t, s.Append(t.Context(), m))
				viewOf(t, s)
			}
			want := append([]chat.Message{chat.UserMessage("S")}, tt.want...)
			got := rendered(t, prompt(s), 1<<20)[1:]
			equal(t, want, got)
			equal(t, len(want), len(viewOf(t, s).Messages()))
			require.NoError(t, chat.Validate(append(got, user)))
			require.NoError(t, s.Append(t.Context(), answer, user, answer, user))
			require.Equal(t, got, rendered(t, prompt(s), 1<<20)[1:1+len(got)], "it stays in later views")
		})
	}
}

func TestALaterCompactionReplacesTheThinkingOfAnEarlierOne(t *testing.T) {
	s := talk(t, user, calls("a"), done("a"), calls("b"), done("b"), calls("c"), done("c"))
	first := summary("S", "e4")
	first.Thinking = []chat.Thinking{{Text: "hm", Signature: "s"}}
	require.NoError(t, s.Compact(t.Context(), first))
	equal(t, map[string][]chat.Thinking{"e4": first.Thinking}, thinkingOf(viewOf(t, s)))
	require.NoError(t, s.Compact(t.Context(), summary("T", "e6")))
	require.Empty(t, thinkingOf(viewOf(t, s)))
	second := summary("U", "e6")
	second.Thinking = []chat.Thinking{{Encrypted: "b3Bh"}}
	require.NoError(t, s.Compact(t.Context(), second))
	equal(t, map[string][]chat.Thinking{"e6": second.Thinking}, thinkingOf(viewOf(t, s)))
	require.NoError(t, s.Branch(t.Context(), "e8"))
	equal(t, map[string][]chat.Thinking{"e4": first.Thinking}, thinkingOf(viewOf(t, s)))
}

func TestAViewShowsOtherContentInstead(t *testing.T) {
	s := sessionIn(t, &storage.Memory{}, history.Options{})
	picture := chat.Image{URL: "data:image/png;base64,QQ=="}
	call := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{}, ToolCalls: []chat.ToolCall{{ID: "c", Name: "look", Arguments: "{}"}}}
	said := []chat.Message{
		{Role: chat.RoleUser, Content: chat.Parts{chat.Text("See:"), picture}}, call,
		{Role: chat.RoleTool, ToolCallID: "c", Content: chat.Parts{picture}}, chat.AssistantMessage("Seen."),
	}
	require.NoError(t, s.Append(t.Context(), said...))
	before := sessiontest.View(t, s)
	blind := before.Instead(func(_ entry.Entry, parts chat.Parts) (chat.Parts, bool) {
		i := slices.Index(parts, chat.Part(picture))
		if i < 0 {
			return parts, false
		}
		return append(slices.Clone(parts[:i]), chat.Text("[picture]")), true
	})
	require.Equal(t, said, before.Messages(), "the view stays as it is")
	want := slices.Clone(said)
	want[0].Content, want[2].Content = chat.Parts{chat.Text("See:"), chat.Text("[picture]")}, chat.Parts{chat.Text("[picture]")}
	require.Equal(t, want, blind.Messages())
	ctx := s.WithView(t.Context(), blind)
	result, err := render.Render(ctx, history.All{Session: s}, render.Options{Budget: 1000, Tokenizer: sizing.Estimator{}})
	require.NoError(t, err)
	require.Equal(t, "See:\n[picture]", result.Messages[0].Text(), "elements show it too")
	require.Equal(t, want[2].Content, result.Messages[2].Content)
	require.Equal(t, said, sessiontest.View(t, s).Messages())
}

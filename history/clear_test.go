package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/sizing"
)

// The view shows a placeholder for old tool output; the session keeps the output.
func ExampleClearRule() {
	session := numbered.Session()
	err := session.Append(context.Background(),
		chat.UserMessage("Look around."),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "list", Arguments: `{}`}}},
		chat.ToolResult("c1", strings.Repeat("main.go\n", 500)),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c2", Name: "build", Arguments: `{}`}}},
		chat.ToolResult("c2", strings.Repeat("ok\n", 500)),
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
	rule := savingRule()
	rule.Keep, rule.Saves = 300, 100 // instead of 40,000 and 20,000
	clearing, ok := rule.Find(view, sizing.Estimator{})
	fmt.Println(ok, clearing.Saved, "tokens saved")
	if _, err := session.Add(context.Background(), entry.Entry{Body: clearing}); err != nil {
		fmt.Println(err)
		return
	}
	if view, err = session.View(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(view.Turns[0].Rounds[0].Results[0].Message().Text())
	// Output:
	// true 992 tokens saved
	// [Output truncated - 1000 tokens]
}

// outputs makes a session of one turn from sketches of rounds: "read:100" is a call of read with 100 tokens of output,
// and "a:1+b:2" are two parallel calls.
func outputs(t testing.TB, rounds string) *history.Session {
	t.Helper()
	s := talk(t, user)
	addOutputs(t, s, rounds)
	return s
}

// addOutputs appends rounds to a session.
func addOutputs(t testing.TB, s *history.Session, rounds string) {
	t.Helper()
	var messages []chat.Message
	for i, round := range strings.Fields(rounds) {
		m := chat.Message{Role: chat.RoleAssistant}
		var results []chat.Message
		for k, call := range strings.Split(round, "+") {
			name, size, _ := strings.Cut(call, ":")
			var tokens int
			_, err := fmt.Sscan(size, &tokens)
			require.NoError(t, err)
			id := fmt.Sprintf("c%d-%d-%d", count(t, s), i, k)
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: id, Name: name, Arguments: "{}"})
			results = append(results, chat.ToolResult(id, strings.Repeat("abc ", tokens)))
		}
		messages = append(append(messages, m), results...)
	}
	require.NoError(t, s.Append(t.Context(), messages...))
}

// cleared adds the clearing that a rule finds, if it finds one.
func cleared(t testing.TB, s *history.Session, rule history.ClearRule) (entry.Clearing, bool) {
	t.Helper()
	c, ok := rule.Find(viewOf(t, s), quarter{})
	if !ok {
		require.Empty(t, c)
		return c, false
	}
	sessiontest.Add(t, s, entry.Entry{Body: c})
	return c, true
}

// left lists the results in a view: the tokens of each, or "-" if it is cleared.
func left(v history.View) string {
	var rounds []string
	for _, turn := range v.Turns {
		for _, r := range turn.Rounds {
			var results []string
			for _, e := range r.Results {
				text := e.Message().Text()
				if strings.HasPrefix(text, "abc") {
					results = append(results, fmt.Sprint(quarter{}.CountText(text)))
				} else {
					results = append(results, "-")
				}
			}
			rounds = append(rounds, strings.Join(results, "+"))
		}
	}
	return strings.Join(rounds, " ")
}

func TestAClearRuleClearsOutputOlderThanItKeeps(t *testing.T) {
	short := func(history.ClearedOutput) string { return "[out]" } // 2 tokens
	rule := history.ClearRule{Keep: 100, Placeholder: short}
	saving := history.ClearRule{Keep: 100, Saves: 150, Placeholder: short, Never: []string{"read"}}
	for _, tt := range []struct {
		rule         string
		clear        history.ClearRule
		rounds, want string
		saved        int
	}{
		{"by default nothing is cleared", history.ClearRule{Placeholder: short}, "a:500 a:500 a:500", "500 500 500", 0},
		{"all but the newest tokens are cleared", rule, "a:60 a:40 a:60 a:40", "- - 60 40", 96},
		{"a result that is partly among the newest stays", rule, "a:60 a:40 a:70 a:40 a:50", "- - 70 40 50", 96},
		{"output that fits stays", rule, "a:60 a:40", "60 40", 0},
		{"the newest result stays whatever its size", rule, "a:5 a:5000", "- 5000", 3},
		{"a result no larger than its placeholder stays", rule, "a:2 a:3 a:100", "2 - 100", 1},
		{"a small result stays", history.ClearRule{Keep: 100, Least: 60, Placeholder: short}, "a:59 a:60 a:100", "59 - 100", 58},
		{"a result that is not many times its placeholder stays", history.ClearRule{Keep: 100, LeastPlaceholders: 8, Placeholder: short}, "a:15 a:16 a:100", "15 - 100", 14},
		{"parallel results are cleared one by one", rule, "a:60+a:70+a:80 a:50", "-+-+80 50", 126},
		{"nothing is cleared if too little is saved", saving, "a:100 a:50 a:100", "100 50 100", 0},
		{"all older output is cleared if enough is saved", saving, "a:100 a:54 a:100", "- - 100", 150},
		{"the output of some tools is never cleared", saving, "read:500 a:152 Read:500 a:100", "500 - 500 100", 150},
		{"the output of those tools counts among the newest", saving, "a:152 read:100", "- 100", 150},
		{"several older results are cleared at once", saving, "a:152 a:100 a:100 a:100", "- - - 100", 346},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := outputs(t, tt.rounds)
			before := viewOf(t, s)
			c, ok := cleared(t, s, tt.clear)
			v := viewOf(t, s)
			require.Equal(t, tt.want, left(v))
			require.Equal(t, tt.saved, c.Saved)
			require.Equal(t, tt.saved > 0, ok)
			require.Len(t, c.Results, strings.Count(tt.want, "-"))
			require.Equal(t, tokensOf(before)-tokensOf(v), c.Saved)
			require.NoError(t, chat.Validate(v.Messages()))
			_, again := tt.clear.Find(v, quarter{})
			require.False(t, again, "a second Find clears nothing")
		})
	}
}

// The tokens that an earlier clearing saved do not count towards Saves.
func TestAClearRuleDoesNotCountEarlierClearingsAgain(t *testing.T) {
	rule := history.ClearRule{Keep: 100, Saves: 150, Placeholder: func(history.ClearedOutput) string { return "[out]" }}
	s := outputs(t, "a:152 a:100")
	_, ok := cleared(t, s, rule)
	require.True(t, ok)
	addOutputs(t, s, "a:100")
	_, ok = cleared(t, s, rule)
	require.False(t, ok, "98 tokens are too few")
	require.Equal(t, "- 100 100", left(viewOf(t, s)))
	addOutputs(t, s, "a:100")
	c, ok := cleared(t, s, rule)
	require.True(t, ok)
	require.Equal(t, 196, c.Saved)
	require.Equal(t, "- - - 100", left(viewOf(t, s)))
}

// tokensOf counts the messages of a view.
func tokensOf(v history.View) (n int) {
	for _, m := range v.Messages() {
		n += quarter{}.CountMessage(m)
	}
	return n
}

func TestAPlaceholderSaysWhereTheOutputIs(t *testing.T) {
	file := opened(t, tempFile(t))
	require.NoError(t, file.Append(t.Context(), user))
	for _, tt := range []struct {
		rule    string
		clear   history.ClearRule
		session *history.Session
		want    string
	}{
		{"a rule with its own placeholder", keepingRule(), talk(t, user), "[output pruned — re-read file or re-run command if needed]"},
		{"a rule whose placeholder has the tokens", savingRule(), file, "[Output truncated - 50000 tokens]"},
		{"words of one's own with the handle behind them", history.ClearRule{Keep: 1, Placeholder: func(o history.ClearedOutput) string { return o.After("[gone]") }}, file, "[gone]\n[" + file.Path() + ".texts/e3.txt]"},
		{"the default in memory has the tokens", history.ClearRule{Keep: 1}, talk(t, user), "[output of 50000 tokens left out here]"},
		{"the default in a file names the text", history.ClearRule{Keep: 1}, file, "[output of 50000 tokens left out here: " + file.Path() + ".texts/e3.txt]"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.NoError(t, tt.session.Branch(t.Context(), "e1"))
			s := tt.session
			addOutputs(t, s, "run:50000 run:50000")
			var output history.ClearedOutput
			rule := tt.clear
			if placeholder := rule.Placeholder; placeholder != nil {
				rule.Placeholder = func(o history.ClearedOutput) string { output = o; return placeholder(o) }
			}
			c, ok := cleared(t, s, rule)
			require.True(t, ok)
			require.Equal(t, strings.ReplaceAll(tt.want, "e3", c.Results[0].Entry), c.Results[0].Text)
			require.Equal(t, c.Results[0].Text, viewOf(t, s).Turns[0].Rounds[0].Results[0].Message().Text())
			e := sessiontest.Entry(t, s, c.Results[0].Entry)
			if handle := s.Handle(e, 0, 0); rule.Placeholder != nil {
				require.Equal(t, history.ClearedOutput{Entry: c.Results[0].Entry, Tool: "run", Tokens: 50000, Handle: handle}, output)
			}
			require.Len(t, e.Message().Text(), 4*50000, "the log keeps the output")
		})
	}
}

func TestAClearedResultKeepsItsCallIDAndIsError(t *testing.T) {
	failed := chat.Message{Role: chat.RoleTool, ToolCallID: "a", IsError: true, Content: chat.Parts{chat.Image{URL: "https://u"}, chat.Text(numberedLines(100))}}
	s := talk(t, user, calls("a"), failed, calls("b"), chat.ToolResult("b", numberedLines(100)))
	tokens := 0
	c, ok := cleared(t, s, history.ClearRule{Keep: 100, Placeholder: func(o history.ClearedOutput) string { tokens = o.Tokens; return "gone" }})
	require.True(t, ok)
	require.Equal(t, sizingtest.ImageTokens+250, tokens)
	require.Equal(t, tokens-1, c.Saved)
	got := viewOf(t, s).Turns[0].Rounds[0].Results[0].Message()
	equal(t, chat.Message{Role: chat.RoleTool, ToolCallID: "a", IsError: true, Content: chat.Parts{chat.Text("gone")}}, got)
}

// Before the clearing, and on a branch from before it, the view shows the original texts.
func TestAClearingReplacesTextsInEveryViewAfterIt(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	write := calls("a", "b")
	write.ToolCalls[0].Arguments = `{"text":` + quoted(numberedLines(100)) + `}`
	require.NoError(t, s.Append(t.Context(), user, write, chat.ToolResult("a", "written"), chat.ToolResult("b", numberedLines(100)), answer, user, calls("c")))
	before := renderedIn(t, t.Context(), prompt(s))
	_, err := s.Add(t.Context(), entry.Entry{Body: entry.Clearing{
		Results:   []entry.Cleared{{Entry: "e4", Text: "[gone]"}},
		Arguments: []entry.Cleared{{Entry: "e2", Call: "a", Text: `{"cleared":true}`}},
	}})
	require.NoError(t, err)
	want := []chat.Message{user, calls("a", "b"), chat.ToolResult("a", "written"), chat.ToolResult("b", "[gone]"), answer, user}
	want[1].ToolCalls[0].Arguments = `{"cleared":true}`
	require.Equal(t, dump(want), dump(viewOf(t, s).Messages()[:len(want)]))
	require.Equal(t, dump(want), dump(rendered(t, prompt(s), 1<<20)[1:1+len(want)]))

	after := renderedIn(t, t.Context(), prompt(s))
	require.NotEqual(t, before, after)
	reader := readOnly(t, path)
	require.Equal(t, after, renderedIn(t, t.Context(), prompt(reader)), "opened again the session shows the same bytes")

	require.NoError(t, s.Append(t.Context(), chat.ToolResult("c", "late")))
	require.NotContains(t, renderedIn(t, t.Context(), prompt(s)), "line 99")
	require.NoError(t, s.Compact(t.Context(), summary("S", "e2")))
	require.Equal(t, dump(want[1:4]), dump(viewOf(t, s).Messages()[2:5]))
	reader = readOnly(t, path)
	require.Equal(t, renderedIn(t, t.Context(), prompt(s)), renderedIn(t, t.Context(), prompt(reader)))

	require.NoError(t, s.Branch(t.Context(), "e7"))
	require.Equal(t, before, renderedIn(t, t.Context(), prompt(s)), "a branch from before the clearing shows the original texts")
	require.NoError(t, s.Branch(t.Context(), "e8"))
	require.Equal(t, after, renderedIn(t, t.Context(), prompt(s)))
	require.NoError(t, s.Append(t.Context(), chat.ToolResult("c", "ok"), answer))
	sessiontest.Add(t, s, entry.Entry{Body: entry.Clearing{Results: []entry.Cleared{{Entry: "e4", Text: "[gone for good]"}}}})
	require.Equal(t, "[gone for good]", viewOf(t, s).Turns[0].Rounds[0].Results[1].Message().Text(), "the latest clearing counts")
	require.Equal(t, numberedLines(100), viewAt(t, s, "e7").Turns[0].Rounds[0].Results[1].Message().Text())
}

func TestAClearingDoesNotChangeEarlierViews(t *testing.T) {
	s := outputs(t, "run:500 run:500")
	v := viewOf(t, s)
	pinned := s.WithView(t.Context(), v)
	before := renderedIn(t, pinned, prompt(s))
	_, ok := cleared(t, s, history.ClearRule{Keep: 100})
	require.True(t, ok)
	require.Equal(t, before, renderedIn(t, pinned, prompt(s)))
	require.NotEqual(t, before, renderedIn(t, t.Context(), prompt(s)))
	require.Equal(t, "500 500", left(v))
	require.Equal(t, "- 500", left(viewOf(t, s)))
}

func TestAnInvalidClearingIsRefused(t *testing.T) {
	results := func(list ...entry.Cleared) entry.Clearing { return entry.Clearing{Results: list} }
	arguments := func(list ...entry.Cleared) entry.Clearing { return entry.Clearing{Arguments: list} }
	for _, tt := range []struct {
		rule string
		c    entry.Clearing
		says string
	}{
		{"nothing is cleared", entry.Clearing{Saved: 5}, "it clears nothing"},
		{"a result without an entry", results(entry.Cleared{Text: "gone"}), "result 1: no entry is named"},
		{"an entry that does not exist", results(entry.Cleared{Entry: "e99", Text: "gone"}), `result 1: entry "e99" is not in the session`},
		{"an entry on another branch", results(entry.Cleared{Entry: "e3", Text: "gone"}, entry.Cleared{Entry: "e5", Text: "gone"}), `result 2: entry "e5" is on another branch`},
		{"an entry that is not a result", results(entry.Cleared{Entry: "e2", Text: "gone"}), `result 1: entry "e2" is not a tool result`},
		{"an empty text", results(entry.Cleared{Entry: "e3"}), `result 1: the text for entry "e3" is empty`},
		{"a blank text", results(entry.Cleared{Entry: "e3", Text: " \n"}), `result 1: the text for entry "e3" is empty`},
		{"a result with a call", results(entry.Cleared{Entry: "e3", Call: "a", Text: "gone"}), `result 1: it names the call "a"`},
		{"arguments of a result", arguments(entry.Cleared{Entry: "e3", Call: "a", Text: "{}"}), `arguments 1: entry "e3" is not a message of the assistant`},
		{"arguments of a user message", arguments(entry.Cleared{Entry: "e1", Call: "a", Text: "{}"}), `arguments 1: entry "e1" is not a message of the assistant`},
		{"arguments of a call of another message", arguments(entry.Cleared{Entry: "e2", Call: "z", Text: "{}"}), `arguments 1: entry "e2" makes no call "z"`},
		{"arguments without a call", arguments(entry.Cleared{Entry: "e2", Text: "{}"}), `arguments 1: entry "e2" makes no call ""`},
		{"arguments that are not JSON", arguments(entry.Cleared{Entry: "e2", Call: "a", Text: "{gone"}), `arguments 1: the text for call "a" is not valid JSON`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := talk(t, user, calls("a"), done("a"), calls("b"), done("b"))
			require.NoError(t, s.Branch(t.Context(), "e3"))
			entries := all(t, s)
			_, err := s.Add(t.Context(), entry.Entry{Body: tt.c})
			require.ErrorContains(t, err, "history: clearing: "+tt.says)
			equal(t, entries, all(t, s))
		})
	}
	s := talk(t, user, calls("a"))
	_, err := s.Add(t.Context(), entry.Entry{Body: entry.Message{Message: done("a")}}, entry.Entry{Body: entry.Clearing{
		Results: []entry.Cleared{{Entry: "e3", Text: "gone"}}, Arguments: []entry.Cleared{{Entry: "e2", Call: "a", Text: "{}"}},
	}})
	require.NoError(t, err, "an entry of the same Add is on the path")
	require.Equal(t, "gone", viewOf(t, s).Messages()[2].Text())
}

// The rule runs after each of several rounds.
func TestAnyClearingKeepsTheNewestOutputAndSavesEnough(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(120)) {
		r := rand.New(rand.NewPCG(seed, 6))
		rule := history.ClearRule{Keep: 1 + r.IntN(300), Saves: r.IntN(2) * r.IntN(300), Never: []string{"read"}}
		s := talk(t, user)
		gone := map[string]bool{}
		for range 1 + r.IntN(20) {
			round := fmt.Sprint([]string{"run:", "read:"}[r.IntN(2)], r.IntN(150))
			if r.IntN(4) == 0 {
				round += fmt.Sprint("+run:", r.IntN(150))
			}
			addOutputs(t, s, round)
			before := tokensOf(viewOf(t, s))
			c, ok := cleared(t, s, rule)
			v := viewOf(t, s)
			require.NoError(t, chat.Validate(v.Messages()))
			require.Equal(t, before-tokensOf(v), c.Saved, "seed %d", seed)
			for _, o := range c.Results {
				require.False(t, gone[o.Entry], "seed %d: %s is cleared twice", seed, o.Entry)
				gone[o.Entry] = true
			}
			if ok {
				require.GreaterOrEqual(t, c.Saved, max(1, rule.Saves), "seed %d", seed)
			}
			newest := 0 // tokens after each result, from the end
			turn := v.Turns[0]
			for i := len(turn.Rounds) - 1; i >= 0; i-- {
				for k := len(turn.Rounds[i].Results) - 1; k >= 0; k-- {
					e := turn.Rounds[i].Results[k]
					require.False(t, gone[e.ID] && newest < rule.Keep, "seed %d: %s is among the newest", seed, e.ID)
					newest += quarter{}.CountText(e.Message().Text())
				}
			}
		}
	}
}

// callSession makes a session of one turn with a round for each of the calls. "read a.go 50" is a call of read with the
// path a.go and 50 tokens of output. The tool "same" has the same output each time.
func callSession(t testing.TB, list ...string) *history.Session {
	t.Helper()
	s := talk(t, user)
	for i, one := range list {
		var name, path string
		var tokens int
		_, err := fmt.Sscanf(one, "%s %s %d", &name, &path, &tokens)
		require.NoError(t, err)
		id := fmt.Sprint("k", i)
		m := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: name, Arguments: `{"path":"` + path + `"}`}}}
		result := chat.ToolResult(id, strings.Repeat("abc ", tokens-1)+fmt.Sprintf("%04d", i))
		if name == "same" {
			result = chat.ToolResult(id, strings.Repeat("abc ", tokens))
		}
		if name, failed := strings.CutPrefix(name, "failed-"); failed {
			m.ToolCalls[0].Name, result.IsError = name, true
		}
		require.NoError(t, s.Append(t.Context(), m, result))
	}
	return s
}

func TestStaleOutputIsClearedEarlier(t *testing.T) {
	rule := history.ClearRule{Keep: 1000, KeepStale: 20, Placeholder: func(history.ClearedOutput) string { return "[out]" }}
	for _, tt := range []struct {
		rule  string
		calls []string
		want  string
	}{
		{"a file that was read again is stale", []string{"read a 50", "read a 50", "list . 20"}, "- 50 20"},
		{"another file that was read makes nothing stale", []string{"read a 50", "read b 50", "list . 20"}, "50 50 20"},
		{"a file that was modified later is stale", []string{"read a 50", "edit a 5", "list . 20"}, "- 5 20"},
		{"a failed edit makes nothing stale", []string{"read a 50", "failed-edit a 5", "list . 20"}, "50 5 20"},
		{"an edit before the read makes nothing stale", []string{"edit a 50", "read a 50", "list . 20"}, "50 50 20"},
		{"output that was repeated is stale", []string{"same a 50", "same b 50", "list . 20"}, "- 50 20"},
		{"stale output among the newest tokens stays", []string{"read a 50", "read a 10", "list . 5"}, "50 10 5"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := callSession(t, tt.calls...)
			cleared(t, s, rule)
			require.Equal(t, tt.want, left(viewOf(t, s)))
			_, again := rule.Find(viewOf(t, s), quarter{})
			require.False(t, again, "a second Find clears nothing")
		})
	}
}

func TestLongArgumentsAreCleared(t *testing.T) {
	long := strings.Repeat("abc ", 60)
	s := talk(t, user)
	for i, arguments := range []string{`{"path":"a.go","content":"` + long + `"}`, "{" + long, `{"path":"b.go","content":"short"}`, `{"path":"c.go","content":"` + long + `"}`} {
		id := fmt.Sprint("k", i)
		require.NoError(t, s.Append(t.Context(), chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: "write", Arguments: arguments}}}, chat.ToolResult(id, "ok")))
	}
	c, ok := cleared(t, s, history.ClearRule{Keep: 60, Arguments: 50})
	require.True(t, ok)
	require.Len(t, c.Arguments, 2, "invalid JSON is cleared too")
	require.Empty(t, c.Results)
	v := viewOf(t, s)
	require.Equal(t, `{"path":"a.go","content":"[60 tokens left out here]"}`, v.Turns[0].Rounds[0].Assistant.Message().ToolCalls[0].Arguments)
	require.Contains(t, v.Turns[0].Rounds[3].Assistant.Message().ToolCalls[0].Arguments, "abc abc", "the newest arguments stay")
	_, ok = cleared(t, s, history.ClearRule{Keep: 60, Arguments: 50})
	require.False(t, ok)
	_, ok = (history.ClearRule{Keep: 60}).Find(viewOf(t, s), quarter{})
	require.False(t, ok)
}

// Carried sums the tokens over the requests that were sent since the output became clearable.
func TestLookReportsWhatClearableOutputHasCost(t *testing.T) {
	rule := history.ClearRule{Keep: 100, Placeholder: func(history.ClearedOutput) string { return "[out]" }} // 2 tokens
	for rounds, want := range map[string][2]int{
		"a:60 a:100":             {58, 58},                 // the next request
		"a:60 a:100 a:5":         {58, 2 * 58},             // one request was sent, and the next
		"a:60 a:50 a:50 a:5":     {58, 2 * 58},             // among the newest until the third round
		"a:60 a:100 a:100 a:100": {58 + 2*98, 58*3 + 98*3}, // each from the round after it
	} {
		saved, carried, first := rule.Look(viewOf(t, outputs(t, rounds)), quarter{})
		require.Equal(t, want, [2]int{saved, carried}, rounds)
		require.NotEmpty(t, first)
	}
}

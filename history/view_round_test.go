package history_test

import (
	"encoding/json"
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
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/render"
)

const noOutput, noResult = "(no output)", "(no result: the call was interrupted)"

// firstRound returns the first round of a session with these messages.
func firstRound(t testing.TB, messages ...chat.Message) history.Round {
	t.Helper()
	return viewOf(t, talk(t, messages...)).Turns[0].Rounds[0]
}

func TestARoundIsSentAsProvidersRequire(t *testing.T) {
	thought := chat.Thinking{Text: "hm", Signature: "sig"}
	hidden := chat.Thinking{Encrypted: "b3Bh"}
	unsigned := chat.Thinking{Text: "h"}
	interrupted := func(id string) chat.Message {
		m := chat.ToolResult(id, noResult)
		m.IsError = true
		return m
	}
	withCalls := func(m chat.Message, ids ...string) chat.Message {
		m.ToolCalls = calls(ids...).ToolCalls
		return m
	}
	nameless := withCalls(said(chat.Text("x")), "a", "b")
	nameless.ToolCalls[1].Name = ""
	failed := chat.ToolResult("a", "exit 1")
	failed.IsError = true
	for _, tt := range []struct {
		rule        string
		round, want []chat.Message
	}{
		{"a text is sent as it is", []chat.Message{answer}, []chat.Message{answer}},
		{
			"results are in the order of their calls", []chat.Message{calls("a", "b", "c"), done("c"), done("a"), done("b")},
			[]chat.Message{calls("a", "b", "c"), done("a"), done("b"), done("c")},
		},
		{
			"a call without a result gets a note as its result", []chat.Message{calls("a", "b"), done("b")},
			[]chat.Message{calls("a", "b"), interrupted("a"), done("b")},
		},
		{"a blank result becomes a note", []chat.Message{calls("a"), chat.ToolResult("a", " \n\ufeff")}, []chat.Message{calls("a"), chat.ToolResult("a", noOutput)}},
		{"a result without parts becomes a note", []chat.Message{calls("a"), result("a")}, []chat.Message{calls("a"), chat.ToolResult("a", noOutput)}},
		{
			"a result with only a cache breakpoint becomes a note", []chat.Message{calls("a"), result("a", chat.Text(""), chat.CacheBreakpoint{})},
			[]chat.Message{calls("a"), result("a", chat.Text(noOutput), chat.CacheBreakpoint{})},
		},
		{"a failed result stays failed", []chat.Message{calls("a"), failed}, []chat.Message{calls("a"), failed}},
		{
			"a result may be an image", []chat.Message{calls("a"), result("a", chat.Image{URL: "https://u"}, chat.Text("\t"))},
			[]chat.Message{calls("a"), result("a", chat.Image{URL: "https://u"})},
		},
		{
			"blank text is left out", []chat.Message{said(chat.Text(""), chat.Text("x"), chat.Text("\n\u0085 "))},
			[]chat.Message{said(chat.Text("x"))},
		},
		{"blank text beside a call is left out", []chat.Message{withCalls(said(chat.Text("\n")), "a"), done("a")}, []chat.Message{calls("a"), done("a")}},
		{"text keeps the white space around it", []chat.Message{said(chat.Text("\n x \n"))}, []chat.Message{said(chat.Text("\n x \n"))}},
		{
			"signed thinking is kept byte for byte", []chat.Message{withCalls(said(thought, hidden, chat.Text("x")), "a"), done("a")},
			[]chat.Message{withCalls(said(thought, hidden, chat.Text("x")), "a"), done("a")},
		},
		{
			"thinking before a call is kept", []chat.Message{withCalls(said(thought), "a"), done("a")},
			[]chat.Message{withCalls(said(thought), "a"), done("a")},
		},
		{"unsigned thinking is left out", []chat.Message{said(unsigned, chat.Text("x"))}, []chat.Message{said(chat.Text("x"))}},
		{"a message of an opaque part is sent", []chat.Message{said(chat.Opaque{Value: json.RawMessage("1")})}, []chat.Message{said(chat.Opaque{Value: json.RawMessage("1")})}},
		{"an empty assistant message is left out", []chat.Message{said()}, nil},
		{"a blank assistant message is left out", []chat.Message{said(chat.Text(" "), chat.CacheBreakpoint{})}, nil},
		{"an assistant message of thinking only is left out", []chat.Message{said(thought, hidden)}, nil},
		{
			"a call without a tool's name is left out with its result", []chat.Message{nameless, done("b"), done("a")},
			[]chat.Message{withCalls(said(chat.Text("x")), "a"), done("a")},
		},
		{
			"a message of only such calls is left out", []chat.Message{{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a"}}}, done("a")},
			nil,
		},
		{
			"a message keeps its name", []chat.Message{{Role: chat.RoleAssistant, Name: "bob", Content: chat.Parts{chat.Text("x")}}},
			[]chat.Message{{Role: chat.RoleAssistant, Name: "bob", Content: chat.Parts{chat.Text("x")}}},
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := talk(t, append([]chat.Message{user}, tt.round...)...)
			before := all(t, s)
			got := within(viewOf(t, s).Turns[0].Rounds[0], history.RoundLimits{}, in(1000))
			for i := range got {
				if len(got[i].Content) == 0 {
					got[i].Content = nil
				}
			}
			equal(t, tt.want, got)
			require.NoError(t, chat.Validate(append(append([]chat.Message{user}, got...), user)))
			equal(t, before, all(t, s))

			sent := rendered(t, elements.Nodes{history.TurnStart{Session: s}, history.TurnRounds{Session: s}}, 1000)
			equal(t, append([]chat.Message{user}, tt.want...), sent)
		})
	}
}

func TestAUserMessageIsSentWithoutBlankTexts(t *testing.T) {
	for _, tt := range []struct {
		rule string
		said chat.Message
		want chat.Parts // nil for no message
	}{
		{"a text is sent as it is", user, user.Content},
		{"a blank text beside an image is left out", chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("\n"), chat.Image{URL: "https://u"}}}, chat.Parts{chat.Image{URL: "https://u"}}},
		{"a blank message is not sent", chat.UserMessage(" \n"), nil},
		{"an empty message is not sent", chat.Message{Role: chat.RoleUser}, nil},
		{"a message of only a cache breakpoint is not sent", chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.CacheBreakpoint{}}}, nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := talk(t, tt.said)
			m, ok := viewOf(t, s).Turns[0].Message()
			require.Equal(t, tt.want != nil, ok)
			if ok {
				equal(t, tt.want, m.Content)
			}
			require.Equal(t, ok, len(rendered(t, history.TurnStart{Session: s}, 100)) == 1)
		})
	}
}

// tokens counts the text of a message.
func tokens(m chat.Message) int { return quarter{}.CountText(m.Text()) }

func TestAResultIsClippedToItsShareOfTheWindow(t *testing.T) {
	text := numberedLines(1000) // 2,500 tokens
	for _, tt := range []struct {
		rule         string
		limits       history.RoundLimits
		window       int
		share, start float64
	}{
		{"half by default", history.RoundLimits{}, 1000, 0.5, 0.4},
		{"another share", history.RoundLimits{Results: 0.2}, 1000, 0.2, 0.4},
		{"the whole window", history.RoundLimits{Results: 1}, 1000, 1, 0.4},
		{"more of the start", history.RoundLimits{Head: 0.7}, 1000, 0.5, 0.7},
		{"half of a larger window", history.RoundLimits{}, 4000, 0.5, 0.4},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := within(firstRound(t, user, calls("a"), chat.ToolResult("a", text)), tt.limits, in(tt.window))
			require.Len(t, got, 2)
			require.LessOrEqual(t, tokens(got[1]), int(tt.share*float64(tt.window)))
			start, end, missing, ok := cut(text, got[1].Text())
			require.True(t, ok)
			kept := quarter{}.CountText(start) + quarter{}.CountText(end)
			require.Greater(t, kept, int(tt.share*float64(tt.window)*0.85)-20)
			require.InDelta(t, tt.start, float64(quarter{}.CountText(start))/float64(kept), 0.05)
			require.InDelta(t, 2500-kept, missing, 2)
		})
	}
	t.Run("a result that fits is not clipped", func(t *testing.T) {
		got := within(firstRound(t, user, calls("a"), chat.ToolResult("a", text)), history.RoundLimits{}, in(5000))
		require.Equal(t, text, got[1].Text())
	})
}

func TestParallelResultsShareTheLimit(t *testing.T) {
	sizes := func(tokens ...int) []int { return tokens }
	for _, tt := range []struct {
		rule   string
		given  []int // tokens of each result; the limit for all is 500
		whole  []int // indexes of the results that are not clipped
		atMost int   // tokens of each of the others
	}{
		{"results that all fit are not clipped", sizes(100, 200, 200), []int{0, 1, 2}, 0},
		{"equal results get equal shares", sizes(1000, 1000), nil, 250},
		{"small results stay whole, and the large one gets the rest", sizes(10, 2000, 10), []int{0, 2}, 480},
		{"a result smaller than its share leaves the rest to the others", sizes(150, 200, 300), []int{0}, 175},
		{"many large results get equal shares", sizes(600, 600, 600, 600, 600), nil, 100},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			said := []chat.Message{user, {}}
			var ids []string
			for i, size := range tt.given {
				ids = append(ids, fmt.Sprint(i))
				said = append(said, chat.ToolResult(ids[i], strings.Repeat(fmt.Sprintf("%03d\n", i), size)))
			}
			said[1] = calls(ids...)
			got := within(firstRound(t, said...), history.RoundLimits{}, in(1000))
			total, stay := 0, map[int]bool{}
			for _, i := range tt.whole {
				stay[i] = true
			}
			for i, m := range got[1:] {
				total += tokens(m)
				require.Equal(t, stay[i], m.Text() == said[i+2].Text(), "result %d", i)
				if !stay[i] {
					require.LessOrEqual(t, tokens(m), tt.atMost)
					require.Greater(t, tokens(m), tt.atMost*8/10, "more of it could have been kept")
				}
			}
			require.LessOrEqual(t, total, 500)
		})
	}
}

func TestManySmallResultsAreNotMadeLonger(t *testing.T) {
	said := []chat.Message{user, {}}
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprint(i))
		said = append(said, chat.ToolResult(ids[i], strings.Repeat("x", 40)))
	}
	said[1] = calls(ids...)
	for _, m := range within(firstRound(t, said...), history.RoundLimits{}, in(200)) {
		require.LessOrEqual(t, tokens(m), 10)
	}
}

func TestOnlyTheTextOfAResultIsClipped(t *testing.T) {
	image := chat.Image{URL: "https://u"}
	said := []chat.Message{user, calls("a"), result("a", chat.Text(numberedLines(100)), image, chat.Text(numberedLines(100)))}
	got := within(firstRound(t, said...), history.RoundLimits{}, in(300))
	equal(t, image, got[1].Content[1])
	require.Len(t, got[1].Content, 2)
	require.LessOrEqual(t, tokens(got[1])+sizingtest.ImageTokens, 150)
	_, _, _, ok := cut(numberedLines(100)+"\n"+numberedLines(100), got[1].Text())
	require.True(t, ok)

	t.Run("an image over the limit is replaced by a note", func(t *testing.T) {
		said := []chat.Message{user, calls("a"), result("a", image)}
		got := within(firstRound(t, said...), history.RoundLimits{}, in(39))
		require.Len(t, got[1].Content, 1)
		require.Contains(t, got[1].Text(), fmt.Sprintf("[an image of %d tokens left out here", sizingtest.ImageTokens))
	})
	t.Run("a result that fits keeps its parts", func(t *testing.T) {
		said := []chat.Message{user, calls("a"), result("a", chat.Text("x"), image, chat.Text("y"))}
		equal(t, said[2], within(firstRound(t, said...), history.RoundLimits{}, in(1000))[1])
	})
}

// callWith returns a call with these arguments.
func callWith(arguments ...string) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	for i, a := range arguments {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: fmt.Sprint(i), Name: "run", Arguments: a})
	}
	return m
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

func TestClippedArgumentsAreValidJSON(t *testing.T) {
	long := strings.Repeat("some text. ", 1000) // 2,750 tokens
	numbers := "[1" + strings.Repeat(",1234567890123456789.50", 1000) + "]"
	for _, tt := range []struct {
		rule, arguments string
		keeps           []string // in this order
	}{
		{
			"long strings are clipped, and the rest stays",
			`{"z":1,"path":"a/b.go","text":` + quoted(long) + `,"a":{"deep":[true,null,12345678901234567890,1e400,` + quoted(long) + `]},"end":"<x>"}`,
			[]string{`{"z":1,"path":"a/b.go","text":"some`, ` tokens cut here`, `","a":{"deep":[true,null,12345678901234567890,1e400,"some`, `]},"end":"<x>"}`},
		},
		{"an array", `[` + quoted(long) + `,{"k":"v"}]`, []string{`["some text`, `,{"k":"v"}]`}},
		{"a string", quoted(long), []string{`"some text`, `tokens cut`, `some text. "`}},
		{"two equal keys", `{"k":` + quoted(long) + `,"k":1}`, []string{`{"k":"some`, `,"k":1}`}},
		{"keys with quotes", `{"a\"b\\":` + quoted(long) + `}`, []string{`{"a\"b\\":"some`}},
		{"text after the value", `{"k":` + quoted(long) + `} and on`, []string{`{"clipped":`}},
		{"arguments that were cut short", `{"k":` + quoted(long)[:5000], []string{`{"clipped":"{\"k\":\"some`, `some text`}},
		{"arguments that are not JSON", long, []string{`{"clipped":"some text`, `some text. "}`}},
		{"many numbers", `{"xs":` + numbers + `}`, []string{`{"clipped":"{\"xs\":[1,1234567890123456789.50`, `1234567890123456789.50]}"}`}},
		{"many short strings", `{"xs":["a"` + strings.Repeat(`,"abc"`, 1000) + `]}`, []string{`{"clipped":"{\"xs\":[\"a\"`, `\"abc\"]}"}`}},
		{"many keys", `{"a":1` + strings.Repeat(`,"key":1`, 1000) + `}`, []string{`{"clipped":"{\"a\":1`, `}"}`}},
		{"characters that JSON escapes", `{"k":` + quoted(strings.Repeat("\x01\"\\\n", 1000)) + `}`, []string{`{"k":"\u0001`, `"}`}},
		{"a deep value", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), []string{`{"clipped":"[[`, `]]"}`}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, window := range []int{4000, 1600, 800} {
				got := within(firstRound(t, user, callWith(tt.arguments)), history.RoundLimits{}, in(window))
				arguments := got[0].ToolCalls[0].Arguments
				require.True(t, json.Valid([]byte(arguments)), arguments)
				require.LessOrEqual(t, quarter{}.CountText(arguments), window/8)
				rest := arguments
				for _, want := range tt.keeps {
					_, after, ok := strings.Cut(rest, want)
					require.True(t, ok, "%q is not in %s", want, rest)
					rest = after
				}
			}
		})
	}
}

func TestArgumentsThatFitAreUnchanged(t *testing.T) {
	for _, arguments := range []string{"", "{}", " { \"k\" : 1.50 } ", `{"cut`, "\"\\u003c\"", "no JSON"} {
		got := within(firstRound(t, user, callWith(arguments)), history.RoundLimits{}, in(1000))
		require.Equal(t, arguments, got[0].ToolCalls[0].Arguments)
	}
}

func TestArgumentsOfParallelCallsShareTheLimit(t *testing.T) {
	long := `{"text":` + quoted(strings.Repeat("some text. ", 1000)) + `}`
	got := within(firstRound(t, user, callWith(long, `{"k":1}`, long)), history.RoundLimits{Arguments: 0.5}, in(1000))
	total := 0
	for i, c := range got[0].ToolCalls {
		n := quarter{}.CountText(c.Arguments)
		total += n
		require.True(t, json.Valid([]byte(c.Arguments)))
		if i == 1 {
			require.Equal(t, `{"k":1}`, c.Arguments)
		} else {
			// The limit of each string is halved until the arguments fit.
			require.Greater(t, n, 100)
		}
	}
	require.LessOrEqual(t, total, 500)
}

func TestShortArgumentsAreNotMadeLonger(t *testing.T) {
	for _, arguments := range []string{`{"path":"a/b/c.go","lines":[1,2]}`, `{"path":"a/b/c`, `not JSON, and short`, `"` + strings.Repeat("x", 60) + `"`} {
		for _, window := range []int{1, 10, 30, 60} {
			got := within(firstRound(t, user, callWith(arguments)), history.RoundLimits{}, in(window))
			require.LessOrEqual(t, quarter{}.CountText(got[0].ToolCalls[0].Arguments), quarter{}.CountText(arguments))
		}
	}
}

// They are not shares of the budget, so a prompt with a smaller budget shows the same of a round.
func TestLimitsAreSharesOfTheWindow(t *testing.T) {
	s := talk(t, user, calls("a"), chat.ToolResult("a", numberedLines(1000)))
	show := func(budget, window int) []chat.Message {
		r, err := render.Render(t.Context(), prompt(s), render.Options{Budget: budget, PromptBudget: window, Tokenizer: quarter{}})
		require.NoError(t, err)
		return r.Messages
	}
	require.Equal(t, show(1000, 0), show(900, 1000))
	require.NotEqual(t, show(1000, 0), show(900, 0))
}

func TestLimitsOutsideZeroToOneAreRefused(t *testing.T) {
	s := talk(t, user, calls("a"), done("a"), user)
	for _, tt := range []struct {
		limits history.RoundLimits
		name   string
	}{
		{history.RoundLimits{Results: -0.1}, "Results"},
		{history.RoundLimits{Results: 1.1}, "Results"},
		{history.RoundLimits{Results: math.NaN()}, "Results"},
		{history.RoundLimits{Results: math.Inf(1)}, "Results"},
		{history.RoundLimits{Arguments: 2}, "Arguments"},
		{history.RoundLimits{Arguments: -1}, "Arguments"},
		{history.RoundLimits{Head: 40}, "Head"},
		{history.RoundLimits{Head: math.NaN()}, "Head"},
	} {
		for _, e := range []elements.Node{
			history.Conversation{Session: s, Limits: tt.limits}, history.TurnRounds{Session: s, Limits: tt.limits},
		} {
			_, err := render.Render(t.Context(), e, render.Options{Budget: 1000, Tokenizer: quarter{}})
			require.ErrorContains(t, err, "Limits."+tt.name)
		}
	}
	for _, limits := range []history.RoundLimits{{}, {Results: 1, Arguments: 1, Head: 1}, {Results: 1e-9, Arguments: 1e-9, Head: 1e-9}} {
		for _, e := range []elements.Node{
			history.Conversation{Session: s, Limits: limits}, history.TurnRounds{Session: s, Limits: limits},
		} {
			_, err := render.Render(t.Context(), e, render.Options{Budget: 1000, Tokenizer: quarter{}})
			require.NoError(t, err)
		}
	}
}

// FuzzArguments clips any arguments: clipped ones are valid JSON and not longer than before.
func FuzzArguments(f *testing.F) {
	long := strings.Repeat("text ", 200)
	for _, seed := range []string{
		"", "{}", `{"k":` + quoted(long) + `}`, `{"k":` + quoted(long), `[` + quoted(long) + `]]`, quoted(long) + " x", long,
		`{"k":"` + strings.Repeat(`\ud800`, 300) + `"}`, `{"k":"` + strings.Repeat(`é<&>`, 200) + `"}`, `{` + strings.Repeat(`"k":[{`, 200),
	} {
		f.Add(seed, 500)
	}
	f.Fuzz(func(t *testing.T, arguments string, window int) {
		s := numbered.Session()
		if window < 1 || window > 1<<20 || s.Append(t.Context(), user, callWith(arguments)) != nil {
			t.Skip()
		}
		got := within(viewOf(t, s).Turns[0].Rounds[0], history.RoundLimits{}, in(window))[0].ToolCalls[0].Arguments
		if got == arguments {
			return
		}
		require.True(t, json.Valid([]byte(got)), got)
		require.LessOrEqual(t, quarter{}.CountText(got), quarter{}.CountText(arguments))
	})
}

func TestOutputLargerThanTheWindowIsClippedSoThatAPromptFits(t *testing.T) {
	const window = 2000
	huge := strings.Repeat(numberedLines(1000), 40) // 50 times the window
	shell := func(output string) entry.Entry {
		return entry.Entry{Body: entry.Shell{Command: "cat log", Output: output}}
	}
	said := func(messages ...chat.Message) (list []entry.Entry) {
		for _, m := range messages {
			list = append(list, entry.Entry{Body: entry.Message{Message: m}})
		}
		return list
	}
	for _, tt := range []struct {
		rule    string
		entries []entry.Entry
	}{
		{"of a tool in the current turn", said(user, calls("a"), chat.ToolResult("a", huge))},
		{"of a tool in an earlier turn", said(user, calls("a"), chat.ToolResult("a", huge), user)},
		{"of parallel calls", said(user, calls("a", "b", "c"), chat.ToolResult("a", huge), chat.ToolResult("b", huge), chat.ToolResult("c", huge))},
		{"without a line feed", said(user, calls("a"), chat.ToolResult("a", strings.Repeat("x", len(huge))))},
		{"that is not UTF-8", said(user, calls("a"), chat.ToolResult("a", strings.Repeat("\xff", len(huge))))},
		{"of a shell command in the current turn", []entry.Entry{shell(huge)}},
		{"of a shell command in an earlier turn", append([]entry.Entry{shell(huge)}, said(answer, user)...)},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := numbered.Session()
			sessiontest.Add(t, s, tt.entries...)
			r, err := render.Render(t.Context(), prompt(s), render.Options{Budget: window, Tokenizer: quarter{}})
			require.NoError(t, err)
			require.LessOrEqual(t, r.Tokens, window)
			require.Greater(t, r.Tokens, window/4, "much of it is shown")
			require.Contains(t, dump(r.Messages), "cut here")
		})
	}
	t.Run("a user message is never clipped", func(t *testing.T) {
		_, err := render.Render(t.Context(), prompt(talk(t, chat.UserMessage(huge))), render.Options{Budget: window, Tokenizer: quarter{}})
		require.Greater(t, errorAs[*render.BudgetExceededError](t, err).Needed, window)
	})
}

func TestWhatIsSaidBetweenACallAndItsResultIsSentWithTheCall(t *testing.T) {
	s := numbered.Session()
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "read", Arguments: "{}"}}}
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("read"), call, chat.AssistantMessage("I wait."), chat.AssistantMessage("Still."), chat.ToolResult("c1", "text")))
	v := viewOf(t, s)
	want := call
	want.Content = chat.Parts{chat.Text("I wait."), chat.Text("Still.")}
	equal(t, []chat.Message{chat.UserMessage("read"), want, chat.ToolResult("c1", "text")}, v.Messages())
	require.NoError(t, chat.ValidateRequest(chat.Request{Messages: v.Messages()}))
	require.Equal(t, 5, v.Len())

	require.NoError(t, s.Append(t.Context(), chat.AssistantMessage("Done.")))
	equal(t, append(v.Messages(), chat.AssistantMessage("Done.")), viewOf(t, s).Messages())
	equal(t, v.Messages(), viewAt(t, s, v.Newest()).Messages())
}

// After a user's message and after a result the view can be sent, and shows it, whatever calls are open or covered by a
// compaction, and wherever their results come.
func TestAViewThatEndsWithAResultCanBeSent(t *testing.T) {
	late := 0
	for seed := range uint64(cases(200)) {
		d := rand.New(rand.NewPCG(seed, 7))
		s := talk(t, user)
		var open []string
		for n := range 14 {
			var m chat.Message
			switch k := d.IntN(6); {
			case k == 5: // whatever is open is covered
				turns := viewOf(t, s).Turns
				if s.Compact(t.Context(), summary("S", turns[len(turns)-1].Start.ID)) != nil { // it is covered
					require.NoError(t, s.Compact(t.Context(), summary("S", "")))
				}
				continue
			case k == 0:
				m = user
			case k == 1:
				m = answer
			case k == 2 || len(open) == 0:
				id := fmt.Sprint("c", n)
				m, open = calls(id), append(open, id)
			default:
				i := d.IntN(len(open))
				m = chat.ToolResult(open[i], "result of "+open[i]+".")
				open = slices.Delete(open, i, i+1)
			}
			require.NoError(t, s.Append(t.Context(), m))
			v := viewOf(t, s)
			if m.Role != chat.RoleUser && m.Role != chat.RoleTool {
				continue
			}
			messages := v.Messages()
			require.NoError(t, chat.ValidateRequest(chat.Request{Messages: messages}), "seed %d: %s", seed, shape(v))
			require.Contains(t, dump(messages), m.Text(), "seed %d: %s", seed, shape(v))
			require.Equal(t, dump(messages), dump(rendered(t, history.All{Session: s}, 1<<20)))
			if last := messages[len(messages)-1]; m.Role == chat.RoleTool && last.Role == chat.RoleUser {
				late++
			}
			equal(t, messages, viewAt(t, s, v.Leaf()).Messages())
		}
	}
	require.Positive(t, late, "some came after the answer to a later question")
}

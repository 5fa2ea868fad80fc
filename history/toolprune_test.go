package history_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/sizingtest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// Old tool output is left out of what is shown; the session keeps it.
func ExampleOutputPrune() {
	session := &history.Session{}
	err := session.Append(
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
	view, err := session.View()
	if err != nil {
		fmt.Println(err)
		return
	}
	rule := history.OhMyPiPrune()
	rule.Keep, rule.Saves = 300, 100 // instead of 40,000 and 20,000
	view, pruned := rule.Apply(view, sizing.Estimator{})
	fmt.Println(view.Turns[0].Rounds[0].Results[0].Message().Text())
	fmt.Println(pruned.Saved, "tokens saved")
	// Output:
	// [Output truncated - 1000 tokens]
	// It is entry e3 of the session's transcript; call the tool again if you need it.
	// 972 tokens saved
}

// outputs makes a session of one turn from sketches of rounds: "read:100" is a call of read with 100 tokens of output, and
// "a:1+b:2" two parallel ones.
func outputs(t testing.TB, rounds string) *history.Session {
	t.Helper()
	messages := []chat.Message{user}
	for i, round := range strings.Fields(rounds) {
		m := chat.Message{Role: chat.RoleAssistant}
		var results []chat.Message
		for k, call := range strings.Split(round, "+") {
			name, size, _ := strings.Cut(call, ":")
			var tokens int
			_, err := fmt.Sscan(size, &tokens)
			require.NoError(t, err)
			id := fmt.Sprintf("c%d-%d", i, k)
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: id, Name: name, Arguments: "{}"})
			results = append(results, chat.ToolResult(id, strings.Repeat("abc ", tokens)))
		}
		messages = append(append(messages, m), results...)
	}
	return talk(t, messages...)
}

// left writes what of a view is left: for each result its tokens, or "-" where it is pruned.
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

func TestOldOutputIsPruned(t *testing.T) {
	short := func(history.PrunedOutput) string { return "[out]" } // 2 tokens
	rule := history.OutputPrune{Keep: 100, Placeholder: short}
	saving := history.OutputPrune{Keep: 100, Saves: 150, Placeholder: short, Never: []string{"read"}}
	for _, tt := range []struct {
		rule   string
		prune  history.OutputPrune
		rounds string
		want   string
		saved  int
	}{
		{"by default nothing is", history.OutputPrune{Placeholder: short}, "a:500 a:500 a:500", "500 500 500", 0},
		{"all but the newest tokens", rule, "a:60 a:40 a:60 a:40", "- - 60 40", 96},
		{"a result that is partly among them stays whole", rule, "a:60 a:40 a:70 a:40 a:50", "- - 70 40 50", 96},
		{"what fits stays", rule, "a:60 a:40", "60 40", 0},
		{"the newest stays whatever it takes", rule, "a:5 a:5000", "- 5000", 3},
		{"what takes no more than its placeholder stays", rule, "a:2 a:3 a:100", "2 - 100", 1},
		{"parallel results one by one", rule, "a:60+a:70+a:80 a:50", "-+-+80 50", 126},
		{"where too little is saved nothing is", saving, "a:100 a:50 a:100", "100 50 100", 0},
		{"where enough is saved all is", saving, "a:100 a:54 a:100", "- - 100", 150},
		{"some tools never are", saving, "read:500 a:152 Read:500 a:100", "500 - 500 100", 150},
		{"what they have counts among the newest", saving, "a:152 read:100", "- 100", 150},
		{"what is saved later waits until it is enough", saving, "a:152 a:100 a:100", "- 100 100", 150},
		{"and then goes at once", saving, "a:152 a:100 a:100 a:100", "- - - 100", 346},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := outputs(t, tt.rounds)
			before := viewOf(t, s)
			v, pruned := tt.prune.Apply(before, quarter{})
			require.Equal(t, tt.want, left(v))
			require.Equal(t, tt.saved, pruned.Saved)
			require.Len(t, pruned.Outputs, strings.Count(tt.want, "-"))
			require.Equal(t, tokensOf(before)-tokensOf(v), pruned.Saved)
			equal(t, viewOf(t, s), before)
			require.NoError(t, chat.Validate(v.Messages()))
		})
	}
}

// tokensOf counts what a view shows.
func tokensOf(v history.View) (n int) {
	for _, m := range v.Messages() {
		n += quarter{}.CountMessage(m)
	}
	return n
}

func TestPlaceholdersSayHowToGetTheOutputBack(t *testing.T) {
	s := outputs(t, "run:50000 run:50000")
	for _, tt := range []struct {
		rule       string
		prune      history.OutputPrune
		transcript string
		want       string
	}{
		{"A3S", history.A3SPrune(), "", "[output pruned — re-read file or re-run command if needed]"},
		{"oh-my-pi", history.OhMyPiPrune(), "", "[Output truncated - 50000 tokens]\nIt is entry e3 of the session's transcript; call the tool again if you need it."},
		{"with a transcript", history.OhMyPiPrune(), "/tmp/s.jsonl", "[Output truncated - 50000 tokens]\nIt is entry e3 of the session's transcript at /tmp/s.jsonl."},
		{"by default", history.OutputPrune{Keep: 1}, "/tmp/s.jsonl", "[output of 50000 tokens left out here]\nIt is entry e3 of the session's transcript at /tmp/s.jsonl."},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			tt.prune.Transcript = tt.transcript
			v, pruned := tt.prune.Apply(viewOf(t, s), quarter{})
			require.Equal(t, tt.want, v.Turns[0].Rounds[0].Results[0].Message().Text())
			equal(t, []history.PrunedOutput{{Entry: "e3", Tool: "run", Tokens: 50000, Transcript: tt.transcript}}, pruned.Outputs)
			e, err := s.Entry("e3")
			require.NoError(t, err)
			require.Len(t, e.Message().Text(), 4*50000, "the log keeps it")
		})
	}
}

func TestPrunedResultKeepsItsCallAndItsFailure(t *testing.T) {
	failed := chat.Message{Role: chat.RoleTool, ToolCallID: "a", IsError: true, Content: chat.Parts{chat.Image{URL: "u"}, chat.Text(numberedLines(100))}}
	s := talk(t, user, calls("a"), failed, calls("b"), chat.ToolResult("b", numberedLines(100)))
	v, pruned := history.OutputPrune{Keep: 100}.Apply(viewOf(t, s), quarter{})
	require.Equal(t, sizingtest.ImageTokens+250, pruned.Outputs[0].Tokens)
	got := v.Turns[0].Rounds[0].Results[0].Message()
	require.Equal(t, "a", got.ToolCallID)
	require.True(t, got.IsError)
	require.Len(t, got.Content, 1)
}

// The elements leave out what the rule does, in both the turns that are over and the current one.
func TestElementsPruneOutput(t *testing.T) {
	s := outputs(t, "run:500 run:500")
	require.NoError(t, s.Append(chat.UserMessage("and now?"), calls("x"), chat.ToolResult("x", strings.Repeat("abc ", 500)), calls("y"), chat.ToolResult("y", strings.Repeat("abc ", 500))))
	rule := history.OutputPrune{Keep: 500}
	want, pruned := rule.Apply(viewOf(t, s), quarter{})
	require.Len(t, pruned.Outputs, 3)
	got := rendered(t, elements.Fragment{
		history.Conversation{Session: s, Prune: rule}, history.Request{Session: s}, history.Rounds{Session: s, Prune: rule},
	}, 1<<20)
	require.NoError(t, chat.Validate(got))
	require.Equal(t, dump(want.Messages()), dump(got))
}

func TestElementsNameTheTranscript(t *testing.T) {
	s := opened(t, tempFile(t))
	require.NoError(t, s.Append(user, calls("a"), chat.ToolResult("a", numberedLines(100)), calls("b"), chat.ToolResult("b", numberedLines(100))))
	for _, tt := range []struct{ transcript, want string }{{"", s.Path()}, {"other.jsonl", "other.jsonl"}} {
		rounds := history.Rounds{Session: s, Prune: history.OutputPrune{Keep: 100, Transcript: tt.transcript}}
		got := rendered(t, elements.Fragment{history.Request{Session: s}, rounds}, 1<<20)
		require.Contains(t, got[2].Text(), "It is entry e3 of the session's transcript at "+tt.want)
	}
}

// What a rule prunes of a session it prunes of every longer one: as if it had been applied after each round.
func TestAnyPruning(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(120)) {
		r := rand.New(rand.NewPCG(seed, 6))
		rule := history.OutputPrune{Keep: 1 + r.IntN(300), Saves: r.IntN(2) * r.IntN(300), Never: []string{"read"}}
		var rounds []string
		var before history.OutputPruned
		kept := map[string]bool{} // entries that were pruned before
		for range 1 + r.IntN(20) {
			round := fmt.Sprint([]string{"run:", "read:"}[r.IntN(2)], r.IntN(150))
			if r.IntN(4) == 0 {
				round += fmt.Sprint("+run:", r.IntN(150))
			}
			rounds = append(rounds, round)
			whole := viewOf(t, outputs(t, strings.Join(rounds, " ")))
			v, pruned := rule.Apply(whole, quarter{})
			require.NoError(t, chat.Validate(v.Messages()))
			require.Equal(t, tokensOf(whole)-tokensOf(v), pruned.Saved, "seed %d", seed)
			gone := map[string]bool{}
			for _, o := range pruned.Outputs {
				require.NotEqual(t, "read", o.Tool)
				gone[o.Entry] = true
			}
			for id := range kept {
				require.True(t, gone[id], "seed %d: %s came back", seed, id)
			}
			if added := pruned.Saved - before.Saved; added > 0 {
				require.GreaterOrEqual(t, added, rule.Saves, "seed %d", seed)
			}
			before, kept = pruned, gone
			newest := 0 // tokens after each result, from the end
			turn := whole.Turns[0]
			for i := len(turn.Rounds) - 1; i >= 0; i-- {
				for k := len(turn.Rounds[i].Results) - 1; k >= 0; k-- {
					e := turn.Rounds[i].Results[k]
					require.False(t, gone[e.ID] && newest < rule.Keep, "seed %d: %s is among the newest", seed, e.ID)
					newest += quarter{}.CountText(e.Message().Text())
				}
			}
			kept, before = gone, pruned
		}
	}
}

// A recorded session, pruned at every leaf, obeys the providers, and has no more output than the rule keeps.
func TestPruneAtEveryLeafOfASession(t *testing.T) {
	t.Parallel()
	messages := recording(t, "importer/testdata/generated.jsonl")
	session := &history.Session{}
	rule := history.OhMyPiPrune()
	rule.Keep, rule.Saves = 10_000, 5_000
	pruned := 0
	for i, m := range messages {
		require.NoError(t, session.Append(m))
		if race && i%4 != 0 {
			continue
		}
		v, p := rule.Apply(viewOf(t, session), quarter{})
		if err := chat.Validate(append(v.Messages(), user)); err != nil {
			require.NoError(t, err)
		}
		pruned = len(p.Outputs)
	}
	require.Greater(t, pruned, 50)
}

func TestContextPrunesWhereElementsDoNot(t *testing.T) {
	session := outputs(t, "a:100 b:100 c:100")
	rule := history.OutputPrune{Keep: 100}
	for _, c := range []struct {
		name string
		own  history.OutputPrune
		ctx  history.OutputPrune
		want int // results that stay
	}{
		{"no rule at all", history.OutputPrune{}, history.OutputPrune{}, 3},
		{"the context's", history.OutputPrune{}, rule, 1},
		{"the element's own goes before it", history.OutputPrune{Keep: 200}, rule, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := history.WithPrune(t.Context(), session, c.ctx)
			ctx = history.WithPrune(ctx, &history.Session{}, history.OutputPrune{Keep: 1}) // of another session
			r, err := render.Render(ctx, history.Rounds{Session: session, Prune: c.own}, render.Options{Tokenizer: words{}, Budget: 10_000})
			require.NoError(t, err)
			pruned := strings.Count(fmt.Sprint(r.Messages), "left out here")
			require.Equal(t, c.want, 3-pruned)
		})
	}
}

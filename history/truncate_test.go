package history_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing"
)

// A Truncator is the last guard before the model: it removes the oldest messages from a request that is over the limit.
func ExampleTruncator() {
	guard := history.Truncator{Tokenizer: sizing.Estimator{}, Limit: 600}
	messages := []chat.Message{
		chat.SystemMessage("You are a coding agent."),
		chat.UserMessage("Which files are there?"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "list", Arguments: `{}`}}},
		chat.ToolResult("c1", strings.Repeat("main.go\n", 100)),
		chat.UserMessage("And what do they do?"),
	}
	kept, _ := guard.Truncate(messages, nil)
	for _, m := range kept {
		fmt.Println(m.Role, m.Text())
	}
	// Output:
	// system You are a coding agent.
	// user Which files are there?
	// user And what do they do?
}

// flat counts ten tokens for each message, and five for each tool definition.
type flat struct{ quarter }

func (flat) CountMessage(chat.Message) int    { return 10 }
func (flat) CountTools(tools []chat.Tool) int { return 5 * len(tools) }

// sketched makes messages from a sketch: "s" is a system message, "u" a user message, "a" an assistant message, "c" one
// with a call, "d" one with two, "r" a result of the first call, "q" of the second, "o" of none. A message's text is
// its letter and its index.
func sketched(sketch string) []chat.Message {
	var list []chat.Message
	call := 0
	for i, kind := range strings.Fields(sketch) {
		name := fmt.Sprintf("%s%d", kind, i)
		var m chat.Message
		switch kind {
		case "s":
			m = chat.SystemMessage(name)
		case "u":
			m = chat.UserMessage(name)
		case "a":
			m = chat.AssistantMessage(name)
		case "c", "d":
			call = i
			m = calls(fmt.Sprint(i), fmt.Sprint(i, "b"))
			m.ToolCalls = m.ToolCalls[:map[string]int{"c": 1, "d": 2}[kind]]
			m.Name = name
		case "r":
			m = chat.ToolResult(fmt.Sprint(call), name)
		case "q":
			m = chat.ToolResult(fmt.Sprint(call, "b"), name)
		case "o":
			m = chat.ToolResult("none", name)
		}
		list = append(list, m)
	}
	return list
}

// sketch returns the names of messages.
func sketch(list []chat.Message) string {
	names := make([]string, len(list))
	for i, m := range list {
		if names[i] = m.Text(); len(m.ToolCalls) > 0 {
			names[i] = m.Name
		}
	}
	return strings.Join(names, " ")
}

func TestTruncatorRemovesTheOldestFirst(t *testing.T) {
	for _, tt := range []truncation{
		{"a list that fits stays", "s u c r u", 50, "s0 u1 c2 r3 u4"},
		{"a round is removed as a whole", "s u c r u", 49, "s0 u1 u4"},
		{"the oldest round is removed first", "s u c r c r u", 69, "s0 u1 c4 r5 u6"},
		{"it removes down to the target", "s u c r c r u", 50, "s0 u1 u6"},
		{"parallel calls are removed together", "s u d r q a u", 59, "s0 u1 a5 u6"},
		{"rounds are removed before user messages", "s u a u a u", 39, "s0 u3 u5"},
		{"a newer round is removed before a user message", "s u u a u", 49, "s0 u1 u2 u4"},
		{"then user messages are removed, the oldest first", "s u a u a u", 30, "s0 u5"},
		{"the rounds after the latest user message are removed last", "s u a u c r c r", 79, "s0 u1 u3 c4 r5 c6 r7"},
		{"the oldest of those is removed first", "s u a u c r c r", 50, "s0 u3 c6 r7"},
		{"the newest of those stays", "s u a u c r c r", 10, "s0 u3 c6 r7"},
		{"system messages stay", "s u s a s u", 1, "s0 s2 s4 u5"},
		{"without a user message the newest round stays", "s c r c r a c r", 1, "s0 c6 r7"},
		{"a list of system messages stays", "s s", 1, "s0 s1"},
		{"an empty list stays", "", 1, ""},
		{"without the assistant's work the rest is at the limit, above the target", "s u u a u", 40, "s0 u1 u2 u4"},
		{"and without it above the limit", "s u u a u", 39, "s0 u2 u4"},
		{"without the older user messages the rest is at the limit, above the target", "s u a u c r c r", 60, "s0 u3 c4 r5 c6 r7"},
		{"and without them above the limit", "s u a u c r c r", 59, "s0 u3 c6 r7"},
		{"a rest of exactly the target is too large", "s u a a a a a a a a a a a a a a a a a a a u", 200, "s0 u1 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16 a17 a18 a19 a20 u21"},
	} {
		requireTruncated(t, tt, nil)
	}
}

// truncation is a list in the notation of sketched, and what is left of it within a limit, at ten tokens a message.
type truncation struct {
	rule, messages string
	limit          int
	want           string
}

func requireTruncated(t *testing.T, tt truncation, last func(chat.Message) bool) {
	t.Run(tt.rule, func(t *testing.T) {
		messages := sketched(tt.messages)
		kept, over := history.Truncator{Tokenizer: flat{}, Limit: tt.limit, Last: last}.Truncate(messages, nil)
		require.Equal(t, tt.want, sketch(kept))
		equal(t, sketched(tt.messages), messages)
		require.Equal(t, max(0, 10*len(kept)-tt.limit), over)
	})
}

// published removes messages from a list, without orphans, as the program that Copilot CLI publishes as @github/copilot
// 1.0.40 does: a pass removes one message after the other, each with its results, until less than 95% of the limit is
// taken, and the next pass is made only if the rest exceeds the limit.
func published(messages []chat.Message, limit int) []chat.Message {
	kept := slices.Clone(messages)
	latest := func() int {
		for i := len(kept) - 1; i >= 0; i-- {
			if kept[i].Role == chat.RoleUser {
				return i
			}
		}
		return len(kept)
	}
	pass := func(goes func(i int, role chat.Role) bool) {
		for i := 0; i < len(kept); {
			if !goes(i, kept[i].Role) {
				i++
				continue
			}
			var results []string
			for _, c := range kept[i].ToolCalls {
				results = append(results, c.ID)
			}
			kept = slices.Delete(kept, i, i+1)
			kept = slices.DeleteFunc(kept, func(m chat.Message) bool { return m.Role == chat.RoleTool && slices.Contains(results, m.ToolCallID) })
			if float64(counted(kept)) < 0.95*float64(limit) {
				return
			}
		}
	}
	for _, goes := range []func(i int, role chat.Role) bool{
		func(i int, role chat.Role) bool { return role == chat.RoleAssistant && i < latest() },
		func(i int, role chat.Role) bool { return role == chat.RoleUser && i < latest() },
		func(_ int, role chat.Role) bool { return role == chat.RoleAssistant },
	} {
		if counted(kept) > limit {
			pass(goes)
		}
	}
	return kept
}

// possible leaves out of a list that exceeds a limit the rounds and user messages that exceed it alone.
func possible(messages []chat.Message, limit int) []chat.Message {
	if counted(messages) <= limit {
		return messages
	}
	var units [][]chat.Message
	latest, newest := -1, -1
	for _, m := range messages {
		switch m.Role {
		case chat.RoleTool:
			units[len(units)-1] = append(units[len(units)-1], m)
			continue
		case chat.RoleUser:
			latest = len(units)
		case chat.RoleAssistant:
			newest = len(units)
		}
		units = append(units, []chat.Message{m})
	}
	system := counted(slices.DeleteFunc(slices.Clone(messages), func(m chat.Message) bool { return m.Role != chat.RoleSystem }))
	var kept []chat.Message
	for i, u := range units {
		if u[0].Role == chat.RoleSystem || i == latest || i == newest && newest > latest || system+counted(u) <= limit {
			kept = append(kept, u...)
		}
	}
	return kept
}

func counted(messages []chat.Message) (n int) {
	for _, m := range messages {
		n += quarter{}.CountMessage(m)
	}
	return n
}

func TestWhatAloneExceedsTheLimitTakesNothingElseWithIt(t *testing.T) {
	large := chat.UserMessage(strings.Repeat("summary ", 2000))
	list := []chat.Message{chat.SystemMessage("You are an agent."), large}
	for n := range 6 {
		list = append(list, chat.UserMessage(fmt.Sprint("question ", n)), chat.AssistantMessage(fmt.Sprint("answer ", n)))
	}
	list = append(list, chat.UserMessage("Go on."))
	goesLast := func(m chat.Message) bool { return m.Text() == large.Text() }
	all := counted(list)
	for _, c := range []struct {
		limit int
		last  func(chat.Message) bool
	}{{1000, nil}, {1000, goesLast}, {all - counted(list[2:]), goesLast}, {counted(list[:2]) + 1, goesLast}} {
		got, over := history.Truncator{Tokenizer: quarter{}, Limit: c.limit, Last: c.last}.Truncate(list, nil)
		require.Equal(t, append(slices.Clone(list[:1]), list[2:]...), got, "%d of %d", c.limit, all)
		require.Zero(t, over)
	}
}

func TestATruncatedListIsThePublishedProgramsButForTheNewestRound(t *testing.T) {
	t.Parallel()
	same, kept := 0, 0
	for seed := range uint64(cases(5000)) {
		r := rand.New(rand.NewPCG(seed, 8))
		messages := jumbled(r, true)
		limit := 1 + counted(messages)*(30+r.IntN(71))/100
		got, _ := history.Truncator{Tokenizer: quarter{}, Limit: limit}.Truncate(messages, nil)
		want := published(possible(messages, limit), limit)
		if sketch(got) == sketch(want) {
			same++
			continue
		}
		kept++
		rounds := 0
		without := slices.DeleteFunc(slices.Clone(got), func(m chat.Message) bool {
			if m.Role == chat.RoleAssistant {
				rounds++
			}
			return m.Role == chat.RoleAssistant || m.Role == chat.RoleTool
		})
		require.Equal(t, 1, rounds, "seed %d: only the newest round stays", seed)
		require.Equal(t, sketch(want), sketch(without), "seed %d, limit %d: %s", seed, limit, sketch(messages))
	}
	require.Greater(t, same, kept)
	require.Positive(t, kept)
}

func TestTruncatorRemovesTheMessageOfLastAfterAllOthers(t *testing.T) {
	for _, tt := range []truncation{
		{"newer user messages are removed before it", "s u u a u", 39, "s0 u1 u4"},
		{"rounds after the latest user message are removed before it", "s u u u c r c r", 50, "s0 u1 u3 c6 r7"},
		{"it stays if the rest is within the limit, even above the target", "s u u c r c r", 50, "s0 u1 u2 c5 r6"},
		{"it is removed if nothing else can be", "s u u c r c r", 49, "s0 u2 c5 r6"},
		{"it is removed if the rest is still too large", "s u u c r", 10, "s0 u2 c3 r4"},
	} {
		requireTruncated(t, tt, func(m chat.Message) bool { return m.Text() == "u1" })
	}
}

func TestTruncatorRemovesCallsAndResultsWithoutEachOther(t *testing.T) {
	for _, tt := range []struct{ rule, messages, want string }{
		{"a result without a call", "s u o u", "s0 u1 u3"},
		{"a result without a call, in a round", "u c r o u", "u0 c1 r2 u4"},
		{"a second result of a call", "u c r r u", "u0 c1 r2 u4"},
		{"a result after another message", "u c r u r u", "u0 c1 r2 u3 u5"},
		{"a call without a result", "u c u", "u0 u2"},
		{"a call without a result at the end", "u a u c", "u0 a1 u2"},
		{"a call with a late result", "u c u r", "u0 u2"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			messages := sketched(tt.messages)
			kept, _ := history.Truncator{Tokenizer: flat{}}.Truncate(messages, nil)
			require.Equal(t, tt.want, sketch(kept))
			equal(t, sketched(tt.messages), messages)
			require.NoError(t, chat.Validate(append(kept, user)))
		})
	}
	t.Run("only one of two parallel calls", func(t *testing.T) {
		messages := sketched("u d q")
		kept, _ := history.Truncator{Tokenizer: quarter{}}.Truncate(messages, nil)
		require.NoError(t, chat.Validate(kept))
		require.Len(t, kept[1].ToolCalls, 1)
		require.Equal(t, "1b", strings.ReplaceAll(kept[1].ToolCalls[0].ID, " ", ""))
		equal(t, sketched("u d q"), messages)
	})
}

func TestTruncatorCountsToolDefinitionsTowardsTheLimit(t *testing.T) {
	kept, over := history.Truncator{Tokenizer: flat{}, Limit: 50}.Truncate(sketched("s u c r u"), make([]chat.Tool, 2))
	require.Equal(t, "s0 u1 u4", sketch(kept))
	require.Zero(t, over)
	kept, over = history.Truncator{Tokenizer: flat{}, Limit: 20}.Truncate(sketched("s u"), make([]chat.Tool, 3))
	require.Equal(t, "s0 u1", sketch(kept))
	require.Equal(t, 15, over)
}

func TestTruncatorsLimitIsTheDefaultBudget(t *testing.T) {
	fits := sketched("u" + strings.Repeat(" a", sizing.DefaultTokens/10-1))
	kept, _ := history.Truncator{Tokenizer: flat{}}.Truncate(fits, nil)
	equal(t, fits, kept)
	kept, _ = history.Truncator{Tokenizer: flat{}}.Truncate(append(fits, user), nil)
	require.Less(t, len(kept), len(fits))
}

// jumbled returns a list of messages, valid or not.
func jumbled(r *rand.Rand, valid bool) []chat.Message {
	var kinds []string
	for range r.IntN(30) {
		if valid {
			kinds = append(kinds, []string{"s", "u", "a", "c r", "d r q", "d q r"}[r.IntN(6)])
		} else {
			kinds = append(kinds, []string{"s", "u", "a", "c", "d", "r", "q", "o"}[r.IntN(8)])
		}
	}
	list := sketched(strings.Join(kinds, " "))
	for i := range list {
		if r.IntN(3) == 0 {
			list[i].Content = append(list[i].Content, chat.Text(strings.Repeat("word ", r.IntN(100))+"."))
		}
	}
	return list
}

func TestAnyTruncatedListObeysTheProvidersRules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(2000)) {
		r := rand.New(rand.NewPCG(seed, 3))
		valid := r.IntN(2) == 0
		messages := jumbled(r, valid)
		if valid {
			messages = append(messages, []chat.Message{user, calls("z"), done("z")}[:1+2*r.IntN(2)]...)
			require.NoError(t, chat.Validate(messages))
		}
		before := sure.JSON(t, messages)
		limit := 1 + r.IntN(1+r.IntN(2000))
		guard := history.Truncator{Tokenizer: quarter{}, Limit: limit}
		kept, over := guard.Truncate(messages, nil)

		require.Equal(t, string(before), string(sure.JSON(t, messages)), "seed %d: the list was changed", seed)
		require.Equal(t, max(0, counted(kept)-limit), over, "seed %d", seed)
		if err := chat.Validate(append(slices.Clone(kept), user)); err != nil {
			require.NoError(t, err, "seed %d", seed)
		}
		system := func(list []chat.Message) (n int) {
			for _, m := range list {
				if m.Role == chat.RoleSystem {
					n++
				}
			}
			return n
		}
		require.Equal(t, system(messages), system(kept), "seed %d", seed)
		latest := func(list []chat.Message) string {
			for _, m := range slices.Backward(list) {
				if m.Role == chat.RoleUser {
					return m.Text()
				}
			}
			return ""
		}
		require.Equal(t, latest(messages), latest(kept), "seed %d", seed)
		if valid {
			require.NoError(t, chat.Validate(kept), "seed %d", seed)
			if counted(messages) <= limit {
				equal(t, messages, kept)
			}
		}
		again, _ := guard.Truncate(kept, nil)
		equal(t, kept, again)
	}
}

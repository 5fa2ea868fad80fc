package history_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
)

// A truncator stands between the prompt and the model: where a request is over the limit after all, the oldest goes.
func ExampleTruncator() {
	guard := &history.Truncator{Tokenizer: sizing.Estimator{}, Limit: 600}
	messages := []chat.Message{
		chat.SystemMessage("You are a coding agent."),
		chat.UserMessage("Which files are there?"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "list", Arguments: `{}`}}},
		chat.ToolResult("c1", strings.Repeat("main.go\n", 100)),
		chat.UserMessage("And what do they do?"),
	}
	kept, report := guard.Truncate(messages, nil)
	for _, m := range kept {
		fmt.Println(m.Role, m.Text())
	}
	removed, tokens := report.Removed()
	fmt.Printf("%s: %d messages of %d tokens removed, %d tokens are left of %d\n", report.By, removed, tokens, report.After.Tokens(), report.Limit)
	// Output:
	// system You are a coding agent.
	// user Which files are there?
	// user And what do they do?
	// Truncator: 2 messages of 402 tokens removed, 317 tokens are left of 600
}

// flat takes a message for ten tokens, and each tool definition for five.
type flat struct{ quarter }

func (flat) CountMessage(chat.Message) int    { return 10 }
func (flat) CountTools(tools []chat.Tool) int { return 5 * len(tools) }

// sketched makes messages from a sketch: "s" a system message, "u" the user's, "a" the assistant's, "c" one with a call,
// "d" one with two, "r" a result of the first call, "q" of the second, "o" of none. A number follows each: its place.
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

// sketch names messages.
func sketch(list []chat.Message) string {
	names := make([]string, len(list))
	for i, m := range list {
		if names[i] = m.Text(); len(m.ToolCalls) > 0 {
			names[i] = m.Name
		}
	}
	return strings.Join(names, " ")
}

func TestTruncatorDropsTheOldestFirst(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		messages string
		limit    int
		want     string
	}{
		{"what fits stays", "s u c r u", 50, "s0 u1 c2 r3 u4"},
		{"a round goes whole", "s u c r u", 49, "s0 u1 u4"},
		{"the oldest round first", "s u c r c r u", 69, "s0 u1 c4 r5 u6"},
		{"a little more than must go", "s u c r c r u", 50, "s0 u1 u6"},
		{"parallel calls together", "s u d r q a u", 59, "s0 u1 a5 u6"},
		{"rounds before user messages", "s u a u a u", 39, "s0 u3 u5"},
		{"a round that is newer than a user message goes before it", "s u u a u", 49, "s0 u1 u2 u4"},
		{"then user messages, the oldest first", "s u a u a u", 30, "s0 u5"},
		{"the rounds after the latest user message go last", "s u a u c r c r", 79, "s0 u1 u3 c4 r5 c6 r7"},
		{"the oldest of them first", "s u a u c r c r", 50, "s0 u3 c6 r7"},
		{"the newest of them stays", "s u a u c r c r", 10, "s0 u3 c6 r7"},
		{"system messages stay wherever they stand", "s u s a s u", 1, "s0 s2 s4 u5"},
		{"without a user message the newest round stays", "s c r c r a c r", 1, "s0 c6 r7"},
		{"a list of system messages", "s s", 1, "s0 s1"},
		{"nothing", "", 1, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			guard := &history.Truncator{Tokenizer: flat{}, Limit: tt.limit}
			messages := sketched(tt.messages)
			kept, report := guard.Truncate(messages, nil)
			require.Equal(t, tt.want, sketch(kept))
			equal(t, sketched(tt.messages), messages)
			require.Equal(t, 10*len(kept), report.After.Tokens())
			require.Equal(t, max(0, 10*len(kept)-tt.limit), report.Over)
		})
	}
}

func TestTruncatorKeepsAUserMessageToTheLast(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		messages string
		limit    int
		want     string
	}{
		{"it outlives user messages that are newer", "s u u a u", 39, "s0 u1 u4"},
		{"and rounds after the latest", "s u u u c r c r", 50, "s0 u1 u3 c6 r7"},
		{"it stays where the rest is within the limit, if not the target", "s u u c r c r", 50, "s0 u1 u2 c5 r6"},
		{"where nothing else is left it goes", "s u u c r c r", 49, "s0 u2 c5 r6"},
		{"where the rest is too large it goes too", "s u u c r", 10, "s0 u2 c3 r4"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			guard := &history.Truncator{Tokenizer: flat{}, Limit: tt.limit, Last: func(m chat.Message) bool { return m.Text() == "u1" }}
			kept, report := guard.Truncate(sketched(tt.messages), nil)
			require.Equal(t, tt.want, sketch(kept))
			require.Equal(t, max(0, 10*len(kept)-tt.limit), report.Over)
		})
	}
}

func TestTruncatorRemovesOrphansEvenWhereEverythingFits(t *testing.T) {
	for _, tt := range []struct{ rule, messages, want string }{
		{"a result of no call", "s u o u", "s0 u1 u3"},
		{"one of another call", "u c r o u", "u0 c1 r2 u4"},
		{"a second result of a call", "u c r r u", "u0 c1 r2 u4"},
		{"a result after another message", "u c r u r u", "u0 c1 r2 u3 u5"},
		{"a call without a result", "u c u", "u0 u2"},
		{"at the end too", "u a u c", "u0 a1 u2"},
		{"with its late result", "u c u r", "u0 u2"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			messages := sketched(tt.messages)
			kept, report := (&history.Truncator{Tokenizer: flat{}}).Truncate(messages, nil)
			require.Equal(t, tt.want, sketch(kept))
			equal(t, sketched(tt.messages), messages)
			require.Equal(t, 10*len(kept), report.After.Tokens())
			require.Equal(t, len(kept), report.After.Messages)
			require.NoError(t, chat.Validate(append(kept, user)))
		})
	}
	t.Run("one of two parallel calls without a result goes alone", func(t *testing.T) {
		messages := sketched("u d q")
		kept, _ := (&history.Truncator{Tokenizer: quarter{}}).Truncate(messages, nil)
		require.NoError(t, chat.Validate(kept))
		require.Len(t, kept[1].ToolCalls, 1)
		require.Equal(t, "1b", strings.ReplaceAll(kept[1].ToolCalls[0].ID, " ", ""))
		equal(t, sketched("u d q"), messages)
	})
}

func TestTruncatorCountsToolDefinitionsApart(t *testing.T) {
	guard := &history.Truncator{Tokenizer: flat{}, Limit: 50, Name: "guard"}
	tools := make([]chat.Tool, 2)
	kept, report := guard.Truncate(sketched("s u c r u"), tools)
	require.Equal(t, "s0 u1 u4", sketch(kept))
	equal(t, history.Truncation{
		By: "guard", Initial: true, Limit: 50, Target: 47,
		Before: history.RequestUsage{Messages: 5, System: 10, Conversation: 40, Tools: 10},
		After:  history.RequestUsage{Messages: 3, System: 10, Conversation: 20, Tools: 10},
	}, report)
	messages, tokens := report.Removed()
	require.Equal(t, []int{2, 20}, []int{messages, tokens})
}

func TestTruncatorReportsUsageWhereNothingGoes(t *testing.T) {
	guard := &history.Truncator{Tokenizer: flat{}}
	messages := sketched("s u")
	for i := range 3 {
		kept, report := guard.Truncate(messages, nil)
		equal(t, messages, kept)
		usage := history.RequestUsage{Messages: 2, System: 10, Conversation: 10}
		equal(t, history.Truncation{
			By: "Truncator", Initial: i == 0, Limit: sizing.DefaultTokens, Target: 121_600, Before: usage, After: usage,
		}, report)
	}
}

func TestTruncatorAimsBelowTheLimitOnlyOnceItIsExceeded(t *testing.T) {
	messages := sketched("u" + strings.Repeat(" a", 98) + " u")
	for _, tt := range []struct {
		limit  int
		target float64
		want   int
	}{{1000, 0, 100}, {999, 0, 94}, {999, 0.5, 49}, {999, 1, 99}, {999, 7, 94}} {
		kept, _ := (&history.Truncator{Tokenizer: flat{}, Limit: tt.limit, Target: tt.target}).Truncate(messages, nil)
		require.Len(t, kept, tt.want, "limit %d, target %v", tt.limit, tt.target)
	}
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

// What is left of any list fits or is what must stay, is in order, and obeys the providers where the list did.
func TestAnyTruncatedListFitsAndObeysTheProviders(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(2000)) {
		r := rand.New(rand.NewPCG(seed, 3))
		valid := r.IntN(2) == 0
		messages := jumbled(r, valid)
		if valid {
			messages = append(messages, []chat.Message{user, calls("z"), done("z")}[:1+2*r.IntN(2)]...)
			require.NoError(t, chat.Validate(messages))
		}
		before, err := json.Marshal(messages)
		require.NoError(t, err)
		limit := 1 + r.IntN(1+r.IntN(2000))
		guard := &history.Truncator{Tokenizer: quarter{}, Limit: limit}
		kept, report := guard.Truncate(messages, nil)

		after, err := json.Marshal(messages)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "seed %d: the list was changed", seed)
		total := 0
		for _, m := range kept {
			total += quarter{}.CountMessage(m)
		}
		require.Equal(t, total, report.After.Tokens(), "seed %d", seed)
		require.Equal(t, len(kept), report.After.Messages, "seed %d", seed)
		require.Equal(t, max(0, total-limit), report.Over, "seed %d", seed)
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
			if report.Before.Tokens() <= limit {
				equal(t, messages, kept)
			}
		}
		again, second := guard.Truncate(kept, nil)
		equal(t, kept, again)
		require.False(t, second.Initial)
	}
}

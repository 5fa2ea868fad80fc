package tiktoken

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

func TestACutIsSafeWhereNoWordCrossesIt(t *testing.T) {
	const o200k, cl100k, gpt3 = "o200k_base", "cl100k_base", "p50k_base"
	for _, tt := range []struct {
		rule          string
		before, after rune
		safeIn        []string
	}{
		{"between letters", 'a', 'b', nil},
		{"between letters without case", '中', '文', nil},
		{"from a letter to a space", 'a', ' ', []string{o200k, cl100k, gpt3}},
		{"from a letter to a number", 'a', '1', []string{o200k, cl100k, gpt3}},
		{"from a letter to a mark", 'a', '\u0301', []string{cl100k, gpt3}},
		{"from a letter to an apostrophe", 'a', '\'', []string{cl100k, gpt3}},
		{"between numbers", '1', '2', nil},
		{"from a number to a letter", '1', 'a', []string{o200k, cl100k, gpt3}},
		{"from a number to a line break", '1', '\n', []string{o200k, cl100k, gpt3}},
		{"from a line break to a letter", '\n', 'a', []string{o200k, cl100k}},
		{"from a line break to a slash", '\r', '/', []string{cl100k}},
		{"from a line break to a space", '\n', ' ', nil},
		{"between line breaks", '\r', '\n', nil},
		{"between spaces", ' ', ' ', nil},
		{"from a space to a letter", ' ', 'a', nil},
		{"from a symbol to a letter", '(', 'a', []string{gpt3}},
		{"from an apostrophe to a letter", '\'', 's', nil},
		{"from an apostrophe to a number", '\'', '1', []string{o200k, cl100k, gpt3}},
		{"between symbols", '(', ')', nil},
		{"from a symbol to a space", ')', '\t', []string{o200k, cl100k, gpt3}},
		{"from a symbol to a line break", ')', '\n', []string{gpt3}},
		{"from a mark to a number", '\u0301', '1', []string{o200k, cl100k, gpt3}},
		{"from an emoji to a space", '🙂', ' ', []string{o200k, cl100k, gpt3}},
		{"between invalid characters", -1, utf8.MaxRune + 1, nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, encoding := range []string{o200k, cl100k, gpt3} {
				got := newTestCounter(t, encoding).SafeCut(tt.before, tt.after)
				require.Equal(t, slices.Contains(tt.safeIn, encoding), got, encoding)
			}
		})
	}
}

// requireCutsAddUp cuts a text at every safe cut and returns their number.
func requireCutsAddUp(t *testing.T, c *Counter, text string) (cuts int) {
	t.Helper()
	text = string([]rune(text))
	whole := c.count(text)
	before := rune(-1)
	for i, after := range text {
		if before >= 0 && c.SafeCut(before, after) {
			cuts++
			if sum := c.count(text[:i]) + c.count(text[i:]); sum != whole {
				require.Failf(t, "a cut that is not safe", "%d tokens became %d: %q + %q", whole, sum, text[:i], text[i:])
			}
		}
		before = after
	}
	return cuts
}

func TestCutsOfRandomTextsAddUp(t *testing.T) {
	for _, encoding := range encodings {
		t.Run(encoding, func(t *testing.T) {
			c := newTestCounter(t, encoding)
			r := rand.New(rand.NewPCG(11, 12))
			cuts := 0
			for range 20_000 {
				cuts += requireCutsAddUp(t, c, sizingtest.RandomText(r))
			}
			require.Greater(t, cuts, 50_000)
		})
	}
}

func FuzzSafeCut(f *testing.F) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 100 {
		f.Add(sizingtest.RandomText(r))
	}
	all := pairings(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			t.Skip("each cut counts the whole text")
		}
		for _, p := range all {
			requireCutsAddUp(t, p.counter, text)
		}
	})
}

// A rule that forbade every cut would be correct but useless.
func TestSourceCodeHasManySafeCuts(t *testing.T) {
	source := sure.Read(t, "counter.go")
	for _, encoding := range encodings {
		c := newTestCounter(t, encoding)
		cuts, before := 0, rune(-1)
		for _, after := range string(source) {
			if before >= 0 && c.SafeCut(before, after) {
				cuts++
			}
			before = after
		}
		require.Greater(t, cuts, len(source)/6, "a cut in every 6 bytes")
		require.Less(t, cuts, len(source)/2)
	}
}

// randomPart returns a part of any kind.
func randomPart(r *rand.Rand) chat.Part {
	switch r.IntN(12) {
	case 0:
		return chat.Image{URL: "https://example.com/a.png", Detail: chat.DetailLow}
	case 1:
		return chat.NewDocument("text/plain", []byte(sizingtest.RandomText(r)))
	case 2:
		return chat.Thinking{Text: sizingtest.RandomText(r), Signature: "c2ln"}
	case 3:
		return chat.Opaque{Value: json.RawMessage(`{"a":1}`), Tokens: r.IntN(20)}
	case 4:
		return chat.CacheBreakpoint{Type: "ephemeral"}
	case 5:
		return chat.Text("")
	default:
		return chat.Text(sizingtest.RandomText(r))
	}
}

func TestMessageIsItsFrameAndItsTexts(t *testing.T) {
	roles := []chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool}
	r := rand.New(rand.NewPCG(15, 16))
	c := newTestCounter(t, "o200k_base")
	seen := map[bool]int{}
	for range 3000 {
		m := chat.Message{Role: roles[r.IntN(len(roles))]}
		for range r.IntN(6) {
			m.Content = append(m.Content, randomPart(r))
		}
		if r.IntN(2) == 0 {
			m.Name = "Ada Lovelace"
		}
		for range r.IntN(3) {
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: "call_1", Name: "count", Arguments: sizingtest.RandomText(r)})
		}
		m.ToolCallID = "call_2"

		frame, joined := c.CountFrame(m)
		texts, other := 0, m
		other.Content = nil
		for _, part := range m.Content {
			if text, ok := part.(chat.Text); ok {
				texts += c.CountText(string(text))
				part = chat.Text(sizingtest.RandomText(r))
			}
			other.Content = append(other.Content, part)
		}
		if joined {
			texts = c.CountText(m.Text())
		}
		require.Equal(t, c.CountMessage(m), frame+texts, "%+v", m)

		otherFrame, otherJoined := c.CountFrame(other)
		require.Equal(t, frame, otherFrame, "what the texts say has no say in the frame")
		require.Equal(t, joined, otherJoined)
		seen[joined]++
	}
	require.Greater(t, min(seen[true], seen[false]), 300)
}

// A part or a call takes the same in every message of a role with the same types of parts.
func TestFramesAddUp(t *testing.T) {
	roles := []chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool}
	r := rand.New(rand.NewPCG(17, 18))
	c := newTestCounter(t, "o200k_base")
	takes := func(m, more chat.Message) int {
		before, _ := c.CountFrame(m)
		m.Content, m.ToolCalls = slices.Concat(m.Content, more.Content), slices.Concat(m.ToolCalls, more.ToolCalls)
		after, _ := c.CountFrame(m)
		return after - before
	}
	for range 3000 {
		var one, many, more chat.Message
		one.Role = roles[r.IntN(len(roles))]
		many.Role, many.Name = one.Role, "Ada"
		for range 1 + r.IntN(4) {
			one.Content = append(one.Content, randomPart(r))
		}
		for range 1 + r.IntN(3) { // types stay what they are
			many.Content = append(many.Content, one.Content...)
		}
		many.ToolCalls = []chat.ToolCall{{ID: "call_1", Name: "count", Arguments: sizingtest.RandomText(r)}}
		one.ToolCalls = []chat.ToolCall{{ID: "call_2"}}
		more.Content = one.Content[:1]
		require.Equal(t, takes(one, more), takes(many, more), "%+v in %+v and %+v", more.Content, one, many)
		more = chat.Message{ToolCalls: []chat.ToolCall{{ID: "call_3", Name: "count", Arguments: sizingtest.RandomText(r)}}}
		require.Equal(t, takes(one, more), takes(many, more), "%+v in %+v and %+v", more.ToolCalls, one, many)
	}
}

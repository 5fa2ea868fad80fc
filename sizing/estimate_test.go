package sizing_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// Without the model's tokenizer an estimate is better than nothing, and says that it is one.
func ExampleEstimator() {
	var estimate sizing.Estimator // as stagewise does
	m := chat.UserMessage("Why does the build fail?")
	fmt.Println(estimate.CountText(m.Text()), "tokens of text,", estimate.CountMessage(m), "with what wraps it")
	fmt.Println("estimated:", sizing.IsEstimate(estimate))
	// Output:
	// 6 tokens of text, 106 with what wraps it
	// estimated: true
}

// The last reported usage plus an estimate of what came after is closer than an estimate of everything.
func ExampleReported() {
	asked := chat.Request{Messages: []chat.Message{chat.UserMessage("Why does the build fail?")}}
	answered := chat.Response{Message: chat.AssistantMessage("A test is missing."), Usage: chat.Usage{Input: 1200, Output: 80}}
	reported := sizing.NewReported(asked, answered)

	next := append(asked.Messages, answered.Message, chat.UserMessage("Write it."))
	fmt.Println(reported.Count(sizing.Estimator{}, next, nil))
	fmt.Println(reported.Count(sizing.Estimator{}, next[1:], nil)) // the history changed
	// Output:
	// 1383 true
	// 0 false
}

func TestAnEstimatorDividesCharacters(t *testing.T) {
	text := strings.Repeat("x", 401)
	call := chat.ToolCall{ID: "ignored", Name: "read", Arguments: `{"path":"a"}`}
	bare := sizing.Estimator{MessageChars: -1}
	for _, tt := range []struct {
		rule      string
		got, want int
	}{
		{"a text is a quarter of its characters, rounded up", sizing.Estimator{}.CountText(text), 101},
		{"an empty text is 0 tokens", sizing.Estimator{}.CountText(""), 0},
		{"a character of two bytes counts once", sizing.Estimator{}.CountText("äöüß"), 1},
		{"each invalid byte counts", sizing.Estimator{}.CountText("\xff\xff\xff\xff\xff"), 2},
		{"another ratio", sizing.Estimator{CharsPerToken: 2.5}.CountText("12345678901"), 5},
		{"an invalid ratio means the default", sizing.Estimator{CharsPerToken: -1}.CountText("12345678"), 2},
		{"a message takes 400 characters more", sizing.Estimator{}.CountMessage(chat.UserMessage(text)), 201},
		{"a message takes the characters that are set", sizing.Estimator{MessageChars: 40}.CountMessage(chat.UserMessage(text)), 111},
		{"a number below 0 means none", bare.CountMessage(chat.UserMessage(text)), 101},
		{"names count", bare.CountMessage(chat.Message{Role: chat.RoleUser, Name: "Ada!"}), 1},
		{"calls count by name and arguments", bare.CountMessage(chat.Message{ToolCalls: []chat.ToolCall{call, call}}), 8},
		{"a signature counts", bare.CountMessage(chat.Message{ToolCalls: []chat.ToolCall{{Name: "read", Signature: "12345678"}}}), 3},
		{"a message is rounded once", bare.CountMessage(chat.Message{Content: chat.Parts{chat.Text("a"), chat.Text("b"), chat.Text("c")}}), 1},
		{"an image", sizing.Estimator{}.CountPart(chat.Image{URL: "data:" + text}), 1200},
		{"a document", sizing.Estimator{}.CountPart(chat.Document{Data: text}), 101},
		{"thinking with its signature", sizing.Estimator{}.CountPart(chat.Thinking{Text: "1234", Signature: "1234", Encrypted: "1234"}), 3},
		{"an opaque value counts as its tokens", sizing.Estimator{}.CountPart(chat.Opaque{Value: json.RawMessage(text), Tokens: 7}), 7},
		{"an opaque value without tokens counts as its JSON", sizing.Estimator{}.CountPart(chat.Opaque{Value: json.RawMessage(text)}), 101},
		{"a cache breakpoint is 0 tokens", sizing.Estimator{}.CountPart(chat.CacheBreakpoint{}), 0},
		{"no tools are 0 tokens", sizing.Estimator{}.CountTools(nil), 0},
		{"a tool", sizing.Estimator{}.CountTools([]chat.Tool{{Name: "read", Description: "1234", Parameters: json.RawMessage(`{}`)}}), 13},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, tt.got) })
	}
}

func TestOnlyAnEstimatorEstimates(t *testing.T) {
	require.True(t, sizing.IsEstimate(sizing.Estimator{}))
	require.False(t, sizing.IsEstimate(bytesTokenizer{}))
	require.False(t, sizing.IsEstimate(nil))
}

func TestReportedHoldsWhileTheConversationGrowsAtItsEnd(t *testing.T) {
	tools := []chat.Tool{{Name: "read", Parameters: json.RawMessage(`{"type":"object"}`)}}
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "read", Arguments: `{}`}}}
	sent := []chat.Message{chat.SystemMessage("be brief"), chat.UserMessage("look")}
	resp := chat.Response{Message: call, Usage: chat.Usage{Input: 500, Output: 20, CacheRead: 400}}
	reported := sizing.NewReported(chat.Request{Messages: sent, Tools: tools}, resp)
	grown := []chat.Message{sent[0], sent[1], call, chat.ToolResult("c1", "12345")}

	changed := func(i int, m chat.Message) []chat.Message {
		list := slices.Clone(grown)
		list[i] = m
		return list
	}
	otherCall := call
	otherCall.ToolCalls = []chat.ToolCall{{ID: "c1", Name: "read", Arguments: `{"path":"a"}`}}
	marked := chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("look"), chat.CacheBreakpoint{Type: "ephemeral"}}}
	frame := len(chat.RoleTool)
	for _, tt := range []struct {
		rule     string
		messages []chat.Message
		tools    []chat.Tool
		want     int
		ok       bool
	}{
		{"input, output and the messages after them", grown, tools, 500 + 20 + frame + 5, true},
		{"no messages after them", grown[:3], tools, 520, true},
		{"several messages after them", append(slices.Clone(grown), grown[3]), tools, 520 + 2*(frame+5), true},
		{"a cache breakpoint changes nothing", changed(1, marked), tools, 520 + frame + 5, true},
		{"a result after them may change", changed(3, chat.ToolResult("c1", "")), tools, 520 + frame, true},
		{"the answer is missing", sent, tools, 0, false},
		{"the answer was changed", changed(2, otherCall), tools, 0, false},
		{"a message was changed", changed(1, chat.UserMessage("look!")), tools, 0, false},
		{"a message is gone", grown[1:], tools, 0, false},
		{"another message comes before them", append([]chat.Message{sent[0]}, grown...), tools, 0, false},
		{"the tools changed", grown, nil, 0, false},
		{"no messages", nil, tools, 0, false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got, ok := reported.Count(bytesTokenizer{}, tt.messages, tt.tools)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestWithoutUsageNothingIsReported(t *testing.T) {
	messages := []chat.Message{chat.UserMessage("a"), chat.AssistantMessage("b")}
	for name, r := range map[string]sizing.Reported{
		"the zero value": {},
		"no usage":       sizing.NewReported(chat.Request{Messages: messages[:1]}, chat.Response{Message: messages[1]}),
	} {
		_, ok := r.Count(bytesTokenizer{}, messages, nil)
		require.False(t, ok, name)
	}
	r := sizing.NewReported(chat.Request{Messages: messages[:1]}, chat.Response{Usage: chat.Usage{Input: 9, Output: 5}})
	got, ok := r.Count(bytesTokenizer{}, messages[:1], nil)
	require.True(t, ok)
	require.Equal(t, 9, got, "an answer of nothing is not sent again")
}

package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promptree-go/promptree/elements/chat"
)

// conversation makes messages from a text: "u" is the user's, "a" an answer, "a:x,y" one that calls tools with these
// ids, "a:x=read" names the tool, "t:x" a result, "t:x=read" one that names the tool. "made" is an id of WithCallIDs.
func conversation(text string) []chat.Message {
	const made = "call_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	id := func(s string) (id, tool string) {
		id, tool, _ = strings.Cut(s, "=")
		return strings.ReplaceAll(id, "made", made), tool
	}
	var list []chat.Message
	for word := range strings.FieldsSeq(text) {
		kind, rest, calls := strings.Cut(word, ":")
		switch kind {
		case "u":
			list = append(list, chat.UserMessage("question"))
		case "a":
			m := chat.AssistantMessage("answer")
			for c := range strings.SplitSeq(rest, ",") {
				if id, tool := id(c); calls {
					m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: id, Name: tool, Arguments: "{}"})
				}
			}
			list = append(list, m)
		case "t":
			m := chat.ToolResult("", "output")
			m.ToolCallID, m.Name = id(rest)
			list = append(list, m)
		}
	}
	return list
}

func TestPair(t *testing.T) {
	for _, c := range []struct{ rule, list, want string }{
		{"a result answers its call", "u a:x t:x", "2=1.0"},
		{"parallel calls are answered in any order", "a:x,y,z t:z t:x t:y", "1=0.2 2=0.0 3=0.1"},
		{"a result comes late, after users and answers", "a:x u a u t:x", "4=0.0"},
		{"an answer stands between a call and its result", "u a:x a t:x u", "3=1.0"},
		{"an answer with calls stands between", "a:x a:y t:y t:x", "2=1.0 3=0.0"},
		{"a result before its call answers nothing", "t:x a:x", ""},
		{"the first of two results counts", "a:x t:x t:x", "1=0.0"},
		{"calls of one answer with one id are answered in order", "a:x,y,x t:x t:x t:y t:x", "1=0.0 2=0.2 3=0.1"},
		{"an id that is used again means the newest call", "a:x t:x a:x t:x", "1=0.0 3=2.0"},
		{"an open call whose id is used again stays without a result", "a:x a:x t:x t:x", "2=1.0"},
		{"calls without ids are answered in order", "a:, t: t: t:", "1=0.0 2=0.1"},
		{"a result without an id names the tool of its call", "a:=read,=write t:=write t:=read", "1=0.1 2=0.0"},
		{"a result without an id may name nothing that is known", "a:=read t:=weather", "1=0.0"},
		{"a result with an unknown id answers a call without one", "a:x, t:y t:z", "1=0.1"},
		{"a result without an id answers no call that has one", "a:x t:", ""},
		{"a late result without an id answers the newest answer with such a call", "a: a:x a: a t: t: t:x", "4=2.0 5=0.0 6=1.0"},
		{"a call with a made id is answered by it", "a:made,y t:y t:made t:", "1=0.1 2=0.0"},
		{"a call with a made id is answered by a result without one", "a:made t: t:made", "1=0.0"},
		{"a call with a made id is answered once", "a:made,=read t:made t:=read t:", "1=0.0 2=0.1"},
		{"only assistants make calls, and only tools answer them", "u a:x u", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			list := conversation(c.list)
			var got []string
			pairs := chat.Pair(list)
			for i := range list {
				if call, ok := pairs[i]; ok {
					got = append(got, fmt.Sprintf("%d=%d.%d", i, call.Message, call.Call))
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallsOfOtherRolesAreNotAnswered(t *testing.T) {
	user := chat.UserMessage("text")
	user.ToolCalls = []chat.ToolCall{{ID: "x", Name: "read"}}
	assistant := chat.AssistantMessage("text")
	assistant.ToolCallID = "y"
	if pairs := chat.Pair([]chat.Message{user, chat.ToolResult("x", "output"), conversation("a:y")[0], assistant}); len(pairs) != 0 {
		t.Error(pairs)
	}
}

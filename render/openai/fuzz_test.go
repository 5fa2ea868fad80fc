package openai_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/openai"
)

// source makes choices from the fuzzer's bytes, and from zeros after them.
type source struct{ data []byte }

func (s *source) pick(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// one returns one of the choices.
func one[T any](s *source, choices ...T) T { return choices[s.pick(len(choices))] }

// anyHistory returns a random history, most of which break a rule.
func anyHistory(s *source) []chat.Message {
	var messages []chat.Message
	for n := 0; len(s.data) > 0 && len(messages) < 60; n++ {
		m := chat.Message{
			Role: one(s, chat.RoleUser, chat.RoleAssistant, chat.RoleTool, chat.RoleSystem, chat.RoleAssistant, chat.RoleTool, "developer", ""),
			Name: one(s, "", "", "", "Ada", "Ada L", "a|\u2003b", string(make([]byte, 70))),
		}
		for range s.pick(5) {
			m.Content = append(m.Content, anyPart(s, n, len(m.Content)))
		}
		if m.Role == chat.RoleAssistant && s.pick(3) > 0 || s.pick(20) == 1 {
			for range s.pick(4) {
				m.ToolCalls = append(m.ToolCalls, chat.ToolCall{
					ID: anyID(s), Name: one(s, "count", "read", "fs.read", "", "naïve tool", string(make([]byte, 70))),
					Arguments: one(s, "{}", "", `{"cut`, "\xff"),
					Signature: one(s, "", "c2ln", `{"id":"fc_`+string(rune('a'+n%26))+string(rune('a'+len(m.ToolCalls)))+`","follows":"rs_1"}`, `{"type":"custom_tool_call"}`, `null`),
				})
			}
		}
		if m.Role == chat.RoleTool || s.pick(20) == 1 {
			m.ToolCallID = anyID(s)
		}
		messages = append(messages, m)
	}
	return messages
}

func anyID(s *source) string {
	return one(s, "a", "b", "c", "", "call_0123456789012345678901234567890123456789", "0123456789012345678901234567890123456789012345678901234567890123456789", "ü\xff")
}

func anyPart(s *source, message, part int) chat.Part {
	opaque := func(value string) chat.Part { return chat.Opaque{Value: json.RawMessage(value)} }
	id := string(rune('a'+message%26)) + string(rune('a'+message/26)) + string(rune('a'+part))
	return one[chat.Part](s,
		chat.Text("a"), chat.Text("hello\xff"), chat.Text(" \n"), chat.Text(""),
		chat.Image{URL: png}, chat.Image{URL: "https://example.com/a.png", Detail: chat.DetailHigh}, chat.Image{URL: "a.png"},
		pdf, chat.Document{}, chat.Document{Data: "%"},
		chat.CacheBreakpoint{},
		chat.Thinking{Text: "hm"}, chat.Thinking{Text: "hm", Signature: "c2ln"}, chat.Thinking{Encrypted: "of Claude's"},
		chat.Thinking{Text: "hm", Signature: `{"id":"rs_` + id + `"}`, Encrypted: "g"}, chat.Thinking{Text: "hm", Signature: `{"id":"rs_` + id + `"}`},
		chat.Thinking{Text: "hm", Signature: "reasoning_content"}, chat.Thinking{Text: "hm", Signature: `{"content":[{"type":"reasoning_text","text":"hm"}]}`},
		opaque(`{"type":"reasoning","id":"rs_`+id+`","summary":[],"encrypted_content":"g"}`), opaque(`{"type":"message","id":"msg_`+id+`","phase":"commentary"}`),
		opaque(`{"type":"message","content":[{"annotations":[]},5]}`), opaque(`{"type":"function_call","call_id":"a"}`), opaque(`{"type":"function_call","call_id":"b","name":"n","arguments":"{}"}`),
		opaque(`{"type":"function_call_output","call_id":"a","output":""}`), opaque(`{"type":"web_search_call","id":"ws_`+id+`"}`),
		opaque(`{"type":"text","text":"a"}`), opaque(`{"type":"refusal","refusal":"no"}`), opaque(`{"type":"output_text","text":"a"}`), opaque(`{"type":"input_text","text":"a"}`),
		opaque(`{"type":"redacted_thinking"}`), opaque(`[`), opaque(`null`), opaque(``), opaque(`{"type":5}`), nil,
	)
}

// addRandom adds random bytes to a fuzzer's corpus.
func addRandom(f *testing.F, n int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		data := make([]byte, 20+random.IntN(400))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
}

// FuzzRepair repairs and converts random histories, and checks them by the server's rules.
func FuzzRepair(f *testing.F) {
	addRandom(f, 100)
	f.Fuzz(func(t *testing.T, data []byte) {
		req := chat.Request{Messages: anyHistory(&source{data})}
		for _, api := range apis {
			repaired, changes := openai.Repair(req, api)
			again, more := openai.Repair(req, api)
			require.Empty(t, cmp.Diff(repaired, again), "the same history is repaired in the same way")
			require.Equal(t, changes, more)
			if len(req.Messages) == 0 {
				require.Error(t, openai.Validate(repaired, api), "a request without messages cannot be repaired")
				continue
			}
			require.NoError(t, openai.Validate(repaired, api), "%s: %v", api, changes)
			require.Equal(t, openai.Validate(req, api) == nil, len(changes) == 0, "%s: %v", api, changes)
			twice, more := openai.Repair(repaired, api)
			require.Empty(t, more, "%s: a repaired request needs no repair", api)
			require.Empty(t, cmp.Diff(repaired, twice))
			for _, breakpoints := range []bool{false, true} {
				require.Empty(t, judged(t, api, repaired.Messages, breakpoints), "%s", api)
			}
		}
	})
}

// judged returns the server's refusal of a request with these messages, "" if it is accepted.
func judged(t *testing.T, api openai.API, messages []chat.Message, breakpoints bool) string {
	t.Helper()
	request := item{"model": "gpt-5.6"}
	options := openai.Options{Breakpoints: breakpoints}
	if api == openai.Responses {
		request["input"] = openai.Items(messages, options)
		return newMemory().judge(gjson.Parse(toJSON(request)))
	}
	request["messages"] = openai.ChatMessages(messages, options)
	return judgeChat(gjson.Parse(toJSON(request)))
}

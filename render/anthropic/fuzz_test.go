package anthropic_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/anthropic"
)

// dice makes random requests, most of which break a rule.
type dice struct{ *rand.Rand }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

func (d dice) text() chat.Text {
	return chat.Text(d.one("Hello.", "42", "", " \n\t", "a\xffb", "\u00a0", "<b>&</b>", "\u2028"))
}

func (d dice) thinking() chat.Thinking {
	t := d.one("hm", "so", "")
	switch d.IntN(6) {
	case 0:
		return chat.Thinking{Text: t} // cut off
	case 1:
		return chat.Thinking{Text: "hm", Encrypted: "gAAA"} // another provider's
	case 2:
		return redacted
	case 3:
		return chat.Thinking{Text: "\xff", Signature: "\xfe"}
	}
	return chat.Thinking{Text: t, Signature: sign(t)}
}

var large = picture(8001, 1)

func (d dice) part() chat.Part {
	switch d.IntN(12) {
	case 0:
		return d.thinking()
	case 1:
		if d.IntN(8) == 0 {
			return large
		}
		return chat.Image{URL: d.one(pixel.URL, "https://example.com/a.png", "http://example.com", "data:image/tiff;base64,AAAA", "\xff", "")}
	case 2:
		return chat.NewDocument(d.one("application/pdf", "text/plain", "text/csv", "application/zip", ""), []byte(d.one("%PDF", "", "\xff")))
	case 3, 4:
		return chat.CacheBreakpoint{Type: d.one("", "ephemeral", "persistent"), Lifetime: time.Duration(d.IntN(3)) * 5 * time.Minute}
	case 5:
		return opaque(d.one(
			`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`,
			`{"type":"text","text":"opaque"}`, `{"type":"compaction","content":"c"}`, `{"type":"search_result"}`, `{"type":"tool_use","id":"a"}`, `{"type":"tool_use","id":"b"}`,
			`{"type":"tool_result","tool_use_id":"a"}`, `{"type":"tool_reference","tool_name":"x"}`,
			`{"type":"citations","citations":[]}`, `{"executable":1}`, `[]`, `{`, "", "{\"type\":\"\xff\"}", `{"type":7}`,
			`{"type":"text","text":"kept","cache_control":{"type":"ephemeral"}}`,
		))
	}
	return d.text()
}

func (d dice) message() chat.Message {
	m := chat.Message{Role: chat.Role(d.one("critic", "system", "user", "user", "assistant", "assistant", "assistant", "tool", "tool", "tool"))}
	if m.Role == chat.RoleAssistant && d.IntN(2) == 0 {
		m.Content = append(m.Content, d.thinking())
	}
	for range d.IntN(4) {
		m.Content = append(m.Content, d.part())
	}
	if m.Role == chat.RoleTool || d.IntN(30) == 0 {
		m.ToolCallID = d.one("a", "b", "c.d", "", "a_2", "call")
		m.IsError = d.IntN(3) == 0
	}
	if m.Role == chat.RoleAssistant || d.IntN(30) == 0 {
		for range d.IntN(4) {
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{
				ID: d.one("a", "b", "c.d", "", "a_2", "call"), Name: d.one("count", "count", "tool_search", "a b", ""),
				Arguments: d.one(`{"a":1}`, `{}`, ``, `[]`, `{"a`, "{\"\xff\":1}", `null`), Signature: d.one("", "gemini", `{"caller":{"type":"direct"}}`),
			})
		}
	}
	return m
}

func (d dice) request() chat.Request {
	req := chat.Request{MaxTokens: 100, Shape: chat.Shape{ToolChoice: chat.ToolChoice(d.one("", "none", "required"))}}
	if d.IntN(20) == 0 {
		req.MaxTokens = -1
	}
	for range d.IntN(14) {
		req.Messages = append(req.Messages, d.message())
	}
	if len(req.Messages) == 0 {
		req.Messages = append(req.Messages, question)
	}
	for range d.IntN(3) {
		req.Tools = append(req.Tools, chat.Tool{
			Name: d.one("count", "tool_search", "other"), Description: d.one("", "It counts.", "\xff"),
			Parameters: json.RawMessage(d.one("", ` {"type":"object"}`, `{"properties":{}}`, `{}`)),
		})
	}
	return req
}

// sound returns a request that breaks no rule, with results in any order.
func (d dice) sound() chat.Request {
	req := ask(question)
	for n := range d.IntN(8) {
		m := calls(fmt.Sprint("a", n), fmt.Sprint("b", n))
		if d.IntN(2) == 0 {
			m.Content = chat.Parts{signed, chat.Text("Counting."), opaqueThinking, placed(m.ToolCalls[0].ID), opaqueThinking}
		}
		results := []chat.Message{chat.ToolResult(m.ToolCalls[0].ID, "1"), failed(chat.ToolResult(m.ToolCalls[1].ID, "no"))}
		d.Shuffle(2, func(i, k int) { results[i], results[k] = results[k], results[i] })
		req.Messages = append(append(req.Messages, m), results...)
		if d.IntN(3) == 0 {
			req.Messages = append(req.Messages, with(chat.UserMessage("And now?"), pixel))
		}
	}
	return req
}

var opaqueThinking = opaque(`{"type":"thinking","thinking":"so","signature":"` + sign("so") + `"}`)

func placed(id string) chat.Part { return opaque(`{"type":"tool_use","id":"` + id + `"}`) }

// FuzzRepair repairs random requests and checks them by the server's rules.
func FuzzRepair(f *testing.F) {
	extremes.FuzzSeeds(f, 200, func(t *testing.T, seed uint64) {
		d := dice{rand.New(rand.NewPCG(seed, 1))}
		req := d.request()
		if seed%4 == 0 {
			req = d.sound()
			require.NoError(t, anthropic.Validate(req))
		}
		repaired, changes := anthropic.Repair(req)
		require.NoError(t, anthropic.Validate(repaired), "%v", changes)
		require.Equal(t, anthropic.Validate(req) == nil, len(changes) == 0, "%v", changes)
		if len(changes) == 0 {
			require.Empty(t, cmp.Diff(req, repaired, cmp.Comparer(sameParts)))
		}
		again, more := anthropic.Repair(repaired)
		require.Empty(t, more)
		require.Empty(t, cmp.Diff(repaired, again))
		p, err := anthropic.Request(repaired)
		require.NoError(t, err)
		p.Model = "claude-test"
		raw := sure.JSON(t, p)
		require.NoError(t, judge(sure.Decode[request](t, raw)), "%s\n%v", raw, changes)
		for _, c := range changes {
			require.NotEmpty(t, c.Rule, fmt.Sprint(c))
		}
	})
}

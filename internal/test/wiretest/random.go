package wiretest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

type dice struct{ *rand.Rand }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

func (d dice) text() string {
	var b strings.Builder
	for range 1 + d.IntN(6) {
		b.WriteString(d.one("word ", "Täglich ", "土拨鼠", "🌍", "\n", "<b>&amp;", "\u2028", "\u00a0", "\\u003c", "\"quoted\" ", "\x7f", "1234567890123456789"))
	}
	return d.one("It is ", "<T>") + b.String()
}

// pixel is an image of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="

func (d dice) media() chat.Part {
	switch d.IntN(5) {
	case 0:
		return chat.Image{URL: "https://example.com/" + d.one("a.png", "b.jpg", "c?x=1&y=<2>"), Detail: chat.ImageDetail(d.one("", "low", "high", "auto"))}
	case 1:
		return chat.NewDocument("text/plain", []byte(d.text()))
	case 2:
		return chat.NewDocument("application/pdf", []byte("%PDF-1.4"))
	default:
		return chat.Image{URL: "data:image/png;base64," + pixel, MediaType: d.one("", "image/png"), Detail: chat.ImageDetail(d.one("", "low", "high"))}
	}
}

// opaque returns a part as a provider wrote it, with a call's place in it for the given id.
func (d dice) opaque(id string) chat.Part {
	n := d.IntN(1000)
	return chat.Opaque{Value: json.RawMessage(strings.ReplaceAll(strings.ReplaceAll(d.one(
		// Anthropic
		`{"type":"thinking","thinking":"so <b>","signature":"c2ln"}`, `{"type":"redacted_thinking","data":"ZW5j"}`, `{"type":"tool_use","id":"ID"}`,
		`{"type":"citations","citations":[{"type":"char_location","cited_text":"<a>","n":12345678901234567890}]}`, `{"type":"text","text":"kept","cache_control":{"type":"ephemeral"}}`,
		`{"type":"server_tool_use","id":"srvN","name":"web_search","input":{"query":"x"}}`, `{"type":"future_block","big":1e400,"nested":{"b":1,"a":2}}`,
		// OpenAI
		`{"refusal":"No."}`, `{"type":"refusal","refusal":"No."}`, `{"type":"web_search_call","id":"ws_N","status":"completed"}`, `{"type":"item_reference","id":"it_N"}`,
		`{"type":"message","id":"msg_N","status":"completed","role":"assistant","content":[]}`, `{"type":"function_call","id":"fc_N","call_id":"ID"}`, `{"type":"reasoning","id":"rs_N","summary":[]}`,
		`{"type":"output_text","annotations":[{"type":"url_citation"}],"text":"cited"}`, `{"type":"input_file","file_id":"file_N"}`,
		// Gemini
		`{"thoughtSignature":"c2ln"}`, `{"functionCall":{"id":"ID"}}`, `{"text":"I think","thought":true}`, `{"executableCode":{"code":"1+1","language":"PYTHON"}}`,
		`{"text":" ","thoughtSignature":"c2ln"}`, `{"fileData":{"fileUri":"gs://b/N","mimeType":"video/mp4"}}`,
	), "ID", id), "N", fmt.Sprint(n)))}
}

func (d dice) thinking() chat.Thinking {
	n := d.IntN(100)
	switch d.IntN(6) {
	case 0:
		return chat.Thinking{Encrypted: fmt.Sprint("enc", n)}
	case 1:
		return chat.Thinking{Text: "Hm.", Signature: fmt.Sprintf(`{"id":"rs_%d"}`, n), Encrypted: fmt.Sprint("gAAA", n)}
	case 2:
		return chat.Thinking{Text: "reasoned", Signature: d.one("reasoning_content", "reasoning", "")}
	case 3:
		return chat.Thinking{Signature: fmt.Sprintf(`{"id":"rs_%d","summary":[]}`, n), Encrypted: fmt.Sprint("gAAB", n)}
	default:
		return chat.Thinking{Text: "so <i>", Signature: "c2ln"}
	}
}

func (d dice) parts(n int, assistant bool, id string) (parts chat.Parts) {
	for range n {
		switch k := d.IntN(12); {
		case k < 5:
			parts = append(parts, chat.Text(d.text()))
		case k < 7 && !assistant:
			parts = append(parts, d.media())
		case k < 8:
			parts = append(parts, chat.CacheBreakpoint{Type: d.one("", "ephemeral"), Lifetime: time.Duration(d.IntN(3)) * 5 * time.Minute})
		case k < 11 && assistant:
			parts = append(parts, d.opaque(id))
		}
	}
	return parts
}

// round returns an answer and the results of its calls.
func (d dice) round(n int) []chat.Message {
	m := chat.Message{Role: chat.RoleAssistant, Name: d.one("", "", "", "helper")}
	ids := make([]string, d.IntN(4))
	for k := range ids {
		ids[k] = d.one(fmt.Sprintf("call_%d_%d", n, k), fmt.Sprintf("toolu_%d%d", n, k), fmt.Sprintf("call_%026d_%d", n, k))
	}
	place := "none"
	if len(ids) > 0 {
		place = ids[0]
	}
	if d.IntN(2) == 0 {
		m.Content = append(m.Content, d.thinking())
	}
	m.Content = append(m.Content, d.parts(d.IntN(4), true, place)...)
	if len(m.Content)+len(ids) == 0 {
		m.Content = chat.Parts{chat.Text(d.text())}
	}
	round := []chat.Message{m}
	for k, id := range ids {
		round[0].ToolCalls = append(round[0].ToolCalls, chat.ToolCall{
			ID: id, Name: d.one("read", "write"),
			Arguments: d.one(`{"path":"a.go","line":9007199254740993}`, `{ "b": "<x>", "a": [1, 2.50] }`, `{}`, ``, `{"s":"\u003c\u00e9"}`),
			Signature: d.one("", "", "c2ln", `{"caller":{"type":"code_execution_20250825","tool_id":"srv"}}`, `{"id":"fc_1"}`, `custom`),
		})
		result := chat.Message{Role: chat.RoleTool, ToolCallID: id, IsError: d.IntN(4) == 0, Content: chat.Parts{chat.Text(d.text())}}
		result.Content = append(result.Content, d.parts(d.IntN(3), false, "")...)
		if k == 0 && d.IntN(10) == 0 {
			result.Content = nil
		}
		round = append(round, result)
	}
	d.Shuffle(len(ids), func(i, k int) { round[1+i], round[1+k] = round[1+k], round[1+i] })
	return round
}

func (d dice) request() chat.Request {
	req := chat.Request{Shape: chat.Shape{ToolChoice: chat.ToolChoice(d.one("", "", "", "none", "required"))}, MaxTokens: d.IntN(2) * 1000}
	if d.IntN(4) == 0 {
		req.Temperature = new(0.5)
	}
	if d.IntN(3) > 0 {
		req.Messages = append(req.Messages, chat.SystemMessage(d.text()))
	}
	user := func() {
		m := chat.Message{Role: chat.RoleUser, Name: d.one("", "", "Ann"), Content: chat.Parts{chat.Text(d.text())}}
		m.Content = append(m.Content, d.parts(d.IntN(4), false, "")...)
		req.Messages = append(req.Messages, m)
	}
	user()
	for n := range d.IntN(6) {
		round := d.round(n)
		req.Messages = append(req.Messages, round...)
		if len(round) == 1 || d.IntN(4) == 0 {
			user()
		}
		if d.IntN(12) == 0 {
			req.Messages = slices.Insert(req.Messages, len(req.Messages)-1, chat.SystemMessage(d.text()))
		}
	}
	if last := req.Messages[len(req.Messages)-1]; last.Role == chat.RoleAssistant {
		user()
	}
	for _, name := range []string{"read", "write"}[:d.IntN(3)] {
		req.Tools = append(req.Tools, chat.Tool{
			Name: name, Description: d.one("", "It <reads>."), Deferred: d.IntN(6) == 0,
			Parameters: json.RawMessage(d.one("", `{"type":"object"}`, `{"type":"object","properties":{"z":{"type":"string"},"a":{"maximum":9007199254740993}},"required":["z"]}`)),
		})
	}
	return req
}

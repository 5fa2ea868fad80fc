package providertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// Said is what a server of a [Dialect] answers.
type Said struct {
	Thought, Text string
	Calls         []chat.ToolCall
	Usage         chat.Usage
}

// Dialect is the way in which a server speaks Chat Completions: what it does otherwise than OpenAI's. The table in
// docs/providers.md has a line for each.
type Dialect struct {
	Name string
	// Model by which a client asks, if that matters.
	Model string
	// Thought is the field in which thinking is shown, in braces if it is an object, or a tag, or "chunks" or "reasoning
	// chunks" for parts of the content. "" shows none.
	Thought string
	// Calls returns the pieces of call i of an answer.
	Calls func(i int, c chat.ToolCall) []string
	// Extra returns fields of a call, and Details those of a message, that must come back. Refused are fields of a
	// message that a request must not have.
	Extra   func(c chat.ToolCall) string
	Details func(s Said) string
	Refused []string
	// Finish is the reason of an ordinary end, "" for null, and OfCalls that of an answer with calls.
	Finish, OfCalls string
	// Usage is where the usage stands: "" beside the choices, "choice", "x_groq", or "zeros" if a chunk of zeros
	// follows it. Cached is the name of the field of cached tokens.
	Usage, Cached string
}

type fields = map[string]any

// halves cuts a text in two, between characters.
func halves(s string) []string {
	runes := []rune(s)
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}

// pieces returns a call's first piece with its name, and the arguments in two more.
func pieces(first, later fields, name, arguments string) []string {
	with := func(of, function fields) string {
		out := fields{"function": function}
		for k, v := range of {
			out[k] = v
		}
		return sure.Encoded(out)
	}
	list := []string{with(first, fields{"name": name, "arguments": ""})}
	for _, half := range halves(arguments) {
		list = append(list, with(later, fields{"arguments": half}))
	}
	return list
}

func asOpenAI(i int, c chat.ToolCall) []string {
	return pieces(fields{"index": i, "id": c.ID, "type": "function"}, fields{"index": i}, c.Name, c.Arguments)
}

func inOne(index int) func(int, chat.ToolCall) []string {
	return func(i int, c chat.ToolCall) []string {
		return []string{sure.Encoded(fields{"index": index * i, "id": c.ID, "function": fields{"name": c.Name, "arguments": c.Arguments}})}
	}
}

// Dialects are those of the table.
func Dialects() []Dialect {
	signature := func(c chat.ToolCall) string {
		return sure.Encoded(fields{"google": fields{"thought_signature": "of " + c.ID}})
	}
	details := func(s Said) string {
		return sure.Encoded([]any{fields{"type": "reasoning.text", "text": s.Thought, "index": 0, "signature": "of " + s.Thought}})
	}
	return []Dialect{
		{Name: "OpenAI", Calls: asOpenAI, Finish: "stop", OfCalls: "tool_calls"},
		{Name: "Ollama", Thought: "reasoning", Calls: inOne(0), Finish: "stop", OfCalls: "tool_calls"},
		{Name: "vLLM", Thought: "reasoning_content", Calls: asOpenAI, Finish: "stop", OfCalls: "tool_calls"},
		{Name: "llama.cpp without a parser", Thought: "<think>", Calls: asOpenAI, Finish: "stop", OfCalls: "tool_calls"},
		{Name: "Magistral without a parser", Thought: "[THINK]", Calls: asOpenAI, Finish: "stop", OfCalls: "tool_calls"},
		{Name: "Mistral", Thought: "chunks", Calls: inOne(1), Finish: "stop", OfCalls: "tool_calls", Refused: []string{"reasoning_content", "chat.kept"}},
		{Name: "DeepSeek", Model: "deepseek-chat", Thought: "reasoning_content", Calls: asOpenAI, Finish: "stop", OfCalls: "tool_calls", Cached: "prompt_cache_hit_tokens"},
		{Name: "Kimi", Model: "kimi-k2", Thought: "reasoning_content", Calls: asOpenAI, Finish: "stop", OfCalls: "tool_calls", Usage: "choice", Cached: "cached_tokens"},
		{Name: "Databricks", Thought: "reasoning chunks", Calls: asOpenAI, Finish: "stop", OfCalls: "tool_calls"},
		{Name: "Bedrock behind a gateway", Thought: "{reasoning_content}", Calls: asOpenAI, Finish: "stop", OfCalls: "tool_calls"},
		{Name: "OpenRouter", Thought: "reasoning", Details: details, Calls: asOpenAI, Finish: "stop", OfCalls: "tool_calls"},
		{Name: "Groq", Calls: inOne(1), Finish: "stop", OfCalls: "tool_calls", Usage: "x_groq", Refused: []string{"annotations", "note"}},
		{Name: "Google", Extra: signature, Calls: inOne(1), Finish: "stop", OfCalls: "stop"},
		{Name: "a gateway without a reason", Calls: asOpenAI},
		{Name: "a gateway with Gemini's words", Calls: asOpenAI, Finish: "STOP", OfCalls: "STOP", Usage: "zeros"},
		{Name: "a gateway with Anthropic's words", Calls: asOpenAI, Finish: "end_turn", OfCalls: "tool_use"},
		{Name: "calls by id, without an index", Finish: "stop", OfCalls: "tool_calls", Calls: func(_ int, c chat.ToolCall) []string {
			return pieces(fields{"id": c.ID}, fields{"id": c.ID}, c.Name, c.Arguments)
		}},
		{Name: "another id in later pieces", Finish: "stop", OfCalls: "tool_calls", Calls: func(_ int, c chat.ToolCall) []string {
			return pieces(fields{"index": 0, "id": c.ID}, fields{"index": 0, "id": c.ID + "_other"}, c.Name, c.Arguments)
		}},
		{Name: "one id and another index in later pieces", Finish: "stop", OfCalls: "tool_calls", Calls: func(i int, c chat.ToolCall) []string {
			return pieces(fields{"index": 0, "id": c.ID}, fields{"index": i + 1, "id": "null"}, c.Name, c.Arguments)
		}},
		{Name: "arguments repeated so far", Finish: "stop", OfCalls: "tool_calls", Calls: func(i int, c chat.ToolCall) []string {
			return []string{
				sure.Encoded(fields{"index": i, "id": c.ID, "function": fields{"name": c.Name, "arguments": halves(c.Arguments)[0]}}),
				sure.Encoded(fields{"index": i, "id": c.ID, "function": fields{"name": c.Name, "arguments": c.Arguments}}),
			}
		}},
		{Name: "the call repeated at the end", Finish: "stop", OfCalls: "tool_calls", Calls: func(i int, c chat.ToolCall) []string {
			return append(asOpenAI(i, c), sure.Encoded(fields{"index": i, "id": c.ID, "function": fields{"name": c.Name, "arguments": c.Arguments}}))
		}},
		{Name: "the name in pieces", Finish: "stop", OfCalls: "tool_calls", Calls: func(i int, c chat.ToolCall) []string {
			return []string{
				sure.Encoded(fields{"index": i, "id": c.ID, "function": fields{"name": halves(c.Name)[0]}}),
				sure.Encoded(fields{"index": i, "function": fields{"name": halves(c.Name)[1]}}),
				sure.Encoded(fields{"index": i, "function": fields{"arguments": c.Arguments}}),
			}
		}},
	}
}

// Serve starts a server of the dialect, which answers the n-th request. It refuses a request whose messages lack what
// it must get back, or have what it refuses, and reports that to t.
func (d Dialect) Serve(t testing.TB, answer func(n int) Said) *httptest.Server {
	n := 0
	var said []Said
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request any
		_ = json.Unmarshal(body, &request)
		if wrong := d.judge(request, said); wrong != "" {
			t.Errorf("%s: request %d: %s: %s", d.Name, n, wrong, body)
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%q}}`, wrong)
			return
		}
		a := answer(n)
		said = append(said, a)
		n++
		if at(request, "stream") != true {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, d.whole(a))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range d.chunks(a) {
			fmt.Fprintf(w, "data: %s\n\n", chunk)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// at returns the value at a path of names and indexes, nil if there is none.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			o, _ := v.(fields)
			v = o[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// judge returns what is wrong with a request, "" for nothing.
func (d Dialect) judge(request any, said []Said) string {
	n := 0
	messages, _ := at(request, "messages").([]any)
	results := map[string]int{} // by the id of the call
	for _, m := range messages {
		if id, is := at(m, "tool_call_id").(string); is {
			results[id]++
		}
	}
	for _, m := range messages {
		if at(m, "role") != "assistant" {
			continue
		}
		a := said[n]
		n++
		for _, name := range d.Refused {
			if at(m, name) != nil {
				return "the field " + name + " is not accepted"
			}
		}
		switch {
		case d.Details != nil && sure.Encoded(at(m, "reasoning_details")) != d.Details(a):
			return "reasoning_details are not those of the answer"
		case strings.HasPrefix(d.Thought, "reasoning") && !strings.HasSuffix(d.Thought, "chunks") && at(m, d.Thought) != a.Thought:
			return "the thinking is not that of the answer"
		case d.Thought == "chunks" && at(m, "content", 0, "thinking", 0, "text") != a.Thought:
			return "the thinking chunk is not that of the answer"
		}
		for i, c := range a.Calls {
			call := at(m, "tool_calls", i)
			if at(call, "function", "arguments") != c.Arguments || at(call, "function", "name") != c.Name {
				return "a call is not that of the answer"
			}
			if id, _ := at(call, "id").(string); results[id] != 1 {
				return "a call has not one result"
			}
			if d.Extra != nil && sure.Encoded(at(call, "extra_content")) != d.Extra(c) {
				return "a call lacks its thought signature"
			}
		}
	}
	if n != len(said) {
		return "an answer is missing"
	}
	return ""
}

func (d Dialect) usage(u chat.Usage) fields {
	out := fields{"prompt_tokens": u.Input, "completion_tokens": u.Output}
	if d.Cached != "" {
		out[d.Cached] = u.CacheRead
	} else {
		out["prompt_tokens_details"] = fields{"cached_tokens": u.CacheRead}
	}
	return out
}

func (d Dialect) finish(a Said) any {
	finish := d.Finish
	if len(a.Calls) > 0 {
		finish = d.OfCalls
	}
	if finish == "" {
		return nil
	}
	return finish
}

// said returns the content and the thinking of a message, or of a piece.
func (d Dialect) said(thought, text string, whole bool) fields {
	out := fields{}
	switch {
	case d.Thought == "":
		out["content"] = text
	case strings.HasSuffix(d.Thought, "chunks"):
		var list []any
		if thought != "" && d.Thought != "chunks" {
			list = append(list, fields{"type": "reasoning", "summary": []any{fields{"type": "summary_text", "text": thought}}})
		} else if thought != "" {
			list = append(list, fields{"type": "thinking", "thinking": []any{fields{"type": "text", "text": thought}}})
		}
		if text != "" {
			list = append(list, fields{"type": "text", "text": text})
		}
		out["content"] = list
	case d.Thought[0] == '<' || d.Thought[0] == '[':
		if whole {
			out["content"] = d.Thought + thought + d.Thought[:1] + "/" + d.Thought[1:] + "\n\n" + text
		} else {
			out["content"] = text
		}
	default:
		if name, object := strings.CutPrefix(d.Thought, "{"); thought != "" && object {
			out[strings.TrimSuffix(name, "}")] = fields{"text": thought}
		} else if thought != "" {
			out[d.Thought] = thought
		}
		if text != "" || whole {
			out["content"] = text
		}
	}
	return out
}

func (d Dialect) whole(a Said) string {
	m := d.said(a.Thought, a.Text, true)
	m["role"], m["annotations"], m["note"] = "assistant", []any{}, "x"
	if d.Details != nil {
		m["reasoning_details"] = json.RawMessage(d.Details(a))
	}
	var calls []any
	for _, c := range a.Calls {
		call := fields{"id": c.ID, "type": "function", "function": fields{"name": c.Name, "arguments": c.Arguments}}
		if d.Extra != nil {
			call["extra_content"] = json.RawMessage(d.Extra(c))
		}
		calls = append(calls, call)
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return sure.Encoded(fields{"choices": []any{fields{"index": 0, "message": m, "finish_reason": d.finish(a)}}, "usage": d.usage(a.Usage)})
}

func (d Dialect) chunks(a Said) (chunks []string) {
	add := func(delta any) {
		chunks = append(chunks, sure.Encoded(fields{"choices": []any{fields{"index": 0, "delta": delta, "finish_reason": nil}}}))
	}
	add(fields{"role": "assistant", "content": "", "note": "x"})
	thought, text := a.Thought, a.Text
	if d.Thought != "" && (d.Thought[0] == '<' || d.Thought[0] == '[') {
		thought, text = "", d.said(a.Thought, a.Text, true)["content"].(string)
	}
	for _, half := range halves(thought) {
		if d.Thought != "" && half != "" {
			add(d.said(half, "", false))
		}
	}
	for _, half := range halves(text) {
		if half != "" {
			add(d.said("", half, false))
		}
	}
	if d.Details != nil {
		add(fields{"reasoning_details": json.RawMessage(d.Details(a))})
	}
	for i, c := range a.Calls {
		for k, piece := range d.Calls(i, c) {
			var o fields
			_ = json.Unmarshal([]byte(piece), &o)
			if d.Extra != nil && k == 0 {
				o["extra_content"] = json.RawMessage(d.Extra(c))
			}
			add(fields{"tool_calls": []any{o}})
		}
	}
	end, last := fields{"index": 0, "delta": fields{}, "finish_reason": d.finish(a)}, fields{}
	switch d.Usage {
	case "choice":
		end["usage"] = d.usage(a.Usage)
	case "x_groq":
		last["x_groq"] = fields{"usage": d.usage(a.Usage)}
	default:
		last["usage"] = d.usage(a.Usage)
	}
	last["choices"] = []any{end}
	chunks = append(chunks, sure.Encoded(last))
	if d.Usage == "zeros" {
		chunks = append(chunks, sure.Encoded(fields{"choices": []any{}, "usage": d.usage(chat.Usage{})}))
	}
	return chunks
}

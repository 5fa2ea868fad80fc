package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

type object = map[string]any

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func eventOf(name string, v any) string {
	if name == "" {
		return "data: " + encode(v) + "\n\n"
	}
	return "event: " + name + "\ndata: " + encode(v) + "\n\n"
}

// texts joins the texts of parts, or returns the string.
func texts(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.String()
	}
	var b strings.Builder
	for _, p := range content.Array() {
		b.WriteString(p.Get("text").String())
	}
	return b.String()
}

// chatCompletions is OpenAI's older API.
type chatCompletions struct{ openAIKeys }

// openAIKeys is common to both of OpenAI's APIs.
type openAIKeys struct{}

func (openAIKeys) key(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (openAIKeys) refuse(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	code := any(nil)
	if strings.Contains(message, "maximum context length") {
		code = "context_length_exceeded"
	}
	fmt.Fprint(w, encode(object{"error": object{"message": message, "type": "invalid_request_error", "code": code}}))
}

func (openAIKeys) tooLong(tokens, window int) string {
	return fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", window, tokens)
}

func (chatCompletions) path(r *http.Request, body gjson.Result) (bool, bool) {
	return body.Get("stream").Bool(), r.URL.Path == "/chat/completions"
}

func (chatCompletions) read(body gjson.Result) (a asked, why string) {
	a.tools, a.mayCall = len(body.Get("tools").Array()), body.Get("tool_choice").String() != "none"
	if body.Get("max_completion_tokens").Int() == 0 {
		why = "no limit of the answer"
	}
	if body.Get("stream").Bool() && !body.Get("stream_options.include_usage").Bool() {
		why = "nobody asks for the usage"
	}
	for _, m := range body.Get("messages").Array() {
		switch role := m.Get("role").String(); role {
		case "user":
			a.add(turn{role: "user", text: texts(m.Get("content"))})
		case "assistant":
			t := turn{role: "assistant", text: texts(m.Get("content"))}
			for _, c := range m.Get("tool_calls").Array() {
				t.calls = append(t.calls, c.Get("id").String())
			}
			a.add(t)
		case "tool":
			a.add(turn{role: "results", results: []result{{m.Get("tool_call_id").String(), texts(m.Get("content"))}}})
		case "system", "developer":
		default:
			why = "there is no role " + role
		}
	}
	return a, why
}

func (chatCompletions) say(w http.ResponseWriter, streamed bool, s said) {
	usage := object{"prompt_tokens": s.in, "completion_tokens": s.out, "total_tokens": s.in + s.out, "prompt_tokens_details": object{"cached_tokens": 0}}
	var calls []any
	for i, c := range s.calls {
		calls = append(calls, object{"index": i, "id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.arguments}})
	}
	finish := "stop"
	if calls != nil {
		finish = "tool_calls"
	}
	if !streamed {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, encode(object{"id": "c", "object": "chat.completion", "usage": usage, "choices": []any{
			object{"index": 0, "finish_reason": finish, "message": object{"role": "assistant", "content": s.text, "tool_calls": calls}}}}))
		return
	}
	var events []string
	chunk := func(delta object, finish any) {
		events = append(events, eventOf("", object{"id": "c", "object": "chat.completion.chunk", "choices": []any{
			object{"index": 0, "delta": delta, "finish_reason": finish}}}))
	}
	for _, piece := range pieces(s.text) {
		chunk(object{"content": piece}, nil)
	}
	if calls != nil {
		chunk(object{"tool_calls": calls}, nil)
	}
	chunk(object{}, finish)
	events = append(events, eventOf("", object{"id": "c", "object": "chat.completion.chunk", "choices": []any{}, "usage": usage}), "data: [DONE]\n\n")
	s.events(w, events)
}

// responsesAPI is OpenAI's newer API.
type responsesAPI struct{ openAIKeys }

func (responsesAPI) path(r *http.Request, body gjson.Result) (bool, bool) {
	return body.Get("stream").Bool(), r.URL.Path == "/responses"
}

func (responsesAPI) read(body gjson.Result) (a asked, why string) {
	a.tools, a.mayCall = len(body.Get("tools").Array()), body.Get("tool_choice").String() != "none"
	if store := body.Get("store"); !store.Exists() || store.Bool() {
		why = "the answer would be stored"
	}
	for _, it := range body.Get("input").Array() {
		switch it.Get("type").String() {
		case "function_call":
			n := len(a.turns)
			if n == 0 || a.turns[n-1].role != "assistant" {
				a.add(turn{role: "assistant"})
				n = len(a.turns)
			}
			a.turns[n-1].calls = append(a.turns[n-1].calls, it.Get("call_id").String())
		case "function_call_output":
			a.add(turn{role: "results", results: []result{{it.Get("call_id").String(), texts(it.Get("output"))}}})
		case "message", "":
			if role := it.Get("role").String(); role == "user" || role == "assistant" {
				a.add(turn{role: role, text: texts(it.Get("content"))})
			}
		}
	}
	return a, why
}

func (responsesAPI) say(w http.ResponseWriter, streamed bool, s said) {
	id := fmt.Sprint("msg_", s.number)
	output := []any{object{"type": "message", "id": id, "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": s.text, "annotations": []any{}}}}}
	for _, c := range s.calls {
		output = append(output, object{"type": "function_call", "id": "fc_" + c.id, "call_id": c.id, "name": c.name, "arguments": c.arguments, "status": "completed"})
	}
	whole := object{"id": "r", "object": "response", "status": "completed", "output": output,
		"usage": object{"input_tokens": s.in, "output_tokens": s.out, "total_tokens": s.in + s.out, "input_tokens_details": object{"cached_tokens": 0}}}
	if !streamed {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, encode(whole))
		return
	}
	var events []string
	for _, piece := range pieces(s.text) {
		events = append(events, eventOf("response.output_text.delta", object{"type": "response.output_text.delta", "item_id": id, "delta": piece}))
	}
	for i, it := range output {
		events = append(events, eventOf("response.output_item.done", object{"type": "response.output_item.done", "output_index": i, "item": it}))
	}
	s.events(w, append(events, eventOf("response.completed", object{"type": "response.completed", "response": whole})))
}

// messagesAPI is Anthropic's.
type messagesAPI struct{}

func (messagesAPI) key(r *http.Request) string { return r.Header.Get("X-Api-Key") }

func (messagesAPI) path(r *http.Request, body gjson.Result) (bool, bool) {
	return body.Get("stream").Bool(), r.URL.Path == "/v1/messages" && r.Header.Get("Anthropic-Version") != ""
}

func (messagesAPI) read(body gjson.Result) (a asked, why string) {
	a.tools, a.mayCall = len(body.Get("tools").Array()), body.Get("tool_choice.type").String() != "none"
	switch {
	case body.Get("max_tokens").Int() == 0:
		why = "max_tokens: Field required"
	case body.Get("cache_control.type").String() != "ephemeral":
		why = "nothing is cached"
	}
	before := ""
	for _, m := range body.Get("messages").Array() {
		role := m.Get("role").String()
		if role == before {
			why = "roles must alternate"
		}
		before = role
		t := turn{role: role}
		for _, b := range m.Get("content").Array() {
			switch b.Get("type").String() {
			case "text":
				t.text += b.Get("text").String()
			case "thinking":
				if b.Get("signature").String() != sign(b.Get("thinking").String()) {
					why = "thinking was changed"
				}
			case "tool_use":
				t.calls = append(t.calls, b.Get("id").String())
			case "tool_result":
				if t.text != "" {
					why = "results come first"
				}
				a.add(turn{role: "results", results: []result{{b.Get("tool_use_id").String(), texts(b.Get("content"))}}})
			}
		}
		if role == "assistant" || t.text != "" {
			a.add(t)
		}
	}
	return a, why
}

func sign(thinking string) string {
	return base64.StdEncoding.EncodeToString([]byte("signed: " + thinking))
}

func (messagesAPI) say(w http.ResponseWriter, _ bool, s said) {
	var events []string
	add := func(kind string, fields object) {
		fields["type"] = kind
		events = append(events, eventOf(kind, fields))
	}
	n := 0
	block := func(start object, deltas ...object) {
		add("content_block_start", object{"index": n, "content_block": start})
		for _, d := range deltas {
			add("content_block_delta", object{"index": n, "delta": d})
		}
		add("content_block_stop", object{"index": n})
		n++
	}
	add("message_start", object{"message": object{"id": "m", "type": "message", "role": "assistant", "content": []any{},
		"usage": object{"input_tokens": s.in, "output_tokens": 1}}})
	if s.thinking != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": s.thinking}, object{"type": "signature_delta", "signature": sign(s.thinking)})
	}
	var deltas []object
	for _, piece := range pieces(s.text) {
		deltas = append(deltas, object{"type": "text_delta", "text": piece})
	}
	block(object{"type": "text", "text": ""}, deltas...)
	stop := "end_turn"
	for _, c := range s.calls {
		stop = "tool_use"
		block(object{"type": "tool_use", "id": c.id, "name": c.name, "input": object{}}, object{"type": "input_json_delta", "partial_json": c.arguments})
	}
	add("message_delta", object{"delta": object{"stop_reason": stop}, "usage": object{"output_tokens": s.out}})
	add("message_stop", object{})
	s.events(w, events)
}

func (messagesAPI) refuse(w http.ResponseWriter, status int, message string) {
	kind := map[int]string{401: "authentication_error", 404: "not_found_error"}[status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	w.WriteHeader(status)
	fmt.Fprint(w, encode(object{"type": "error", "error": object{"type": kind, "message": message}}))
}

func (messagesAPI) tooLong(tokens, window int) string {
	return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, window)
}

// geminiAPI is Google's.
type geminiAPI struct{}

func (geminiAPI) key(r *http.Request) string { return r.Header.Get("X-Goog-Api-Key") }

func (geminiAPI) path(r *http.Request, _ gjson.Result) (bool, bool) {
	method, ok := strings.CutPrefix(r.URL.Path, "/v1beta/models/gemini-test:")
	return method == "streamGenerateContent", ok && (method == "generateContent" || method == "streamGenerateContent")
}

func (geminiAPI) read(body gjson.Result) (a asked, why string) {
	a.tools = len(body.Get("tools.0.functionDeclarations").Array())
	a.mayCall = body.Get("toolConfig.functionCallingConfig.mode").String() != "NONE"
	current := -1 // the last turn with a text of the user
	contents := body.Get("contents").Array()
	for i, c := range contents {
		if c.Get("role").String() == "user" && c.Get("parts.0.text").Exists() {
			current = i
		}
	}
	for i, c := range contents {
		t := turn{role: map[string]string{"model": "assistant", "user": "user"}[c.Get("role").String()]}
		for _, p := range c.Get("parts").Array() {
			call, response := p.Get("functionCall"), p.Get("functionResponse")
			switch {
			case call.Exists():
				if i > current && len(t.calls) == 0 && p.Get("thoughtSignature").String() == "" {
					why = "Function call is missing a thought_signature"
				}
				t.calls = append(t.calls, call.Get("id").String())
			case response.Exists():
				a.add(turn{role: "results", results: []result{{response.Get("id").String(), response.Get("response").Raw}}})
				// The text before it was encoded as JSON.
				last := a.turns[len(a.turns)-1].results
				last[len(last)-1].text = plain(response.Get("response"))
			case p.Get("text").String() == "" && p.Get("thoughtSignature").String() == "":
				why = "a part is empty"
			case !p.Get("thought").Bool():
				t.text += p.Get("text").String()
			}
		}
		if t.role == "assistant" || t.text != "" {
			a.add(t)
		}
	}
	return a, why
}

// plain returns the text in a function's response.
func plain(response gjson.Result) string {
	var b strings.Builder
	response.ForEach(func(_, v gjson.Result) bool {
		b.WriteString(v.String())
		return true
	})
	return b.String()
}

func (geminiAPI) say(w http.ResponseWriter, streamed bool, s said) {
	var parts []any
	if s.thinking != "" {
		parts = append(parts, object{"text": s.thinking, "thought": true})
	}
	for _, piece := range pieces(s.text) {
		parts = append(parts, object{"text": piece})
	}
	for i, c := range s.calls {
		p := object{"functionCall": object{"id": c.id, "name": c.name, "args": json.RawMessage(c.arguments)}}
		if i == 0 {
			p["thoughtSignature"] = sign(c.id)
		}
		parts = append(parts, p)
	}
	answer := func(finish string, parts ...any) object {
		return object{"candidates": []any{object{"index": 0, "finishReason": finish, "content": object{"role": "model", "parts": parts}}},
			"usageMetadata": object{"promptTokenCount": s.in, "candidatesTokenCount": s.out, "totalTokenCount": s.in + s.out}}
	}
	if !streamed {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, encode(answer("STOP", parts...)))
		return
	}
	var events []string
	for i, p := range parts {
		events = append(events, eventOf("", answer(map[bool]string{true: "STOP"}[i == len(parts)-1], p)))
	}
	s.events(w, events)
}

func (geminiAPI) refuse(w http.ResponseWriter, status int, message string) {
	name := "INVALID_ARGUMENT"
	details := []any{}
	if status == http.StatusUnauthorized { // Gemini answers an unknown key like this
		status, details = http.StatusBadRequest, []any{object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}}
	}
	w.WriteHeader(status)
	fmt.Fprint(w, encode(object{"error": object{"code": status, "message": message, "status": name, "details": details}}))
}

func (geminiAPI) tooLong(tokens, window int) string {
	return fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, window)
}

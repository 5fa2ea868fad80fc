package apitest

import (
	"fmt"
	"net/http"
	"strings"
)

// ChatCompletions is OpenAI's older API.
type ChatCompletions struct{ openAI }

// openAI is common to both of OpenAI's APIs.
type openAI struct{}

func (openAI) key(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (openAI) refuse(status int, message string) (int, object) {
	code := any(nil)
	if strings.Contains(message, "maximum context length") {
		code = "context_length_exceeded"
	}
	return status, object{"error": object{"message": message, "type": "invalid_request_error", "code": code}}
}

func (openAI) tooLong(tokens, window int) string {
	return fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", window, tokens)
}

func (ChatCompletions) path(r *http.Request, body JSON) (bool, bool) {
	return body.is("stream"), r.URL.Path == "/chat/completions"
}

func (ChatCompletions) read(body JSON) (a Asked, why string) {
	a.mayCall = body.Get("tool_choice").String() != "none"
	a.declare(body.Get("tools"), "function.name")
	if body.is("stream") && !body.is("stream_options.include_usage") {
		why = "nobody asks for the usage"
	}
	for _, m := range body.Get("messages").List() {
		text := m.Get("content").texts()
		switch role := m.Get("role").String(); role {
		case "user":
			a.add(Turn{Role: "user", Text: text})
		case "assistant":
			t := Turn{Role: "assistant", Text: text}
			for _, c := range m.Get("tool_calls").List() {
				t.Calls = append(t.Calls, c.Get("id").String())
			}
			a.add(t)
		case "tool":
			a.add(Turn{Role: "results", Results: []Result{{m.Get("tool_call_id").String(), text}}})
		case "system", "developer":
			a.System += text
		default:
			why = "there is no role " + role
		}
	}
	return a, why
}

func (ChatCompletions) say(s Answer) (object, []string) {
	usage := object{"prompt_tokens": s.in, "completion_tokens": s.out, "total_tokens": s.in + s.out, "prompt_tokens_details": object{"cached_tokens": 0}}
	var events []string
	chunk := func(delta object, finish any) {
		events = append(events, eventOf("", object{"id": "c", "object": "chat.completion.chunk", "choices": []any{
			object{"index": 0, "delta": delta, "finish_reason": finish}}}))
	}
	for _, piece := range pieces(s.Text) {
		chunk(object{"content": piece}, nil)
	}
	finish := "stop"
	var calls []any
	for i, c := range s.Calls {
		finish = "tool_calls"
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
		halves := pieces(c.Arguments)
		chunk(object{"tool_calls": []any{object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": halves[0]}}}}, nil)
		chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": halves[1]}}}}, nil)
	}
	chunk(object{}, finish)
	events = append(events, eventOf("", object{"id": "c", "object": "chat.completion.chunk", "choices": []any{}, "usage": usage}), "data: [DONE]\n\n")
	return object{"id": "c", "object": "chat.completion", "usage": usage, "choices": []any{
		object{"index": 0, "finish_reason": finish, "message": object{"role": "assistant", "content": s.Text, "tool_calls": calls}}}}, events
}

// Responses is OpenAI's newer API.
type Responses struct{ openAI }

func (Responses) path(r *http.Request, body JSON) (bool, bool) {
	return body.is("stream"), r.URL.Path == "/responses"
}

func (Responses) read(body JSON) (a Asked, why string) {
	a.System, a.mayCall = body.Get("instructions").String(), body.Get("tool_choice").String() != "none"
	a.declare(body.Get("tools"), "name")
	if body.Get("store").value != false {
		why = "the answer would be stored"
	}
	for _, it := range body.Get("input").List() {
		switch it.Get("type").String() {
		case "function_call":
			if len(a.Turns) == 0 || a.Last().Role != "assistant" {
				a.add(Turn{Role: "assistant"})
			}
			a.Last().Calls = append(a.Last().Calls, it.Get("call_id").String())
		case "function_call_output":
			a.add(Turn{Role: "results", Results: []Result{{it.Get("call_id").String(), it.Get("output").texts()}}})
		case "message", "":
			if role := it.Get("role").String(); role == "user" || role == "assistant" {
				a.add(Turn{Role: role, Text: it.Get("content").texts()})
			}
		}
	}
	return a, why
}

func (Responses) say(s Answer) (object, []string) {
	id := fmt.Sprint("msg_", s.number)
	output := []any{object{"type": "message", "id": id, "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": s.Text, "annotations": []any{}}}}}
	for _, c := range s.Calls {
		output = append(output, object{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Name, "arguments": c.Arguments, "status": "completed"})
	}
	whole := object{"id": "r", "object": "response", "status": "completed", "output": output,
		"usage": object{"input_tokens": s.in, "output_tokens": s.out, "total_tokens": s.in + s.out, "input_tokens_details": object{"cached_tokens": 0}}}
	var events []string
	add := func(kind string, fields object) {
		fields["type"] = kind
		events = append(events, eventOf(kind, fields))
	}
	for _, piece := range pieces(s.Text) {
		add("response.output_text.delta", object{"item_id": id, "delta": piece})
	}
	for i, it := range output {
		add("response.output_item.done", object{"output_index": i, "item": it})
	}
	add("response.completed", object{"response": whole})
	return whole, events
}

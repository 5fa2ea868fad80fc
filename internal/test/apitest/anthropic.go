package apitest

import (
	"encoding/base64"
	"fmt"
	"net/http"
)

// Messages is Anthropic's API. Its answers are always streamed.
type Messages struct{}

func (Messages) key(r *http.Request) string { return r.Header.Get("X-Api-Key") }

func (Messages) path(r *http.Request, body JSON) (bool, bool) {
	return true, r.URL.Path == "/v1/messages" && r.Header.Get("Anthropic-Version") != "" && body.is("stream")
}

func (Messages) read(body JSON) (a Asked, why string) {
	a.System, a.mayCall = body.Get("system").texts(), body.Get("tool_choice.type").String() != "none"
	a.declare(body.Get("tools"), "name")
	switch {
	case !body.Get("max_tokens").Exists():
		why = "max_tokens: Field required"
	case body.Get("cache_control.type").String() != "ephemeral":
		why = "nothing is cached"
	}
	before := ""
	for _, m := range body.Get("messages").List() {
		role := m.Get("role").String()
		if role == before {
			why = "roles must alternate"
		}
		before = role
		t := Turn{Role: role}
		for _, b := range m.Get("content").List() {
			switch b.Get("type").String() {
			case "text":
				t.Text += b.Get("text").String()
			case "thinking":
				if b.Get("signature").String() != sign(b.Get("thinking").String()) {
					why = "thinking was changed"
				}
			case "tool_use":
				t.Calls = append(t.Calls, b.Get("id").String())
			case "tool_result":
				if t.Text != "" {
					why = "results come first"
				}
				a.add(Turn{Role: "results", Results: []Result{{b.Get("tool_use_id").String(), b.Get("content").texts()}}})
			}
		}
		if role == "assistant" || t.Text != "" {
			a.add(t)
		}
	}
	return a, why
}

func sign(thinking string) string {
	return base64.StdEncoding.EncodeToString([]byte("signed: " + thinking))
}

func (Messages) say(s Answer) (_ object, events []string) {
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
	if s.Thinking != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": s.Thinking}, object{"type": "signature_delta", "signature": sign(s.Thinking)})
	}
	var deltas []object
	for _, piece := range pieces(s.Text) {
		deltas = append(deltas, object{"type": "text_delta", "text": piece})
	}
	if deltas != nil {
		block(object{"type": "text", "text": ""}, deltas...)
	}
	stop := "end_turn"
	for _, c := range s.Calls {
		stop = "tool_use"
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, object{"type": "input_json_delta", "partial_json": c.Arguments})
	}
	add("message_delta", object{"delta": object{"stop_reason": stop}, "usage": object{"output_tokens": s.out}})
	add("message_stop", object{})
	return nil, events
}

func (Messages) refuse(status int, message string) (int, object) {
	kind := map[int]string{401: "authentication_error", 404: "not_found_error"}[status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	return status, object{"type": "error", "error": object{"type": kind, "message": message}}
}

func (Messages) tooLong(tokens, window int) string {
	return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, window)
}

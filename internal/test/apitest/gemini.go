package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Gemini is Google's API.
type Gemini struct{}

func (Gemini) key(r *http.Request) string { return r.Header.Get("X-Goog-Api-Key") }

func (Gemini) path(r *http.Request, _ JSON) (streamed, ok bool) {
	path, versioned := strings.CutPrefix(r.URL.Path, "/v1beta/models/")
	_, method, _ := strings.Cut(path, ":")
	streamed = method == "streamGenerateContent"
	return streamed, versioned && (streamed || method == "generateContent")
}

func (Gemini) read(body JSON) (a Asked, why string) {
	a.System = body.Get("systemInstruction.parts").texts()
	a.mayCall = body.Get("toolConfig.functionCallingConfig.mode").String() != "NONE"
	for _, t := range body.Get("tools").List() {
		a.declare(t.Get("functionDeclarations"), "name", "parameters", "parametersJsonSchema")
	}
	current := -1 // the last turn with a text of the user
	contents := body.Get("contents").List()
	for i, c := range contents {
		if c.Get("role").String() == "user" && c.Get("parts.0.text").Exists() {
			current = i
		}
	}
	for i, c := range contents {
		t := Turn{Role: map[string]string{"model": "assistant", "user": "user"}[c.Get("role").String()]}
		if len(c.Get("parts").List()) == 0 {
			why = "a content has no parts"
		}
		for _, p := range c.Get("parts").List() {
			call, response := p.Get("functionCall"), p.Get("functionResponse")
			signed := p.Get("thoughtSignature").String() != ""
			switch {
			case call.Exists():
				if i > current && len(t.Calls) == 0 && !signed {
					why = "Function call is missing a thought_signature"
				}
				t.Calls = append(t.Calls, call.Get("id").String())
			case response.Exists():
				text := ""
				for _, v := range response.Get("response").Fields() {
					text += v.String()
				}
				a.add(Turn{Role: "results", Results: []Result{{response.Get("id").String(), text}}})
			case p.Get("text").String() == "" && !signed:
				why = "a part is empty"
			case !p.is("thought"):
				t.Text += p.Get("text").String()
			}
		}
		if t.Role == "assistant" || t.Text != "" {
			a.add(t)
		}
	}
	return a, why
}

func (Gemini) say(s Answer) (object, []string) {
	var parts []any
	if s.Thinking != "" {
		parts = append(parts, object{"text": s.Thinking, "thought": true})
	}
	for _, piece := range pieces(s.Text) {
		parts = append(parts, object{"text": piece})
	}
	for i, c := range s.Calls {
		p := object{"functionCall": object{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.Arguments)}}
		if i == 0 {
			p["thoughtSignature"] = sign(c.ID)
		}
		parts = append(parts, p)
	}
	answer := func(finish string, parts ...any) object {
		return object{"candidates": []any{object{"index": 0, "finishReason": finish, "content": object{"role": "model", "parts": parts}}},
			"usageMetadata": object{"promptTokenCount": s.in, "candidatesTokenCount": s.out, "totalTokenCount": s.in + s.out}}
	}
	var events []string
	for i, p := range parts {
		events = append(events, eventOf("", answer(map[bool]string{true: "STOP"}[i == len(parts)-1], p)))
	}
	return answer("STOP", parts...), events
}

func (Gemini) refuse(status int, message string) (int, object) {
	details := []any{}
	if status == http.StatusUnauthorized { // Gemini answers an unknown key like this
		status, details = http.StatusBadRequest, []any{object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}}
	}
	return status, object{"error": object{"code": status, "message": message, "status": "INVALID_ARGUMENT", "details": details}}
}

func (Gemini) tooLong(tokens, window int) string {
	return fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, window)
}

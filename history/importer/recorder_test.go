package importer_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// geminiRecorder writes a chat by the rules of Gemini CLI's recorder: messages are written again whenever they change,
// results stand with the calls, each with all of its turn, and what changes the history writes all of it.
type geminiRecorder struct {
	recorder
	messages []object // in memory, with which the program goes on
}

// push writes a message, new or changed.
func (g *geminiRecorder) push(m object) {
	g.write(m)
	for i, other := range g.messages {
		if other["id"] == m["id"] {
			g.messages[i] = m
			return
		}
	}
	g.messages = append(g.messages, m)
}

func (g *geminiRecorder) say(kind string, content any) object {
	return object{"id": g.id("m"), "timestamp": fmt.Sprintf("2026-08-01T09:00:00.%03dZ", len(g.lines)%1000), "type": kind, "content": content}
}

// turn records a question, an answer with some calls, their results, and an answer.
func (g *geminiRecorder) turn() {
	g.push(g.say("user", fmt.Sprint("question ", g.ids)))
	answer := g.say("gemini", "")
	g.push(answer)
	var calls, results []any
	for range g.IntN(4) {
		id := g.id("m")
		calls = append(calls, object{"id": id, "name": "read", "args": object{"path": id}, "status": "success"})
		results = append(results, object{"functionResponse": object{"id": id, "name": "read", "response": object{"output": "text of " + id}}})
	}
	if len(calls) > 0 {
		for _, c := range calls {
			c.(object)["result"] = results
		}
		answer = clone(answer)
		answer["toolCalls"] = calls
		g.push(answer)
	}
	g.push(g.say("gemini", fmt.Sprint("answer ", g.ids)))
}

// set replaces the history, as compression, masking and a resumed session do.
func (g *geminiRecorder) set(messages []object) {
	g.messages = messages
	g.write(object{"$set": object{"messages": messages}})
}

func clone(m object) object {
	raw, _ := json.Marshal(m)
	var other object
	_ = json.Unmarshal(raw, &other)
	return other
}

func (g *geminiRecorder) change() {
	var list []object
	for _, m := range g.messages {
		list = append(list, clone(m))
	}
	switch n := len(list); g.IntN(4) {
	case 0: // compression: a summary, an answer to it, and the kept end
		g.set(append([]object{g.say("user", []any{object{"text": "summary"}}), g.say("gemini", "Got it.")}, list[g.IntN(n):]...))
	case 1: // masking of the results of a message
		for _, m := range list {
			calls, _ := m["toolCalls"].([]any)
			for _, c := range calls {
				id := c.(object)["id"]
				c.(object)["result"] = []any{object{"functionResponse": object{"id": id, "name": "read", "response": object{"output": "masked"}}}}
			}
		}
		g.set(list)
	case 2: // a rewind to a user's message
		for _, at := range g.Perm(n) {
			if g.messages[at]["type"] == "user" && at > 0 {
				g.write(object{"$rewindTo": g.messages[at]["id"]})
				g.messages = g.messages[:at:at]
				return
			}
		}
	case 3: // a session that is resumed
		g.write(object{"$set": object{"sessionId": "s"}})
	}
}

// shown returns what the program goes on with: texts, calls, and one result for each call.
func (g *geminiRecorder) shown() (list []string) {
	for _, m := range g.messages {
		text, _ := m["content"].(string)
		if parts, ok := m["content"].([]any); ok {
			text = parts[0].(object)["text"].(string)
		}
		calls, _ := m["toolCalls"].([]any)
		if text != "" || len(calls) > 0 {
			said := text
			for _, c := range calls {
				said += " " + c.(object)["id"].(string)
			}
			list = append(list, said)
		}
		for _, c := range calls {
			call := c.(object)
			for _, r := range call["result"].([]any) {
				response := r.(object)["functionResponse"].(object)
				if response["id"] == call["id"] {
					list = append(list, fmt.Sprint(call["id"], ": ", response["response"].(object)["output"]))
				}
			}
		}
	}
	return list
}

func TestAChatOfGeminiCLIIsReadAsItsRecorderGoesOnWithIt(t *testing.T) {
	for seed := range uint64(300) {
		g := &geminiRecorder{recorder: recorder{Rand: rand.New(rand.NewPCG(seed, 1))}}
		g.write(object{"sessionId": "s", "projectHash": "p", "startTime": "2026-08-01T09:00:00.000Z"})
		for range 2 + g.IntN(6) {
			g.turn()
			if g.IntN(2) == 0 {
				g.change()
			}
		}
		got := recordingOf(t, strings.Join(g.lines, "\n"))
		var list []string
		for _, m := range said(got) {
			text := m.Text()
			for _, c := range m.ToolCalls {
				text += " " + c.ID
			}
			if m.Role == chat.RoleTool {
				var response struct{ Output string }
				_ = json.Unmarshal([]byte(m.Text()), &response)
				if response.Output == "" {
					response.Output = m.Text()
				}
				text = m.ToolCallID + ": " + response.Output
			}
			if text != "" {
				list = append(list, text)
			}
		}
		require.Equal(t, g.shown(), list, "seed %d:\n%s", seed, strings.Join(g.lines, "\n"))
	}
}

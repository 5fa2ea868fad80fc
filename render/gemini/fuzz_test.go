package gemini_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/gemini"
)

// dice makes random histories, most of which nearly follow the rules.
type dice struct{ *rand.Rand }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

func (d dice) history() []chat.Message {
	var messages []chat.Message
	for range d.IntN(12) {
		m := d.message()
		messages = append(messages, m)
		for _, c := range m.ToolCalls {
			for d.IntN(10) > 0 {
				messages = append(messages, chat.Message{Role: chat.RoleTool, ToolCallID: c.ID, Content: d.parts(), IsError: d.IntN(5) == 0})
				if d.IntN(12) > 0 {
					break
				}
			}
		}
	}
	return messages
}

func (d dice) message() chat.Message {
	m := chat.Message{Content: d.parts()}
	m.Role = chat.Role(d.one("system", "user", "user", "user", "assistant", "assistant", "assistant", "assistant", "assistant", "tool", "critic", ""))
	if d.IntN(10) == 0 {
		m.Name = d.one("Ann", "Bob")
	}
	if m.Role == chat.RoleAssistant && d.IntN(3) > 0 || d.IntN(30) == 0 {
		for range 1 + d.IntN(3) {
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{
				ID: d.one("c1", "c2", "c3", "c4", "c5", "c1-2", ""), Name: d.one("look", "look", "look", "look up", "", "ünder", "9"),
				Arguments: d.one(`{}`, `{"at":"here","n":9007199254740993}`, ``, `null`, `{"cut`, `{} {}`, "\xff"),
				Signature: d.one("", "", signature, gemini.SkipSignature, "?", "c2ln\n"),
			})
		}
	}
	if d.IntN(20) == 0 {
		m.ToolCallID = d.one("c1", "c2")
	}
	return m
}

func (d dice) parts() chat.Parts {
	var parts chat.Parts
	for range d.IntN(4) {
		switch d.IntN(10) {
		case 0:
			parts = append(parts, chat.Image{URL: d.one("data:image/png;base64,AAAA", "https://example.com/a", "ftp://a", "data:,a", "data:", ""), Detail: chat.DetailHigh})
		case 1:
			parts = append(parts, chat.Document{Data: d.one("AAAA", "", "?"), MediaType: d.one("application/pdf", "text/plain", "")})
		case 2:
			parts = append(parts, chat.Thinking{Text: d.one("Hm.", ""), Signature: d.one("another's", ""), Encrypted: d.one("", "hidden")})
		case 3, 4:
			parts = append(parts, chat.Opaque{Value: json.RawMessage(d.one(
				`{"text":"Hm.","thought":true}`, `{"thoughtSignature":"c2ln"}`, `{"functionCall":{"id":"c1"}}`, `{"functionCall":{"id":"c2"}}`, `{"functionCall":{"name":"f"}}`,
				`{"executableCode":{"code":"1"}}`, `{"type":"tool_search"}`, `{}`, `null`, `[`, `{"thought":true}`, `{"text":"\n"}`, `{"inlineData":{"mimeType":"image/png","data":"AAAA"}}`,
				`{"fileData":{}}`, `{"inlineData":{}}`, `{"text":"a","inlineData":{"mimeType":"a/b","data":"AAAA"}}`, `{"fileData":{"fileUri":"http://a"}}`, `{} {}`,
			))})
		case 5:
			parts = append(parts, chat.CacheBreakpoint{Type: "ephemeral"})
		case 6:
			parts = append(parts, nil)
		default:
			parts = append(parts, chat.Text(d.one("Hello.", "Go on.", "\xff", " ", "", "\n\t")))
		}
	}
	return parts
}

// FuzzRepair repairs random histories, and checks them by Validate and by the API's rules. A history that breaks no
// rule must not change.
func FuzzRepair(f *testing.F) {
	for seed := range uint64(1_000) {
		f.Add(seed, seed%3 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, legacy bool) {
		given := asking(dice{rand.New(rand.NewPCG(seed, 1))}.history())
		options := gemini.Options{Legacy: legacy}
		before := fmt.Sprintf("%#v", given)
		repaired, changes := gemini.Repair(given, options)
		require.Equal(t, before, fmt.Sprintf("%#v", given))
		if len(given.Messages) == 0 {
			require.Error(t, gemini.Validate(repaired, options), "a request without messages cannot be repaired")
			return
		}
		require.Equal(t, gemini.Validate(given, options) == nil, len(changes) == 0, "%v", changes)
		require.NoError(t, gemini.Validate(repaired, options), "%v", changes)
		again, none := gemini.Repair(repaired, options)
		require.Empty(t, none)
		require.Equal(t, repaired, again)

		prompt, err := gemini.Convert(repaired.Messages, options)
		require.NoError(t, err)
		whole := object{"contents": prompt.Contents}
		if prompt.System != nil {
			whole["systemInstruction"] = prompt.System
		}
		body, err := decode(sure.JSON(t, whole))
		require.NoError(t, err)
		j := judge{legacy: legacy, issued: map[string]bool{}}
		for _, m := range repaired.Messages { // every signature in the history counts as issued
			for _, c := range m.ToolCalls {
				j.issued[c.ID+" "+c.Signature] = true
				j.issued[c.ID+" c2ln"] = true // the signature of a note
			}
		}
		require.Empty(t, j.refuse(body))
	})
}

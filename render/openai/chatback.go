package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire/completions"
)

// ChatResponse converts an answer of Chat Completions, from its first choice, so that [ChatRequest] sends it back:
//
//   - Thinking that a server shows is a [chat.Thinking], with the name of its field as the signature.
//   - The text is a [chat.Text]. A refusal is a [chat.Opaque], because it is not an answer.
//   - Calls have the ids of [chat.WithCallIDs].
//
// An answer without a choice is a [*chat.TransientError].
func ChatResponse(answer *sdk.ChatCompletion) (chat.Response, error) {
	if len(answer.Choices) == 0 {
		return chat.Response{}, emptyAnswer()
	}
	choice := answer.Choices[0]
	response := chat.Response{Message: messageOfChat(choice.Message), Usage: chatUsage(answer.Usage)}
	response.StopReason = stopOf(choice.FinishReason, response.Message)
	return response, nil
}

func messageOfChat(answer sdk.ChatCompletionMessage) chat.Message {
	a := chatAnswer{text: answer.Content, refusal: answer.Refusal}
	for _, name := range completions.ThinkingFields {
		if field, ok := answer.JSON.ExtraFields[name]; ok && a.thought == "" {
			a.field, a.thought = name, textOf(field.Raw())
		}
	}
	for _, c := range answer.ToolCalls {
		call := chat.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}
		if c.Type == "custom" {
			call.Name, call.Arguments, call.Signature = c.Custom.Name, c.Custom.Input, `{"type":"`+customCall+`"}`
		}
		a.calls = append(a.calls, call)
	}
	return chat.WithCallIDs(a.message())
}

// textOf returns a JSON string's text, "" for any other value.
func textOf(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return ""
	}
	return s
}

// chatAnswer is an answer of Chat Completions, complete or still streaming.
type chatAnswer struct {
	field, thought string // the thinking that the server shows, and its field
	text, refusal  string
	calls          []chat.ToolCall
}

func (a chatAnswer) message() chat.Message {
	m := chat.Message{Role: chat.RoleAssistant, ToolCalls: a.calls}
	if a.thought != "" {
		m.Content = append(m.Content, chat.Thinking{Text: a.thought, Signature: a.field})
	}
	if a.text != "" {
		m.Content = append(m.Content, chat.Text(a.text))
	}
	if a.refusal != "" {
		part := object{}
		part.set("type", "refusal")
		part.set("refusal", a.refusal)
		m.Content = append(m.Content, chat.Opaque{Value: part.raw()})
	}
	return m
}

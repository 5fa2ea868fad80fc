package chat

import "strings"

// Role is the author of a message.
type Role string

// The four roles. There is no separate developer role: adapters map [RoleSystem] to their provider's name for it.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role Role `json:"role"`
	// Name of the participant, for providers that take one.
	Name string `json:"name,omitempty"`
	// Content in order. An assistant message that only calls tools has none.
	Content Parts `json:"content,omitempty"`
	// ToolCalls of an assistant message, in order. More than one are parallel calls.
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// ToolCallID of a tool message is the id of the call that it answers.
	ToolCallID string `json:"toolCallId,omitempty"`
	// IsError of a tool message reports that the tool failed; the content describes the failure.
	IsError bool `json:"isError,omitempty"`
	// Origin of an assistant message says who wrote it, the zero value if that is not known. No provider is sent it.
	Origin Origin `json:"origin,omitzero"`
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	// ID identifies the call for its result, unique among the calls of a conversation. [WithCallIDs] assigns ids to
	// calls that came without one.
	ID string `json:"id"`
	// Name of the tool.
	Name string `json:"name"`
	// Arguments as the model wrote them: JSON text, usually an object. If the model was cut off, the text may be
	// incomplete.
	Arguments string `json:"arguments"`
	// Signature by which the provider recognises the call as its model's, such as Gemini's thought signature. It is
	// kept byte for byte.
	Signature string `json:"signature,omitempty"`
}

// SystemMessage returns a system message of one text.
func SystemMessage(text string) Message { return Message{Role: RoleSystem, Content: Parts{Text(text)}} }

// UserMessage returns a user message of one text.
func UserMessage(text string) Message { return Message{Role: RoleUser, Content: Parts{Text(text)}} }

// AssistantMessage returns an assistant message of one text.
func AssistantMessage(text string) Message {
	return Message{Role: RoleAssistant, Content: Parts{Text(text)}}
}

// ToolResult returns a tool message of one text that answers the call with that id.
func ToolResult(callID, text string) Message {
	return Message{Role: RoleTool, ToolCallID: callID, Content: Parts{Text(text)}}
}

// FailedResult returns a tool message that answers the call with that id: the tool failed, for a reason.
func FailedResult(callID, reason string) Message {
	m := ToolResult(callID, reason)
	m.IsError = true
	return m
}

// Text joins the message's text parts.
func (m Message) Text() string {
	if len(m.Content) == 1 {
		if t, ok := m.Content[0].(Text); ok {
			return string(t)
		}
	}
	var b strings.Builder
	for _, p := range m.Content {
		if t, ok := p.(Text); ok {
			b.WriteString(string(t))
		}
	}
	return b.String()
}

// Origin says who wrote an answer. What only its author can read, such as encrypted reasoning, is sent back to nobody
// else. An empty field is not known; the zero value says nothing.
type Origin struct {
	// Provider names the provider whose API was spoken, as the packages of its adapters are named: "openai",
	// "anthropic", "gemini".
	Provider string `json:"provider,omitempty"`
	// Server that was asked, as scheme://host, with the port if one was named: without path, query, user and key.
	Server string `json:"server,omitempty"`
	// Model is the name of the model that was asked.
	Model string `json:"model,omitempty"`
}

// Matches reports whether two origins may be the same: no field that both know differs.
func (o Origin) Matches(other Origin) bool {
	match := func(a, b string) bool { return a == b || a == "" || b == "" }
	return match(o.Provider, other.Provider) && match(o.Server, other.Server) && match(o.Model, other.Model)
}

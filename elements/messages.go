package elements

import (
	"context"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements/chat"
)

// SystemMessage is a message from the system. Its children are text, parts, or elements that render to these.
// Instructions without a priority are pruned last, and Required ones never. Each message costs the provider's overhead
// besides its content, about 3 to 5 tokens, so put texts that belong together into one message.
type SystemMessage struct {
	Props
	// Name of the participant, if the provider takes one.
	Name     string
	Children Nodes
}

// UserMessage is a message from the user: the question, and the context retrieved for it. A past message does not
// change any more and is cheaper as a [Finished].
type UserMessage struct {
	Props
	Name     string
	Children Nodes
}

// AssistantMessage is a message from the model, with its tool calls. Use it for examples that the model should follow;
// the elements of package history show a conversation. After pruning, each call must still be answered by a
// [ToolMessage]: link both to a group, or put them into a [Chunk].
type AssistantMessage struct {
	Props
	Name      string
	ToolCalls []ToolCall
	// Origin of an answer of a model: see [chat.Message].
	Origin   chat.Origin
	Children Nodes
}

// ToolCall is a call in an [AssistantMessage].
type ToolCall struct {
	chat.ToolCall
	// KeepWith links the call to a group: if one of the two is dropped, so is the other. None by default.
	KeepWith *Group
}

// ToolMessage is the result of a tool call. It comes after the message with the call, and is pruned with it.
type ToolMessage struct {
	Props
	// ToolCallID of the call that it answers.
	ToolCallID string
	// IsError reports that the tool failed.
	IsError  bool
	Children Nodes
}

// Render returns the message's children.
func (m SystemMessage) Render(context.Context, Sizing) (Node, error) { return m.Children, nil }

// Render returns the message's children.
func (m UserMessage) Render(context.Context, Sizing) (Node, error) { return m.Children, nil }

// Render returns the message's children.
func (m AssistantMessage) Render(context.Context, Sizing) (Node, error) {
	return m.Children, nil
}

// Render returns the message's children.
func (m ToolMessage) Render(context.Context, Sizing) (Node, error) { return m.Children, nil }

// Message returns the element for a past message that occurs in one prompt only; a [Finished] is laid out and counted
// once for all prompts. Its tool calls are linked to no group.
//
// A text part that follows another starts on a new line, because text in a message is joined.
func Message(props Props, m chat.Message) Node {
	children := make(Nodes, 0, len(m.Content))
	afterText := false
	for _, p := range m.Content {
		if t, ok := p.(chat.Text); ok && afterText {
			children = append(children, TextChunk{Children: Nodes{Text(t)}})
			continue
		}
		_, afterText = p.(chat.Text)
		children = append(children, Part(p))
	}
	switch m.Role {
	case chat.RoleSystem:
		return SystemMessage{Props: props, Name: m.Name, Children: children}
	case chat.RoleAssistant:
		var calls []ToolCall
		for _, c := range m.ToolCalls {
			calls = append(calls, ToolCall{ToolCall: c})
		}
		return AssistantMessage{Props: props, Name: m.Name, ToolCalls: calls, Origin: m.Origin, Children: children}
	case chat.RoleTool:
		return ToolMessage{Props: props, ToolCallID: m.ToolCallID, IsError: m.IsError, Children: children}
	default:
		return UserMessage{Props: props, Name: m.Name, Children: children}
	}
}

// Part returns the element for a part of a past message.
func Part(p chat.Part) Node {
	switch p := p.(type) {
	case chat.Text:
		return Text(p)
	case chat.Image:
		return Image{Source: p.URL, Detail: p.Detail, MediaType: p.MediaType}
	case chat.Document:
		return Document{Data: p.Data, MediaType: p.MediaType}
	case chat.Thinking:
		return Thinking{Thought: p}
	case chat.Opaque:
		return Opaque{Value: p.Value, Tokens: p.Tokens}
	case chat.CacheBreakpoint:
		return CacheBreakpoint{Type: p.Type, Lifetime: p.Lifetime}
	default:
		return nil
	}
}

// Finished is a list of past messages that do not change any more, kept or dropped together like a [Chunk], such as a
// round of a conversation. (What is finished is the messages, not the turn.) Use the same pointer in every prompt that shows the messages: their layout and count are
// computed once and stored in it. So a long conversation costs little more than its new messages.
//
// Do not change the messages or anything that they hold after the first render. A Finished may be placed wherever a
// message may.
type Finished struct {
	Props
	Messages []chat.Message

	kept atomic.Value
}

// Kept returns where the renderer stores the layout. Only the renderer uses it.
func (f *Finished) Kept() *atomic.Value { return &f.kept }

// Render returns the messages.
func (f *Finished) Render(context.Context, Sizing) (Node, error) {
	nodes := make(Nodes, len(f.Messages))
	for i, m := range f.Messages {
		nodes[i] = Message(Props{}, m)
	}
	return nodes, nil
}

package el

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// Prompt returns the root of a prompt:
//
//	elements.Nodes{…}
func Prompt(children ...Node) elements.Nodes { return children }

// System returns a message from the system. It is Required, with everything in it, unless it has a priority: give it a
// high one if something in it may be pruned.
//
//	elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{…}}
func System(args ...Node) elements.SystemMessage {
	var m elements.SystemMessage
	m.Children = fill(&m, &m.Props, args)
	m.Required = m.Required || m.Priority == nil
	return m
}

// User returns a message from the user:
//
//	elements.UserMessage{Children: elements.Nodes{…}}
func User(args ...Node) elements.UserMessage {
	var m elements.UserMessage
	m.Children = fill(&m, &m.Props, args)
	return m
}

// Assistant returns a message from the model. [Calls] are the tools that it called:
//
//	elements.AssistantMessage{ToolCalls: []elements.ToolCall{…}, Children: elements.Nodes{…}}
func Assistant(args ...Node) elements.AssistantMessage {
	var m elements.AssistantMessage
	m.Children = fill(&m, &m.Props, args)
	return m
}

// Calls appends to the ToolCalls of an [Assistant].
func Calls(calls ...chat.ToolCall) Option[elements.AssistantMessage] { return CallsWith(nil, calls...) }

// CallsWith is like [Calls], and links the calls to a group: the calls are kept or dropped with the group's elements.
// See [KeepWith].
func CallsWith(group *elements.Group, calls ...chat.ToolCall) Option[elements.AssistantMessage] {
	return Option[elements.AssistantMessage]{name: "Calls", home: "Assistant", set: func(m *elements.AssistantMessage) {
		for _, c := range calls {
			m.ToolCalls = append(m.ToolCalls, elements.ToolCall{ToolCall: c, KeepWith: group})
		}
	}}
}

// ToolResult returns the result of the tool call with an id:
//
//	elements.ToolMessage{ToolCallID: id, Children: elements.Nodes{…}}
func ToolResult(id string, args ...Node) elements.ToolMessage {
	m := elements.ToolMessage{ToolCallID: id}
	m.Children = fill(&m, &m.Props, args)
	return m
}

// Failed sets IsError of a [ToolResult]: the tool failed.
var Failed = Option[elements.ToolMessage]{name: "Failed", home: "ToolResult", set: func(m *elements.ToolMessage) { m.IsError = true }}

package provider

import "github.com/promptree-go/promptree/elements/chat"

// Partial returns the response that comes with an error: the part of the answer that had arrived. A message without
// content and calls becomes the zero value.
func Partial(m chat.Message, usage chat.Usage) chat.Response {
	if len(m.Content) == 0 && len(m.ToolCalls) == 0 {
		m = chat.Message{}
	}
	return chat.Response{Message: m, Usage: usage}
}

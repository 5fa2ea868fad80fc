package chattemplate

import "github.com/promptree-go/promptree/elements/chat"

const (
	llamaStart = "<|begin_of_text|>"
	llamaEnd   = "<|eot_id|>"
)

func llamaHeader(role chat.Role) string {
	return "<|start_header_id|>" + string(role) + "<|end_header_id|>\n\n"
}

// llamaCall returns a call in the form of Llama 3.1, an estimate: the template of Llama 3 has none.
func llamaCall(c chat.ToolCall) string {
	return `{"name": ` + quoted(c.Name) + `, "parameters": ` + spacedJSON(c.Arguments) + `}`
}

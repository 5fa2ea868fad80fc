package provider

import "github.com/promptree-go/promptree/elements/chat"

// Names are the real names of the tools that are sent under others, by the name that is sent. A session holds the real
// ones, so that it may go on with another API.
type Names map[string]string

// Names returns the real names of a request's tools.
func (a *API) Names(tools []chat.Tool) Names {
	names := Names{}
	for _, t := range tools {
		if sent := a.ToolName.Name(t.Name); sent != t.Name {
			names[sent] = t.Name
		}
	}
	return names
}

// Stream returns a function that streams calls under their real names, nil for nil.
func (n Names) Stream(stream func(chat.Delta)) func(chat.Delta) {
	if stream == nil || len(n) == 0 {
		return stream
	}
	return func(d chat.Delta) {
		if call, is := d.(chat.CallDelta); is && n[call.Name] != "" {
			call.Name = n[call.Name]
			d = call
		}
		stream(d)
	}
}

// Response returns an answer with the real names of its calls.
func (n Names) Response(r chat.Response) chat.Response {
	for i, c := range r.Message.ToolCalls {
		if real := n[c.Name]; real != "" {
			r.Message.ToolCalls[i].Name = real
		}
	}
	return r
}

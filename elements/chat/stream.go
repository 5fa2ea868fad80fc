package chat

// Delta is a piece of an answer as it streams: [Text], [Thinking] with the next piece of its Text, or [CallDelta]. The set
// is closed, so that a switch over it can be complete.
type Delta interface{ delta() }

// CallDelta is a piece of a tool call as it streams.
type CallDelta struct {
	// Index of the call in Message.ToolCalls of the response.
	Index int
	// ID and Name of the call. Both come with its first piece, and are empty in all others.
	ID, Name string
	// Arguments is the next piece of the text of the call's arguments. In the first piece it may be empty.
	Arguments string
}

func (Text) delta()      {}
func (Thinking) delta()  {}
func (CallDelta) delta() {}

package chat

// Delta is a piece of an answer as it streams: [Text], [Thinking] with the next piece of its Text, or [CallDelta]. No
// other type implements it, so a switch over these is complete.
type Delta interface{ delta() }

// CallDelta is a piece of a tool call as it streams.
type CallDelta struct {
	// Index of the call in Message.ToolCalls of the response.
	Index int
	// ID and Name of the call. Both come with its first piece, and are empty in all others.
	ID, Name string
	// Arguments is the next piece of the call's arguments. It may be empty in the first piece.
	Arguments string
}

func (Text) delta()      {}
func (Thinking) delta()  {}
func (CallDelta) delta() {}

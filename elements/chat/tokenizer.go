package chat

// Tokenizer counts tokens as one model does. The same input gives the same count every time, and an implementation is
// safe for concurrent use. Counts are never negative.
//
// Counts nearly add up: taking a piece out of a message makes it smaller by no more than half as much again as the piece
// counts by itself, and 8. A part or a tool call may count more than that in a message, but no more than a second one of it
// adds there, as long as others of its type are left. Pruning relies on that to count long messages less often; of a
// tokenizer that breaks it, a little more may be pruned than must be. So it is with a list of
// tools: without one of them it counts no more, and less by no more than half as much again as that one adds to a list of another,
// and 8.
//
// More is asked by optional methods. A [Joiner] says where counts add up. Learns() bool reports whether the same input may count
// otherwise later, so that no counts of it are kept; nor are they of a type that has no ==. Estimates() bool reports whether counts
// are only estimates.
type Tokenizer interface {
	// CountText counts a text on its own, special tokens as plain text.
	CountText(text string) int
	// CountPart counts one part of a message's content.
	CountPart(part Part) int
	// CountMessage counts a whole message: its parts, role, name, tool calls and what the provider wraps it in.
	CountMessage(m Message) int
	// CountTools counts the definitions of the tools that a request declares; 0 where there are none.
	CountTools(tools []Tool) int
}

// Joiner is a [Tokenizer] that knows where its counts add up. With one, the exact count of a message from which a piece
// was taken costs a few bytes around the piece; without, the message is counted again. A type that embeds a Joiner and
// counts messages its own way must bring a CountFrame of its own too.
type Joiner interface {
	Tokenizer
	// SafeCut tells that a text may be cut between these two characters without a change to its count: in valid UTF-8,
	// CountText(a+b) is CountText(a) + CountText(b) where a ends in the one and b starts with the other.
	SafeCut(before, after rune) bool
	// CountFrame counts what a message takes besides its text. What the text parts say has no say in it, not even
	// whether they are empty; how many there are, and what stands beside them, may have. CountMessage is that, and
	// CountText of the text parts: of all of them joined where joined is true, else of each.
	//
	// Frames add up too. Which types of parts a message has may decide whether its texts count joined, and what any part
	// takes; but where others of its type are left, a part takes no more or less than in any message of that role with
	// the same types of parts, and so does a tool call.
	CountFrame(m Message) (tokens int, joined bool)
}

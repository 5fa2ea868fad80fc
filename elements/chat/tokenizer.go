package chat

// Tokenizer counts tokens as one model does. The same input must always have the same count, counts are never negative,
// and an implementation is safe for concurrent use.
//
// Counts nearly add up. Let p be the count of a piece by itself: taking the piece out of a message lowers the message's
// count by at most 1.5·p + 8. A part or a tool call may count more than p in a message, but no more than a second copy
// of it would add there, as long as other parts of its type are left. Pruning relies on this to count long messages
// less often; with a tokenizer that breaks this rule, a little more may be pruned than necessary. The same holds for a
// list of tools: removing a tool does not raise the list's count, and lowers it by at most 1.5·p + 8, where p is the
// number of tokens that the tool adds to a list of one other tool.
//
// Optional methods refine this. A [Joiner] knows where counts add up. Learns() bool reports whether the same input may
// have another count later, so that counts are not kept; they are not kept either for a type that is not comparable.
// Estimates() bool reports whether counts are only estimates.
type Tokenizer interface {
	// CountText counts a text on its own. Whether special tokens in it are plain text is the implementation's to say.
	CountText(text string) int
	// CountPart counts one part of a message's content.
	CountPart(part Part) int
	// CountMessage counts a whole message: its parts, role, name, tool calls and what the provider wraps it in.
	CountMessage(m Message) int
	// CountTools counts the definitions of the tools that a request declares; 0 if there are none.
	CountTools(tools []Tool) int
}

// Joiner is a [Tokenizer] that knows where its counts add up. With a Joiner, the exact count of a message from which a
// piece was taken requires counting a few bytes around the piece; without one, the whole message is counted again. A
// type that embeds a Joiner and overrides CountMessage must override CountFrame too.
type Joiner interface {
	Tokenizer
	// SafeCut reports whether a text may be cut between these two characters without a change to its count: in valid
	// UTF-8, CountText(a+b) is CountText(a) + CountText(b) if a ends with before and b starts with after.
	SafeCut(before, after rune) bool
	// CountFrame counts a message without its text, so that CountMessage is CountFrame plus CountText of the text
	// parts: of all of them joined if joined is true, else of each. The result may depend on the number of text parts
	// and the parts beside them, but not on their text, not even on whether it is empty.
	//
	// Frames add up too. The types of the parts in a message may decide whether its texts are counted joined, and what
	// each part takes. But as long as other parts of its type are left, a part adds the same number to any message of
	// that role with the same types of parts. So does a tool call.
	CountFrame(m Message) (tokens int, joined bool)
}

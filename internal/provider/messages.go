package provider

import "github.com/promptree-go/promptree/elements/chat"

// Texts that repairs put where a provider requires one.
const (
	UnknownTool = "unknown_tool"
	NoResult    = "There is no result: the call was interrupted."
	NoOutput    = "(no output)"
	LostResult  = "Result of a tool call that is not shown:"
	NotShown    = "(The conversation before this is not shown.)"
	GoOn        = "Continue."
)

// Indexed is a message and its index in the original request.
type Indexed struct {
	chat.Message
	Index int
	// Broken reports whether a part of its thinking was left out.
	Broken bool
}

package modelerr

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// NotMade is the text in place of the calls of an answer that was cut off.
const NotMade = "(The answer was cut off, and no tool call in it was made.)"

// CutOff reports whether an answer that ended by a reason, in the words of any provider, was cut off or filtered, or
// failed, so that its calls may be incomplete. A reason that is not known is no end. Without a reason, it ended.
func CutOff(reason string) bool {
	calls := chat.Message{ToolCalls: []chat.ToolCall{{Name: "any"}}}
	stop, err := dialect.Stop(reason, "", calls, nil)
	return err != nil || stop == chat.StopMaxTokens || stop == chat.StopFiltered
}

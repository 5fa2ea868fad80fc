package modelerr

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// NotMade is the text in place of the calls of an answer that was cut off.
const NotMade = "(The answer was cut off, and no tool call in it was made.)"

// CutOff reports whether an answer that ended by a reason, in the words of any provider, was cut off or filtered, so
// that its calls may be incomplete.
func CutOff(reason string) bool {
	stop, _ := dialect.Stop(reason, "", chat.Message{}, nil)
	return stop == chat.StopMaxTokens || stop == chat.StopFiltered
}

package provider

import (
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

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

// LeftOut returns the text that takes the place of an image or a document that the API does not accept.
func LeftOut(why string) chat.Text {
	return chat.Text(strings.ToValidUTF8("[left out: "+why+"]", "\uFFFD"))
}

// Tell calls the adapter's own listener with the repairs of a request, or the request's if there is no own one; neither if
// nothing was repaired.
func Tell(own func([]chat.Repair), req chat.Request, changes []chat.Repair) {
	if own == nil {
		own = req.OnRepair
	}
	if own != nil && len(changes) > 0 {
		own(changes)
	}
}

// object returns arguments that are not an object as the field of one.
func object(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	wrapped, _ := plainjson.Marshal(map[string]string{"arguments": arguments}) // texts always encode
	return string(wrapped)
}

package gemini

import (
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
)

// Convert converts messages without the rules about their order.
func Convert(messages []chat.Message, o Options) (converter, error) {
	return convert(messages, o), o.accepts().ValidateMessages(messages)
}

// FromContent converts a model's content.
func FromContent(content *genai.Content) (chat.Message, error) { return fromContent(content, "") }

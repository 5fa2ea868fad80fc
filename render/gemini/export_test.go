package gemini

import (
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
)

// Convert makes contents of single messages, whether they are valid together or not.
func Convert(messages []chat.Message, o Options) (prompt, error) {
	p, violations := convert(messages, o)
	return p, chat.Invalid(violations)
}

// FromContent makes a message of a model's content by itself.
func FromContent(content *genai.Content) (chat.Message, error) { return fromContent(content, "") }

package openai

import (
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
)

// The conversions of messages without validation, for tests of single messages and of messages that break a rule.
var (
	ChatMessages = chatMessages
	Items        = inputItems
)

// MessageOfItems returns the message of an answer that was not streamed.
func MessageOfItems(output []responses.ResponseOutputItemUnion) chat.Message {
	return messageOfItems(output, new(chat.CallIDs))
}

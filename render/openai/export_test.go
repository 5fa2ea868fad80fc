package openai

import (
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
)

// The conversions of messages by themselves, for tests of what single messages become and of what the server says of
// messages that break a rule.
var (
	ChatMessages  = chatMessages
	Items         = items
	MessageOfChat = messageOfChat
)

// MessageOfItems makes a message of an answer that was not streamed.
func MessageOfItems(output []responses.ResponseOutputItemUnion) chat.Message {
	return messageOfItems(output, new(chat.CallIDs))
}

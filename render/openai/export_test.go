package openai

// The conversions of messages by themselves, for tests of what single messages become and of what the server says of
// messages that break a rule.
var (
	ChatMessages   = chatMessages
	Items          = items
	MessageOfChat  = messageOfChat
	MessageOfItems = messageOfItems
)

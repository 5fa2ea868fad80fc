package tiktoken

import (
	"github.com/promptree-go/promptree/elements/chat"
)

// Encoder turns a text into tokens, special tokens taken as plain text. *tiktoken.Tiktoken of tiktoken-go is one. It has to
// be safe for concurrent use, and to give the same tokens every time.
type Encoder interface {
	EncodeOrdinary(text string) []int
}

// Adapt is a tokenizer of an encoding that [New] does not know. It counts texts as the encoder does, as fast as that is,
// and messages, images and tools as a [Counter] does. Where counts add up is not known of it, so it is no [chat.Joiner].
func Adapt(encoder Encoder) chat.Tokenizer {
	return struct{ chat.Tokenizer }{&Counter{encoder: encoder, images: defaultImages, memory: newMemory()}}
}

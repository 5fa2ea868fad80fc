package tiktoken

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/internal/memo"
)

// Encoder turns a text into tokens, treating special tokens as plain text. *tiktoken.Tiktoken of tiktoken-go is one. It
// must be safe for concurrent use and return the same tokens every time.
type Encoder interface {
	EncodeOrdinary(text string) []int
}

// Adapt returns a tokenizer for an encoding that [New] does not know. It counts texts with the encoder, at the
// encoder's speed, and messages, images and tools as a [Counter] does. It is not a [chat.Joiner], because it is not
// known where the encoder's counts add up.
func Adapt(encoder Encoder) chat.Tokenizer {
	return struct{ chat.Tokenizer }{&Counter{encoder: encoder, images: defaultImages, memory: memo.New()}}
}

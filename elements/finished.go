package elements

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/kept"
)

// Finished is messages that were said and do not change any more, kept or dropped together like a [Chunk]: a round of a
// conversation, say. It is used by its pointer, and the same one in each prompt that shows the messages: what they lay out
// to and count is worked out once and kept with it. So a long conversation costs little more than what is new in it.
//
// Neither the messages nor what they hold may be changed once it was rendered. It stands where messages may.
type Finished struct {
	Props
	Messages []chat.Message

	kept kept.Slot
}

// Kept returns what the renderer keeps with the messages. It is for the renderer alone.
func (f *Finished) Kept() *kept.Slot { return &f.kept }

// Render returns the messages.
func (f *Finished) Render(context.Context, Sizing) (Node, error) {
	nodes := make(Nodes, len(f.Messages))
	for i, m := range f.Messages {
		nodes[i] = Message(Props{}, m)
	}
	return nodes, nil
}

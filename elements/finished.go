package elements

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/internal/kept"
)

// Finished is a list of past messages that do not change any more, kept or dropped together like a [Chunk], such as a
// round of a conversation. (What is finished is the messages, not the turn.) Use the same pointer in every prompt that shows the messages: their layout and count are
// computed once and stored in it. So a long conversation costs little more than its new messages.
//
// Do not change the messages or anything that they hold after the first render. A Finished may be placed wherever a
// message may.
type Finished struct {
	Props
	Messages []chat.Message

	kept kept.Slot
}

// Kept returns the slot in which the renderer stores the layout. Only the renderer uses it.
func (f *Finished) Kept() *kept.Slot { return &f.kept }

// Render returns the messages.
func (f *Finished) Render(context.Context, Sizing) (Node, error) {
	nodes := make(Nodes, len(f.Messages))
	for i, m := range f.Messages {
		nodes[i] = Message(Props{}, m)
	}
	return nodes, nil
}

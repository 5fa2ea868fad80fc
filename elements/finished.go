package elements

import (
	"context"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements/chat"
)

// Finished is messages that were said and do not change any more, kept or dropped together like a [Chunk]: a round of a
// conversation, say. It is used by its pointer, and the same one in each prompt that shows the messages: what they lay out
// to and count is worked out once and kept with it. So a long conversation costs little more than what is new in it.
//
// Neither the messages nor what they hold may be changed once it was rendered. It stands where messages may.
type Finished struct {
	Props
	Messages []chat.Message

	kept atomic.Pointer[keepsake]
}

// NewFinished is messages that do not change any more.
func NewFinished(props Props, messages ...chat.Message) *Finished {
	return &Finished{Props: props, Messages: messages}
}

// Keepsake is what a renderer keeps with a [Finished].
type Keepsake interface{ Keepsake() }

// keepsake makes an interface something that a pointer can point to.
type keepsake struct{ Keepsake }

// Kept gives what the renderer kept, nil where it kept nothing. It is for renderers.
func (f *Finished) Kept() Keepsake {
	if k := f.kept.Load(); k != nil {
		return k.Keepsake
	}
	return nil
}

// Keep keeps something for the next time the same messages are rendered, in place of what was kept. It is for renderers.
func (f *Finished) Keep(k Keepsake) { f.kept.Store(&keepsake{k}) }

// Render gives the messages.
func (f *Finished) Render(context.Context, Sizing) (Node, error) {
	return Map(f.Messages, func(m chat.Message) Node { return Message(Props{}, m) }), nil
}

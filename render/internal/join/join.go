// Package join is the stage of the render engine that makes messages from the pieces in them: it joins neighbouring
// texts and puts line breaks between them.
//
// Its input is a [tree.View]. [Messages] returns messages that can be sent; [Content] passes the pieces of one message
// to a [Reader], with the same line breaks, so that package count can count a message without building it. A message
// depends only on the pieces left in it, never on other messages.
package join

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Message returns a message as it is sent.
func Message(v tree.View, n tree.ID) chat.Message {
	return new(Builder).message(v, n)
}

// message returns a message, whose content is the builder's.
func (b *Builder) message(v tree.View, n tree.ID) chat.Message {
	m := Frame(v, n)
	Content(v, n, b)
	m.Content = b.Parts()
	return m
}

// Frame returns a message without content.
func Frame(v tree.View, n tree.ID) chat.Message {
	m := *v.State.Tree.Extra(n).Frame
	m.ToolCalls = Calls(v.Calls(n))
	return m
}

// Calls returns tool calls without their groups, nil for none.
func Calls(calls []elements.ToolCall) []chat.ToolCall {
	if len(calls) == 0 {
		return nil
	}
	plain := make([]chat.ToolCall, len(calls))
	for i, c := range calls {
		plain[i] = c.ToolCall
	}
	return plain
}

// Messages returns the messages that are not blank.
func Messages(s *tree.State) []chat.Message {
	v := s.At(tree.Latest)
	list := make([]chat.Message, 0, s.Tree.Messages)
	var b Builder
	var collect func(n tree.ID)
	collect = func(n tree.ID) {
		switch s.Tree.Nodes[n].Kind {
		case tree.Finished:
			for _, m := range s.Tree.Extra(n).Block.Messages { // cloned, because the caller may change them
				m.Content, m.ToolCalls = slices.Clone(m.Content), slices.Clone(m.ToolCalls)
				list = append(list, m)
			}
		case tree.Container:
			for c := range v.Children(n) {
				collect(c)
			}
		case tree.Message:
			if !v.Blank(n) {
				m := b.message(v, n)
				m.Content = slices.Clone(m.Content)
				list = append(list, m)
				b.Reset()
			}
		}
	}
	if collect(tree.Root); len(list) == 0 {
		return nil
	}
	return list
}

// Builder is a [Reader] that builds the content of a message. The zero value is ready to use.
type Builder struct {
	parts chat.Parts
	begun bool            // a text is being joined
	first string          // its first non-empty piece
	more  strings.Builder // the whole text, if it has several such pieces
}

// Text adds to the text.
func (b *Builder) Text(_ tree.ID, s string, _, newLine bool) {
	if b.first == "" {
		b.begun, b.first = true, s
		return
	}
	if b.more.Len() == 0 {
		b.more.WriteString(b.first)
	}
	if n := len(s) + 1; b.more.Cap()-b.more.Len() < n {
		b.more.Grow(b.more.Len() + n)
	}
	if newLine {
		b.more.WriteByte('\n')
	}
	b.more.WriteString(s)
}

// Part ends the text and adds a part. Of several cache breakpoints in a row only the last one is kept.
func (b *Builder) Part(p chat.Part) {
	b.endText()
	if _, is := p.(chat.CacheBreakpoint); is && len(b.parts) > 0 {
		last := &b.parts[len(b.parts)-1]
		if _, again := (*last).(chat.CacheBreakpoint); again {
			*last = p
			return
		}
	}
	b.parts = append(b.parts, p)
}

// Parts returns the content, nil for none.
func (b *Builder) Parts() chat.Parts {
	if b.endText(); len(b.parts) == 0 {
		return nil
	}
	return b.parts
}

// Reset makes the builder ready for another message, in the same memory: the content of the last one is lost.
func (b *Builder) Reset() { b.parts = b.parts[:0] }

func (b *Builder) endText() {
	switch {
	case !b.begun:
	case b.more.Len() == 0:
		b.parts = append(b.parts, chat.Text(b.first))
	default:
		b.parts = append(b.parts, chat.Text(b.more.String()))
		b.more.Reset()
	}
	b.begun, b.first = false, ""
}

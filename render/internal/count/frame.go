package count

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// frame is what a message takes besides what its texts say, kept up to date while parts and calls go: what one of them
// takes does not depend on the others, as long as one of its type is left ([sizing.Joiner]).
type frame struct {
	joiner  sizing.Joiner
	tokens  int
	joined  bool           // its texts count joined, whatever parts stand between them
	stale   bool           // nothing is known any more
	there   [PartTypes]int // parts by type
	calls   int
	message chat.Message // one part of each type, as small as can be, and no calls
	least   int          // what that takes; 0 while it is not known
}

// count counts a message of empty texts.
func (f *frame) count(m chat.Message) {
	*f = frame{joiner: f.joiner, calls: len(m.ToolCalls)}
	f.tokens, f.joined = f.joiner.CountFrame(m)
	var one chat.Parts
	for _, p := range m.Content {
		t := TypeOf(p)
		if f.there[t] == 0 {
			one = append(one, small(p))
		}
		f.there[t]++
	}
	f.message = m
	f.message.Content, f.message.ToolCalls = one, nil
}

// small is a part of the type of another that says nothing, so that what it says is not counted with each part that goes.
func small(p chat.Part) chat.Part {
	switch p := p.(type) {
	case chat.Thinking:
		return chat.Thinking{}
	case chat.Document:
		return chat.Document{MediaType: p.MediaType}
	}
	return p
}

// lose records that a part is not there any more.
func (f *frame) lose(p chat.Part) {
	t := TypeOf(p)
	if f.there[t]--; f.there[t] < 1 {
		f.stale = true
	}
	if f.stale {
		return
	}
	if f.least == 0 {
		f.least, _ = f.joiner.CountFrame(f.message)
	}
	more := f.message
	more.Content = append(more.Content, p)
	tokens, _ := f.joiner.CountFrame(more)
	f.tokens -= tokens - f.least
}

// loseCall records that a tool call is not there any more.
func (f *frame) loseCall(c chat.ToolCall) {
	if f.calls--; f.calls < 1 {
		f.stale = true
	}
	if f.stale {
		return
	}
	m := f.message
	m.ToolCalls = []chat.ToolCall{c}
	one, _ := f.joiner.CountFrame(m)
	m.ToolCalls = append(m.ToolCalls, c)
	two, _ := f.joiner.CountFrame(m)
	f.tokens -= two - one
}

// PartType is the kind of a part of a message.
type PartType uint8

const (
	TextType PartType = iota
	ImageType
	DocumentType
	ThinkingType
	OpaqueType
	BreakpointType

	PartTypes // how many there are
)

// TypeOf returns the kind of a part.
func TypeOf(p chat.Part) PartType {
	switch p.(type) {
	case chat.Image:
		return ImageType
	case chat.Document:
		return DocumentType
	case chat.Thinking:
		return ThinkingType
	case chat.Opaque:
		return OpaqueType
	case chat.CacheBreakpoint:
		return BreakpointType
	}
	return TextType
}

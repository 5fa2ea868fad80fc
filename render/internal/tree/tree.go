// Package tree holds a prompt that was laid out, and what is left of it while pieces go.
//
// A [Tree] is written once and read by all who prune it; a [State] is one pruning of it.
package tree

import (
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// Unset is the priority of a node without one: the highest.
const Unset = 1<<53 - 1

// ID is the index of a node in [Tree.Nodes].
type ID int32

const (
	Root ID = 0
	None ID = -1
)

// Kind is the kind of a node.
type Kind uint8

const (
	Container  Kind = iota // an element that holds others
	Message                // a message, which holds its content
	Finished               // finished messages that are required, in one node
	Text                   // a piece of text
	Part                   // an image, document, thinking or opaque value
	Breakpoint             // a cache breakpoint
	Tool                   // the definition of a tool
)

// Flags are properties of a node that layout decides.
type Flags uint16

const (
	Required       Flags = 1 << iota
	Given                // a priority was given
	Offered              // a priority below the highest was given: what stands in the node is offered to pruning
	StartsLine           // a text that starts on a line of its own
	StartsElement        // a text that does so if it is the first of its element and no text stands before the element
	Element              // a text or part that is an element itself
	Chunk                // goes as a whole
	Legacy               // its pieces compete wherever they stand in it
	PassesPriority       // its children compete in its place
	OneText              // holds one text and nothing else
	Trims                // a text that may become shorter: its Extra has a Trim
	Cut                  // a text that was cut to its share
	Lines                // holds texts that start on lines of their own, and line breaks, alone
)

// Node is an element, a text or another part of a message.
//
// Nodes stand in the order of the document: a node before what stands in it. So these hold:
//
//   - Nodes[0] is the root. Every other node n has Parent < n, and stands in it: Parent < n < Nodes[Parent].End.
//   - What stands in n is n+1 up to its End; its first child is n+1 if that is below End, the next one the End of the first.
//   - Text, Part, Breakpoint, Tool and Finished have no children: their End is the next node.
//   - Text has a Count, all others none. Part and Breakpoint have an Extra with a Part, Message one with a Frame, Finished one
//     with a Block, Tool one with a Tool.
type Node struct {
	Text     string // of a text, and of a container with OneText
	Priority int    // Unset if there is none; 0 if there is none and PassesPriority
	Parent   ID
	End      ID
	// Count is the tokens of a text by itself, plus one; 0 before anybody asked. Trees of one layout share it.
	Count *atomic.Int32
	Extra int32 // index in Tree.Extras, 0 for none
	Group int32 // index in Tree.Groups of a KeepWith, 0 for none
	Nth   int32 // its number among siblings of its name, from 1; 0 for the only one
	Name  uint32
	Flags Flags
	Kind  Kind
}

// Is reports whether a node has one of the flags.
func (n *Node) Is(f Flags) bool { return n.Flags&f != 0 }

// Leaf reports whether a node can hold no others.
func (n *Node) Leaf() bool { return n.Kind > Message }

// Extra holds what few nodes have.
type Extra struct {
	Part   chat.Part
	Tool   *chat.Tool
	Tokens int // of Part, or what Tool adds to a list of others

	Trim *Trim // of a text that may become shorter

	Limit int // of a TokenLimit, 0 for none
	Tag   *Tag

	Frame chat.Message // without content and calls
	Calls []elements.ToolCall
	Block *Block

	Locals     elements.Metadata
	References []elements.Reference
}

// Tag is the two ends of a tag with children, and what each counts by itself.
type Tag struct {
	Open, Close             string
	OpenTokens, CloseTokens int
}

// Tokens returns the tokens of both ends by themselves.
func (t *Tag) Tokens() int { return t.OpenTokens + t.CloseTokens }

// InMessage returns the tokens of both ends, with a line break before each.
func (t *Tag) InMessage() int { return t.Tokens() + 2 }

// Slack is by how many tokens what holds a text may get smaller as the text grows: now and then tokens merge across a break.
const Slack = 8

// Trim says how a text may become shorter.
type Trim struct {
	// Texts is the number of texts that it may become, each longer than the one before; the text itself is longer than all. Of the
	// first nothing is left but a mark.
	Texts int
	// Text returns the i-th of them.
	Text func(i int) string
	// Least is the fewest tokens that it may count then, with the mark.
	Least int
}

// Block is finished messages that stay.
type Block struct {
	Messages []chat.Message // that have something to say
	Tokens   int
	Tree     *Tree // of the messages, under its root
}

// Tree is a prompt that was laid out.
type Tree struct {
	Nodes  []Node
	Extras []Extra // Extras[0] is that of nodes without one
	Groups []*elements.Group
	Names  []string

	Limits     []ID // nodes with a limit, in the order in which they are met
	Tools      []ID // in document order
	Globals    elements.Metadata
	References []elements.Reference // in document order

	Grouped     int  // members of groups, and calls that are linked to one
	Breakpoints bool // there are some
	Required    bool // something is
	OuterChunks bool // there is a chunk in a legacy element, or around messages
	Nested      bool // there is a message in a message
	Noted       bool // there is local metadata
	Tagged      bool // there are tags with children
}

// Extra returns what few nodes have, of a node. It must not be written to.
func (t *Tree) Extra(n ID) *Extra { return &t.Extras[t.Nodes[n].Extra] }

// nonBlank returns how much of a node is more than white space, its children left out: a text, another part, each call.
func (t *Tree) nonBlank(n ID) int32 {
	switch node := &t.Nodes[n]; node.Kind {
	case Container:
		return 0
	case Message:
		return int32(len(t.Extra(n).Calls))
	case Finished:
		return int32(len(t.Extra(n).Block.Messages))
	case Text:
		if Blank(node.Text) {
			return 0
		}
	}
	return 1
}

// ToolsOf returns the definitions of tools, nil for none.
func (t *Tree) ToolsOf(ids []ID) (tools []chat.Tool) {
	for _, n := range ids {
		tools = append(tools, *t.Extra(n).Tool)
	}
	return tools
}

// GroupOf returns the group of a KeepWith, nil for anything else.
func (t *Tree) GroupOf(n ID) *elements.Group {
	if g := t.Nodes[n].Group; g != 0 {
		return t.Groups[g]
	}
	return nil
}

// Tokens returns the tokens of a text by itself, and whether they are known.
func (t *Tree) Tokens(n ID) (tokens int, known bool) {
	c := t.Nodes[n].Count.Load()
	return int(c) - 1, c != 0
}

// SetTokens records the tokens of a text by itself, unless they are too many to record.
func (t *Tree) SetTokens(n ID, tokens int) {
	if c := int32(tokens + 1); int(c) == tokens+1 && c > 0 {
		t.Nodes[n].Count.Store(c)
	}
}

// CloseOf returns what stands for the closing end of a tag where its ends are told apart: the tag itself stands for the opening one.
// It is above all nodes.
func (t *Tree) CloseOf(tag ID) ID { return ID(len(t.Nodes)) + tag }

// MessageOf returns the message that a node is or stands in, None if there is none.
func (t *Tree) MessageOf(n ID) ID {
	for n != None && t.Nodes[n].Kind != Message {
		n = t.Nodes[n].Parent
	}
	return n
}

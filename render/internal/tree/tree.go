// Package tree is the first stage of the render engine: the data that all other stages work on.
//
// A [Tree] is a laid-out prompt as an array of nodes. Layout writes it once (write.go), and after [Tree.Finish] it does
// not change. A [State] is one pruning of a tree: it records what was removed, at which step and why, and can be
// rewound. Several states may share a tree. A [View] reads a state as it was after a step.
//
// [Node] lists the invariants of the array. The invariants of a state:
//
//   - A node is present unless it was removed itself; it is attached if it and its ancestors are present.
//   - The log lists removals in order, with steps that never decrease. Rewinding undoes them from the end.
//   - Removing a node does not remove its descendants, groups or empty parents: deciding that is up to package order.
package tree

import (
	"math"
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
	Message                // a message; its descendants are its content
	Finished               // required finished messages, as one node
	Text                   // a piece of text
	Part                   // an image, document, thinking or opaque value
	Breakpoint             // a cache breakpoint
	Tool                   // the definition of a tool
)

// Flags are properties of a node that layout decides.
type Flags uint16

const (
	Required       Flags = 1 << iota
	HasPriority          // a priority was set
	Offered              // a priority below the highest was set: the node and its descendants are offered to pruning
	StartsLine           // a text that starts on a line of its own
	StartsElement        // a text that does so if it is the first of its element and no text precedes the element
	Element              // a text or part that is an element itself
	Chunk                // is removed whole
	Legacy               // all pieces in it compete, at whatever depth
	PassesPriority       // its children compete in its place
	OneText              // holds one text and nothing else
	Trimmable            // a text that may become shorter: its Extra has a Trim
	Cut                  // a text that layout cut to its share: its Extra has a Trim
	OnlyLines            // holds only texts that start on lines of their own, and line breaks
	ShowsHistory         // an element that shows history
	IfEmpty              // an element with two sides, of which one is left out
	WhiteSpace           // a text that is empty or only white space, or a breakpoint that counts as such
)

// Node is an element, a text or another part of a message. It holds what pruning looks at for every piece, and no
// pointer; [Details] and the lists of [Tree] hold the rest.
//
// Nodes are in preorder, the order of the document. The invariants:
//
//   - Nodes[0] is the root. Every other node n has Parent < n < Nodes[Parent].End.
//   - The descendants of n are n+1 up to, but not including, its End. Its first child is n+1 if that is below End; the
//     next sibling of a node is its End.
//   - Text, Part, Breakpoint, Tool and Finished are leaves: their End is the next node.
//   - Part and Breakpoint have an Extra with a Part, Message one with a Frame, Finished one with a Block, Tool one with a
//     Tool.
type Node struct {
	Priority int // if none was set: Unset, or 0 with PassesPriority
	Parent   ID
	End      ID
	Index    int32 // of a text: in Tree.Texts; of any other node: its number among those, below Tree.Others
	Flags    Flags
	Kind     Kind
	Category elements.Category // that was set on the element
}

// Details holds what pruning rarely needs of a node.
type Details struct {
	Name  uint32 // index in Tree.Names, that of "" for a text or part that is not an element itself
	Nth   int32  // number among siblings of the same name, from 1; 0 for the only one
	Extra int32  // index in Tree.Extras, 0 for none
	Group int32  // index in Tree.Groups of a KeepWith, 0 for none
}

// CountedText is a text with its counts.
type CountedText struct {
	Text string
	// tokens by itself and the fewest of them in a prompt, each plus one; 0 until it is known. Fits of one layout share
	// them, so they are read and written atomically.
	tokens, fewest int32
}

// Is reports whether a node has one of the flags.
func (n *Node) Is(f Flags) bool { return n.Flags&f != 0 }

// Leaf reports whether nodes of this kind have no children.
func (n *Node) Leaf() bool { return n.Kind > Message }

// Extra holds the fields that few nodes have.
type Extra struct {
	Part   chat.Part
	Tool   *chat.Tool
	Tokens int // of Part, or what Tool adds to a list of other tools

	Trim Trim // of a text with a break

	Limit int // of a TokenLimit, 0 for none
	Tag   *Tag

	Frame *chat.Message // without content and calls; it does not change
	Calls []elements.ToolCall
	Block *Block // of finished messages, required or not

	Locals     elements.Metadata
	References []elements.Reference

	Marks []any // that an element of the caller's own type added (package marks)

	// Transfer is what package transfer needs of the node, nil unless the tree is to be transferred.
	Transfer any
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

// Slack is the number of tokens by which a count may shrink although a text in it grows, because tokens merge across a
// break.
const Slack = 8

// Trim says how a text may become shorter. Its methods may be called concurrently.
type Trim interface {
	// Texts returns the number of shorter texts, each longer than the one before it. The first is nothing but the mark.
	Texts() int
	// Text returns the i-th of them.
	Text(i int) string
	// Blank reports whether the i-th of them is nothing but the mark and white space.
	Blank(i int) bool
	// Least returns the fewest tokens that a shorter text may have, with the mark.
	Least() int
	// Given returns the text as it was given, before layout cut it to its share.
	Given() string
}

// Block holds finished messages that are required.
type Block struct {
	Messages []chat.Message // without blank ones
	Tokens   int
	Tree     *Tree // the messages are children of its root
}

// Expandable is a node that may grow.
type Expandable struct {
	ID      ID // None once another expandable grew in its place
	Element elements.Node
	Place   any  // its place in the layout, for rendering it again
	Used    int  // tokens that its first rendering took
	Told    int  // budget of its last rendering
	Largest bool // it is a First that shows its first version, so it need not grow

	from, to int // its global metadata, in Tree.Globals
}

// Tree is a prompt that was laid out.
type Tree struct {
	Nodes   []Node
	Details []Details // by node
	Texts   []CountedText
	Extras  []Extra // Extras[0] is that of nodes without one
	Groups  []*elements.Group
	Names   []string

	// In the order of layout. Limits are listed level by level: first those of all siblings in document order, then those
	// in them.
	Limits      []ID
	Expandables []Expandable // in the order in which their layout ended
	Globals     elements.Metadata

	// Finish sets these. Lists are in document order.
	Shareless      []ID // texts that layout cut to nothing
	Tools          []ID
	References     []elements.Reference
	Others         int  // number of nodes that are not texts
	Messages       int  // number of messages, finished ones included
	Grouped        int  // number of group members, and of calls linked to a group
	Breakpoints    bool // there are cache breakpoints
	Required       bool // something is required
	HasHistory     bool // there are elements that show history
	OuterChunks    bool // there is a chunk in a legacy element, or around messages
	NestedMessages bool // there is a message in a message
	HasLocals      bool // there is local metadata
	HasTags        bool // there are tags with children
	Trims          bool // there are texts that may become shorter

	// Until Finish.
	names       map[string]uint32
	orders      map[ID][]ID // children in document order, if they were not written in it or one is left out
	sharesTexts bool        // Texts are those of another tree, whose fits may be counting them
}

// Extra returns the extra of a node, an empty one if it has none. It must not be written to.
func (t *Tree) Extra(n ID) *Extra { return &t.Extras[t.Details[n].Extra] }

// Text returns the text of a text, or of a container with OneText.
func (t *Tree) Text(n ID) string {
	if t.Nodes[n].Is(OneText) {
		n++
	}
	return t.Texts[t.Nodes[n].Index].Text
}

// Name returns the name of an element as in paths; "" for a text or part that is not an element itself.
func (t *Tree) Name(n ID) string { return t.Names[t.Details[n].Name] }

// nonBlank returns how many things in a node that is not a text, its children apart, are more than white space: another
// part, each call.
func (t *Tree) nonBlank(n ID) int32 {
	switch t.Nodes[n].Kind {
	case Container:
		return 0
	case Message:
		return int32(len(t.Extra(n).Calls))
	case Finished:
		return int32(len(t.Extra(n).Block.Messages))
	case Breakpoint:
		if t.Nodes[n].Is(WhiteSpace) {
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
	if g := t.Details[n].Group; g != 0 {
		return t.Groups[g]
	}
	return nil
}

// Tokens returns the tokens of a text by itself, and whether they are known.
func (t *Tree) Tokens(n ID) (tokens int, known bool) { return load(&t.Texts[t.Nodes[n].Index].tokens) }

// SetTokens records the tokens of a text by itself, unless they are too many to record.
func (t *Tree) SetTokens(n ID, tokens int) { store(&t.Texts[t.Nodes[n].Index].tokens, tokens) }

// Fewest returns the fewest tokens of a text in the prompt, and whether they are known.
func (t *Tree) Fewest(n ID) (tokens int, known bool) { return load(&t.Texts[t.Nodes[n].Index].fewest) }

// SetFewest records the fewest tokens of a text in the prompt.
func (t *Tree) SetFewest(n ID, tokens int) { store(&t.Texts[t.Nodes[n].Index].fewest, tokens) }

func load(from *int32) (tokens int, known bool) {
	c := atomic.LoadInt32(from)
	return int(c) - 1, c != 0
}

func store(to *int32, tokens int) {
	if 0 <= tokens && tokens < math.MaxInt32 {
		atomic.StoreInt32(to, int32(tokens)+1)
	}
}

// ClosingEnd returns the ID of a tag's closing end, where the ends of tags have IDs; the opening end has the ID of the
// tag. It is above the IDs of all nodes.
func (t *Tree) ClosingEnd(tag ID) ID { return ID(len(t.Nodes)) + tag }

// MessageOf returns the innermost message that contains a node, or the node itself if it is a message; None if there is
// none.
func (t *Tree) MessageOf(n ID) ID {
	for n != None && t.Nodes[n].Kind != Message {
		n = t.Nodes[n].Parent
	}
	return n
}

package join

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Reader receives the content of a message piece by piece.
type Reader interface {
	// Text receives the text of a node or an end of a tag ([tree.Tree.ClosingEnd]), which is joined to the text before
	// it. ownLine is set if it is to start on a line of its own, newLine if that takes a line break between the two.
	Text(n tree.ID, s string, ownLine, newLine bool)
	// Part receives a part that is not text. A text after it is not joined to the text before it.
	Part(p chat.Part)
}

// Content passes the content of a message to a reader.
func Content(v tree.View, message tree.ID, to Reader) {
	(&joiner{view: v, to: to}).children(message)
}

// joiner walks through a message, and finds where line breaks go.
type joiner struct {
	view tree.View
	to   Reader

	filled     bool // the text that is being joined is not empty
	onNewLine  bool // the text ends in a line break
	afterTag   bool // a tag was just closed: the next text starts on a line of its own
	textBefore bool // text came last, in this element or directly before it, and was not an element itself
}

func (j *joiner) children(n tree.ID) {
	t := j.view.State.Tree
	for c := range j.view.Children(n) {
		node := &t.Nodes[c]
		switch node.Kind {
		case tree.Text:
			j.text(c, j.view.State.Text(c), node.Flags)
			if node.Is(tree.Element) {
				j.textBefore = false
			}
		case tree.Part, tree.Breakpoint:
			j.to.Part(t.Extra(c).Part)
			j.filled, j.onNewLine, j.afterTag = false, false, false
		default:
			j.element(c)
			j.textBefore = false
		}
	}
}

func (j *joiner) element(n tree.ID) {
	tag := j.view.State.Tree.Extra(n).Tag
	switch {
	case tag == nil:
		j.children(n)
	case !j.view.Blank(n):
		j.text(n, tag.Open, tree.StartsLine)
		j.textBefore = false
		j.children(n)
		j.text(j.view.State.Tree.ClosingEnd(n), tag.Close, tree.StartsLine)
		j.afterTag = true
	}
}

func (j *joiner) text(n tree.ID, s string, flags tree.Flags) {
	ownLine := flags&tree.StartsLine != 0 || flags&tree.StartsElement != 0 && !j.textBefore
	if s != "" {
		ownLine = ownLine || j.afterTag && s[0] != '\n'
		j.afterTag = false
	}
	newLine := ownLine && j.filled && !j.onNewLine
	j.to.Text(n, s, ownLine, newLine)
	j.textBefore = true
	if s != "" || newLine {
		j.filled = true
		j.onNewLine = s == "" || s[len(s)-1] == '\n'
	}
}

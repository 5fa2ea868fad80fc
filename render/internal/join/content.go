package join

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Reader is given the content of a message piece by piece.
type Reader interface {
	// Text is given a text of a node or an end of a tag (see [tree.Tree.CloseOf]). It is joined with the text before it. It wants
	// to start on a line of its own if wants; if that takes a line break between the two, newLine.
	Text(n tree.ID, s string, wants, newLine bool)
	// Part is given what is no text. The text after it is another one.
	Part(p chat.Part)
}

// Content reads the content of a message.
func Content(v tree.View, message tree.ID, to Reader) {
	(&joiner{view: v, to: to}).children(message)
}

// joiner goes through a message, and finds where line breaks go.
type joiner struct {
	view tree.View
	to   Reader

	filled     bool // the text that is being joined is not empty
	onNewLine  bool // the text ends in a line break
	afterTag   bool // a tag has been closed: what follows starts on a line of its own
	textBefore bool // text stands directly before, in the same element
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
		j.text(j.view.State.Tree.CloseOf(n), tag.Close, tree.StartsLine)
		j.afterTag = true
	}
}

func (j *joiner) text(n tree.ID, s string, flags tree.Flags) {
	wants := flags&tree.StartsLine != 0 || flags&tree.StartsElement != 0 && !j.textBefore
	if s != "" {
		wants = wants || j.afterTag && s[0] != '\n'
		j.afterTag = false
	}
	newLine := wants && j.filled && !j.onNewLine
	j.to.Text(n, s, wants, newLine)
	j.textBefore = true
	if s != "" || newLine {
		j.filled = true
		j.onNewLine = s == "" || s[len(s)-1] == '\n'
	}
}

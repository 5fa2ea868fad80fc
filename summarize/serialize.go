package summarize

import (
	"math"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// Mentions names what a message refers to beside its text, such as files that the user's editor put with it. It is the
// application's to know.
type Mentions func(chat.Message) []string

// piece is a text on lines of its own, one of those that may be left out.
func piece(text string, priority int, required bool) elements.Node {
	return elements.TextChunk{
		Props:    elements.Props{Priority: new(priority), Required: required},
		Children: elements.Nodes{elements.Text(text)},
	}
}

// staying is a text on lines of its own that always stays.
func staying(text string) elements.Node { return piece(text, 0, true) }

// enclosed puts texts between tags, each of which may be left out by itself, the lowest priority first. The tags go with the
// text that stays longest.
func enclosed(props elements.Props, tag string, texts []ranked) elements.Node {
	if len(texts) == 0 {
		return nil
	}
	longest := 0
	for i, text := range texts {
		if text.priority > texts[longest].priority || text.required && !texts[longest].required {
			longest = i
		}
	}
	group := &elements.Group{Name: tag}
	end := func(text string) elements.Node {
		return elements.KeepWith{Props: elements.Props{Priority: new(math.MaxInt)}, Group: group, Children: elements.Nodes{
			elements.TextChunk{Children: elements.Nodes{elements.Text(text)}},
		}}
	}
	nodes := make(elements.Nodes, 0, len(texts)+2)
	nodes = append(nodes, end("<"+tag+">"))
	for i, text := range texts {
		if i != longest {
			nodes = append(nodes, piece(text.text, text.priority, text.required))
			continue
		}
		nodes = append(nodes, elements.KeepWith{
			Props: elements.Props{Priority: new(text.priority), Required: text.required}, Group: group,
			Children: elements.Nodes{elements.TextChunk{Children: elements.Nodes{elements.Text(text.text)}}},
		})
	}
	return elements.Wrap{Props: props, Children: append(nodes, end("</"+tag+">"))}
}

// ranked is a text that may be left out, the lowest priority first, unless it is required.
type ranked struct {
	text     string
	priority int
	required bool
}

// leftOut says, first in a text, that it is not whole.
const leftOut = "[This is not all: it was more than there is room for, and parts of it were left out.]"

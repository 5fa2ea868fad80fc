package folderagent

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/el"
)

// ContextTag is the tag of [Context].
const ContextTag = "context"

var hints = []string{
	"Start with an overview: list_files with the path \".\" lists the whole folder.",
	"read_file takes a line offset and a limit; read large files in parts.",
	"search takes a regular expression; without a path it looks through the whole folder.",
	"Calls that do not depend on each other can be made in one step.",
}

// Context returns hints for the model, and excerpts of files. They are pruned before anything else, the excerpts before
// the hints.
func Context(tools *Tools) elements.Node {
	return el.User(el.Priority(100), el.Grow(1), el.Tag(ContextTag,
		el.Ranked(el.Priority(20), el.Each(hints, func(h string) el.Node { return el.Text(h) })),
		Excerpts{Props: el.Props(el.Priority(10), el.Grow(1)), Tools: tools},
	))
}

// Excerpts is an element of this program's own: the beginnings of a few files, each pruned on its own, the last first.
type Excerpts struct {
	elements.Props
	Tools *Tools
}

// excerptFiles is the number of files shown, excerptLines the number of lines of each.
const (
	excerptFiles = 4
	excerptLines = 12
)

// Render reads the files.
func (e Excerpts) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	files, err := e.Tools.files(ctx)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f file) bool { return strings.Contains(f.path, "/") || path.Ext(f.path) == "" })
	rank := excerptFiles
	return el.Each(files[:min(rank, len(files))], func(f file) elements.Node {
		text, _, err := e.Tools.lines(f.path, 1, excerptLines)
		if err != nil {
			return nil // deleted or unreadable: skip it
		}
		rank--
		return el.Tag("excerpt", el.Priority(rank), el.Attr("path", f.path), el.Fence("", text))
	}), nil
}

package agent

import (
	"context"
	"path"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/el"
)

// Excerpts is an element of this program's own: the beginnings of a few files, each pruned on its own, the last first.
type Excerpts struct {
	elements.Props
	Tools *Tools
}

// excerptFiles is the number of files shown, excerptLines the number of lines of each.
const (
	excerptFiles = 4
	excerptLines = 40
)

// Render reads the files.
func (e Excerpts) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	files, err := e.Tools.files(ctx)
	if err != nil {
		return nil, err
	}
	var shown []file
	for _, f := range files {
		if !strings.Contains(f.path, "/") && path.Ext(f.path) != "" && len(shown) < excerptFiles {
			shown = append(shown, f)
		}
	}
	rank := excerptFiles
	return el.Each(shown, func(f file) elements.Node {
		text, _, err := e.Tools.lines(f.path, 1, excerptLines)
		if err != nil {
			return nil // deleted or unreadable: skip it
		}
		rank--
		return el.Tag("excerpt", el.Priority(rank), el.Attr("path", f.path), el.Fence("", text))
	}), nil
}

package agent

import (
	"context"
	"path"
	"strings"

	"github.com/promptree-go/promptree/elements"
)

// Excerpts is an element of this program's own: the beginnings of a few files, each pruned by itself, the last first.
type Excerpts struct {
	elements.Props
	Tools *Tools
}

// excerptFiles and excerptLines are how many files are shown, and how much of each.
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
	return elements.Map(shown, func(f file) elements.Node {
		text, _, err := e.Tools.lines(f.path, 1, excerptLines)
		if err != nil {
			return nil // gone or not readable: an excerpt less
		}
		rank--
		return elements.Tag{
			Name: "excerpt", Attributes: []elements.Attribute{{Name: "path", Value: f.path}},
			Props:    elements.Props{Priority: new(rank)},
			Children: elements.Nodes{elements.TextChunk{BreakOn: "\n", Children: elements.Nodes{elements.Text(text)}}},
		}
	}), nil
}

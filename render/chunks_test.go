package render_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
)

// A list of only plain chunks is laid out by a shorter path.
func TestPlainChunksAreTheSameBesideOtherElements(t *testing.T) {
	text := elements.Nodes{elements.Text("other")}
	for name, other := range map[string]elements.Node{
		"plain":          elements.TextChunk{Children: text},
		"a pointer":      &elements.TextChunk{Children: text},
		"two texts":      elements.TextChunk{Children: elements.Nodes{elements.Text("oth"), elements.Text("er")}},
		"with FlexGrow":  elements.TextChunk{Props: elements.Props{FlexGrow: 1}, Children: text},
		"with a break":   elements.TextChunk{BreakOn: "#", Children: text},
		"that passes on": elements.TextChunk{Props: elements.Props{PassPriority: true}, Children: text},
		"in a list":      elements.Nodes{elements.TextChunk{Children: text}},
		"a Wrap":         elements.Wrap{Children: elements.Nodes{elements.TextChunk{Children: text}}},
	} {
		for at := range 3 {
			t.Run(fmt.Sprintf("%s at %d", name, at), func(t *testing.T) {
				list := elements.Nodes{chunk(1, "one"), chunk(2, "two")}
				list = append(list[:at:at], append(elements.Nodes{other}, list[at:]...)...)
				r := renderedWith(t, user(list...), render.Options{Budget: 1000, Tokenizer: summing{runes}})
				lines := []string{"one", "two"}
				lines = append(lines[:at:at], append([]string{"other"}, lines[at:]...)...)
				require.Equal(t, fmt.Sprintf("%s\n%s\n%s", lines[0], lines[1], lines[2]), r.Messages[0].Text())
				pieces := r.Report().Pieces
				require.Len(t, pieces, 3)
				for i, p := range pieces {
					require.Equal(t, len(lines[i]), p.Tokens)
					if i != at {
						require.Equal(t, map[string]int{"one": 1, "two": 2}[lines[i]], *p.Priority)
						require.Contains(t, p.Path, "User > Text#")
					}
				}
			})
		}
	}
}

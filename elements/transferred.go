package elements

import (
	"context"
	"encoding/json"
)

// Transferred is a tree of content rendered elsewhere, by render.Transfer or by prompt-tsx, in another process or
// another language. A tool returns one if its answer should be pruned piece by piece. It belongs in a message, takes no
// part in layout, and is pruned like any other content.
//
// Malformed data is an error that says where it is malformed.
type Transferred struct {
	// Data in the transfer form, {"node": …}.
	Data json.RawMessage
}

// Render returns the tree itself to the renderer.
func (t Transferred) Render(context.Context, Sizing) (Node, error) { return t, nil }

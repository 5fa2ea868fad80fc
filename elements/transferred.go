package elements

import (
	"context"
	"encoding/json"
)

// Transferred is a tree of content that was rendered elsewhere, by render.Transfer or by prompt-tsx, in another process or
// another language: what a tool answers with where it wants its answer to be pruned piece by piece. It stands in a
// message, costs nothing at layout, and is pruned like any other content.
//
// Malformed data is an error that names the place in it.
type Transferred struct {
	// Data in the transfer form, {"node": …}.
	Data json.RawMessage
}

// Render returns the tree itself to the renderer.
func (t Transferred) Render(context.Context, Sizing) (Node, error) { return t, nil }

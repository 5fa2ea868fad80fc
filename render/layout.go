package render

import (
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/layout"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Layout is a tree that was laid out and can be fitted to any budget. It is safe for concurrent use.
type Layout struct {
	tree     *tree.Tree // as it was laid out
	layouter *layout.Layouter
	opts     Options

	mu    sync.Mutex
	trees [tree.HistoryModes]*tree.Tree // by mode, nil until needed
	seams [tree.HistoryModes]count.Seams
}

// inMode returns the tree of a history mode.
func (l *Layout) inMode(mode HistoryMode) *tree.Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trees[mode] == nil {
		l.trees[mode] = l.tree.WithHistory(tree.HistoryMode(mode))
	}
	return l.trees[mode]
}

// Tools returns the tools in the tree, in its order; nil if there are none. Tools that an Expandable adds when it grows
// are not among them.
func (l *Layout) Tools() []chat.Tool { return l.tree.ToolsOf(l.tree.Tools) }

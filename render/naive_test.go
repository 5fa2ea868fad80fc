package render

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/layout"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// This is a second implementation of pruning, written only from the rules on the package's page, as simply as possible:
// a tree is never changed, only copied without some nodes, and everything is looked up and counted again at each step.

// bare is a node with its children, without anything that the rules do not mention. Its ref identifies it among copies.
type bare struct {
	*tree.Node
	ref
	text  string // of a text
	group *elements.Group
	calls []elements.ToolCall
	kids  []*bare
	texts int // number of shorter texts that it may become
}

// ref identifies a node by its tree, which for finished messages is their own.
type ref struct {
	tree *tree.Tree
	in   tree.ID // for finished messages, their node in the whole prompt; else None
	id   tree.ID
}

type naive struct {
	tree     *bare
	layouter *layout.Layouter
	required map[ref]bool // nodes that stay as they are
	calling  map[ref]bool // messages that stay for a call they make
	unranked bool         // pieces that are not offered are required
	held     map[ref]bool // nodes that stay while a breakpoint is held
	strict   bool         // chunks and groups stay whole where prompt-tsx does not keep them so
	left     ref          // the last limit that was removed while it was pruned
}

// prune removes pieces from a container until its count is at most limit, if it can without those before its last
// breakpoint: rule 6.
func (n *naive) prune(at ref, limit int) (stuck bool) {
	before, required, calling := n.tree, n.required, n.calling
	if n.strict && n.hold(at) {
		n.require()
		stuck = n.remove(at, limit)
		if n.held, n.required, n.calling = nil, required, calling; !stuck {
			return false
		}
		n.tree, n.left = before, ref{}
	}
	return n.remove(at, limit)
}

// hold finds what is held of a container, and reports whether there is a breakpoint in it.
func (n *naive) hold(at ref) bool {
	container, _ := find(n.tree, at, false)
	if container == nil {
		return false
	}
	var all []*bare
	container.walk(func(b *bare) { all = append(all, b) })
	end, from, message := 0, 0, ref{} // end of what is held, start of the message, the last message
	for i, b := range all {
		if b.Kind == tree.Message {
			from = i
		}
		if b.Kind == tree.Message && !b.blank() {
			message = b.ref
		}
		if b.Kind == tree.Breakpoint {
			if end = from; slices.ContainsFunc(all[from+1:i], func(b *bare) bool { return b.leaf() && !b.blank() }) {
				end = i + 1
			}
		}
	}
	n.held = map[ref]bool{}
	loses := false
	for i, b := range all {
		size := 0
		b.walk(func(*bare) { size++ })
		if i > 0 && (i+size <= end || b.ref == message || b.Kind == tree.Tool) {
			n.held[b.ref] = true
		}
		if b.Kind == tree.Tool || i < end && b.piece() && b.Kind != tree.Breakpoint {
			loses = loses || !n.required[b.ref]
		}
	}
	if !loses || end <= 1 {
		n.held = nil
	}
	return n.held != nil
}

// remove removes pieces from a container until its count is at most limit. The container itself may be removed first,
// with a group.
func (n *naive) remove(at ref, limit int) (stuck bool) {
	for first := true; ; first = false {
		container, inMessage := find(n.tree, at, false)
		switch {
		case container == nil:
			if !first {
				n.left = at
			}
			return false
		case n.count(container) <= limit:
			return false
		}
		chosen := n.choose(container, inMessage)
		if chosen == nil {
			return true
		}
		before := n.tree
		n.tree = n.without(chosen.ref)
		if after, _ := find(n.tree, at, false); after == nil || n.count(after) <= limit {
			n.trim(before, at, chosen, limit)
		}
	}
}

// trim keeps as much as fits of a text that was chosen, or of the largest that went along, if that is enough.
func (n *naive) trim(before *bare, at ref, chosen *bare, limit int) {
	container, _ := find(before, at, false)
	if !chosen.Is(tree.Trimmable) {
		most := 0
		container.walk(func(b *bare) {
			if !b.Is(tree.Trimmable) {
				return
			}
			if left, _ := find(n.tree, b.ref, false); left == nil && n.layouter.Tokenizer.CountText(b.text) >= most {
				chosen, most = b, n.layouter.Tokenizer.CountText(b.text)
			}
		})
	}
	if !chosen.Is(tree.Trimmable) || n.layouter.Compatible {
		return
	}
	trim := chosen.tree.Extra(chosen.id).Trim
	for i := chosen.texts - 1; i >= 1; i-- {
		text := trim.Text(i)
		kept := before.withText(chosen.ref, text, i)
		if container, _ := find(kept, at, false); n.count(container) <= limit {
			if !trim.Blank(i) && n.layouter.Tokenizer.CountText(text) >= trim.Least() {
				n.tree = kept
			}
			return
		}
	}
}

// trimRequired trims the required texts in a limit to the same number of tokens, as large as fits, and reports whether
// that is possible.
func (n *naive) trimRequired(at ref, limit int) bool {
	container, _ := find(n.tree, at, false)
	for most := limit; most >= 0 && !n.layouter.Compatible; most-- {
		kept, trimmed := n.tree, false
		container.walk(func(b *bare) {
			if !b.Is(tree.Trimmable) || !n.required[b.ref] || n.layouter.Tokenizer.CountText(b.text) <= most {
				return
			}
			trim := b.tree.Extra(b.id).Trim
			i := b.texts - 1
			for i > 1 && n.layouter.Tokenizer.CountText(trim.Text(i)) > most {
				i--
			}
			for i > 0 && i < b.texts && trim.Blank(i) {
				i++
			}
			if i > 0 && i < b.texts { // else it has no break, or nothing before the first
				trimmed = true
				kept = kept.withText(b.ref, trim.Text(i), i)
			}
		})
		if container, _ := find(kept, at, false); trimmed && n.count(container) <= limit {
			n.tree = kept
			return true
		}
	}
	return false
}

// withText returns a copy in which a text is replaced.
func (b *bare) withText(at ref, text string, texts int) *bare {
	c := *b
	if b.ref == at {
		c.text, c.texts = text, texts
	}
	c.kids = nil
	for _, k := range b.kids {
		c.kids = append(c.kids, k.withText(at, text, texts))
	}
	return &c
}

// choose returns the node to remove next, from a node down. inMessage says whether that node is in a message.
func (n *naive) choose(from *bare, inMessage bool) *bare {
	if from.Is(tree.Legacy) { // rule 5
		piece := lowest(n.piecesToTake(from), func(a, b *bare) bool { return a.rank() < b.rank() })
		return n.chunkAround(from, piece)
	}
	rivals := rivals(from)
	if !n.strict && (from.Kind == tree.Message || !inMessage) { // rule 6 of prompt-tsx
		last := 0
		for i, r := range rivals {
			if r.holdsBreakpoint() {
				last = i
			}
		}
		rivals = slices.DeleteFunc(rivals[min(last, len(rivals)):], func(r *bare) bool { return r.Kind == tree.Breakpoint })
	}
	rivals = slices.DeleteFunc(rivals, func(r *bare) bool { return !n.givesAny(r) }) // rule 7
	next := lowest(rivals, func(a, b *bare) bool {                                   // rules 1 and 3
		return a.rank() < b.rank() || a.rank() == b.rank() && a.lowestWithin() < b.lowestWithin()
	})
	if next == nil || next.whole() {
		return next
	}
	chosen := n.choose(next, inMessage || from.Kind == tree.Message)
	if chosen == nil && n.strict && next.blank() && !n.holdsRequired(next) { // it holds only breakpoints
		return next
	}
	return chosen
}

// chunkAround returns the outermost chunk in from that contains b, or b if there is none.
func (n *naive) chunkAround(from, b *bare) *bare {
	if !n.strict || b == nil {
		return b
	}
	for _, k := range from.kids {
		if in, _ := find(k, b.ref, false); in != nil && !k.Is(tree.Chunk) {
			return n.chunkAround(k, b)
		} else if in != nil {
			return k
		}
	}
	return b
}

// lowest returns the first of the smallest nodes in a list.
func lowest(list []*bare, less func(a, b *bare) bool) *bare {
	var found *bare
	for _, b := range list {
		if found == nil || less(b, found) {
			found = b
		}
	}
	return found
}

// rivals returns a node's children, and for a child with PassPriority its own children: rule 4.
func rivals(b *bare) []*bare {
	var list []*bare
	for _, k := range b.kids {
		if k.passes() {
			list = append(list, rivals(k)...)
		} else {
			list = append(list, k)
		}
	}
	return list
}

func (b *bare) passes() bool {
	return b.Kind == tree.Container && b.Is(tree.PassesPriority) && len(b.kids) > 0
}

// holdsMessage reports whether a node is, or still holds, a message or a tool.
func (b *bare) holdsMessage() bool {
	return b.Kind == tree.Message || b.Kind == tree.Tool || slices.ContainsFunc(b.kids, (*bare).holdsMessage)
}

func (b *bare) leaf() bool { return len(b.kids) == 0 && len(b.calls) == 0 }

// piece reports whether a node is a text, another part or a tool.
func (b *bare) piece() bool { return b.Kind != tree.Container && b.Kind != tree.Message }

// whole reports whether the node is removed whole: rule 1.
func (b *bare) whole() bool { return b.piece() || b.Is(tree.Chunk) && !b.passes() || len(b.kids) == 0 }

// rank returns the priority: rule 2.
func (b *bare) rank() int {
	switch {
	case b.Is(tree.HasPriority):
		return b.Priority
	case b.Kind == tree.Container && b.Is(tree.PassesPriority):
		return 0
	}
	return tree.Unset
}

// lowestWithin returns the number that breaks a tie: rule 3.
func (b *bare) lowestWithin() int {
	switch {
	case b.Kind == tree.Text && b.Is(tree.Element): // an element and its only text in one node
		return b.rank()
	case b.piece():
		return -1
	}
	rank := tree.Unset
	for _, k := range b.kids {
		rank = min(rank, k.rank())
	}
	return rank
}

// holdsBreakpoint reports whether a node holds a breakpoint in the sense of rule 6: a message directly, another element
// in a message.
func (b *bare) holdsBreakpoint() bool {
	if b.Kind == tree.Message {
		return slices.ContainsFunc(b.kids, func(k *bare) bool { return k.Kind == tree.Breakpoint })
	}
	return b.Kind == tree.Breakpoint || slices.ContainsFunc(b.kids, (*bare).holdsBreakpoint)
}

// blank reports whether nothing but white space is left: rule 8.
func (b *bare) blank() bool {
	switch {
	case b.Kind == tree.Text:
		return tree.Blank(b.text)
	case b.Kind == tree.Breakpoint:
		return b.Is(tree.WhiteSpace)
	case b.piece(), len(b.calls) > 0:
		return false
	}
	return !slices.ContainsFunc(b.kids, func(k *bare) bool { return !k.blank() })
}

// sends reports whether the node is or holds a message that is sent.
func (b *bare) sends() bool {
	if b.Kind == tree.Message {
		return b.in != tree.None || !b.blank() // finished messages are sent as they are
	}
	return slices.ContainsFunc(b.kids, (*bare).sends)
}

// without returns the tree without a node, and without everything removed along with it: rules 8 to 10.
func (n *naive) without(chosen ref) *bare {
	gone := map[ref]bool{chosen: true}
	groups := map[*elements.Group]bool{}
	for again := true; again; {
		again = false
		leave := func(b *bare) {
			if !gone[b.ref] {
				gone[b.ref], again = true, true
			}
		}
		n.tree.walk(func(b *bare) {
			if gone[b.ref] {
				b.walk(func(b *bare) {
					if b.group != nil && !groups[b.group] {
						groups[b.group], again = true, true
					}
					for _, call := range b.calls {
						if n.strict && call.KeepWith != nil && !groups[call.KeepWith] {
							groups[call.KeepWith], again = true, true
						}
					}
				})
				_, inMessage := find(n.tree, b.ref, false)
				if chunk := n.chunkAround(n.tree, b); !inMessage && b.holdsMessage() && !n.holdsRequired(chunk) { // rule 10
					leave(chunk)
				}
			}
		})
		n.tree.walk(func(b *bare) {
			if b.group != nil && groups[b.group] {
				leave(b)
			}
		})
		n.tree.walk(func(b *bare) {
			now := b.copyWithout(gone, groups)
			lost := len(now.kids) < len(b.kids) || len(now.calls) < len(b.calls)
			if b != n.tree && lost && now.blank() && !n.holdsRequired(b) {
				leave(b)
			}
		})
	}
	return n.tree.copyWithout(gone, groups)
}

func (b *bare) copyWithout(gone map[ref]bool, groups map[*elements.Group]bool) *bare {
	c := &bare{Node: b.Node, ref: b.ref, text: b.text, group: b.group, texts: b.texts}
	for _, call := range b.calls {
		if call.KeepWith == nil || !groups[call.KeepWith] {
			c.calls = append(c.calls, call)
		}
	}
	for _, k := range b.kids {
		if !gone[k.ref] {
			c.kids = append(c.kids, k.copyWithout(gone, groups))
		}
	}
	return c
}

// require finds out what is required, from the text on the package's page.
func (n *naive) require() {
	n.required, n.calling = map[ref]bool{}, map[ref]bool{}
	whole := map[*elements.Group]bool{}
	for before := -1; before < len(n.required)+len(n.calling)+len(whole); {
		before = len(n.required) + len(n.calling) + len(whole)
		n.tree.walk(func(b *bare) {
			chunk := b.Is(tree.Chunk) && !b.Is(tree.PassesPriority) && n.holdsRequired(b)
			unranked := n.unranked && !b.offered()
			if unranked && len(b.calls) > 0 {
				n.calling[b.ref] = true
			}
			if b.Is(tree.Required) || n.held[b.ref] || unranked && b.piece() && b.Kind != tree.Breakpoint || chunk || b.group != nil && whole[b.group] {
				b.walk(func(b *bare) { n.required[b.ref] = true })
			}
			if b.group != nil && n.holdsRequired(b) {
				whole[b.group] = true
			}
			for _, call := range b.calls {
				switch {
				case call.KeepWith == nil:
				case n.required[b.ref], unranked:
					whole[call.KeepWith] = true
				case whole[call.KeepWith]:
					n.calling[b.ref] = true
				}
			}
		})
	}
}

// offered reports whether a priority is set on the node or on an element around it.
func (b *bare) offered() bool {
	for t, n := b.tree, b.id; ; n = t.Nodes[n].Parent {
		if n <= tree.Root && b.in != tree.None && t == b.tree { // of finished messages
			return false
		}
		if n == tree.None {
			return false
		}
		if t.Nodes[n].Is(tree.HasPriority) && t.Nodes[n].Priority < tree.Unset {
			return true
		}
	}
}

// holdsRequired reports whether a node, or something in it, is required.
func (n *naive) holdsRequired(b *bare) bool {
	return n.required[b.ref] || n.calling[b.ref] || slices.ContainsFunc(b.kids, n.holdsRequired)
}

// givesAny reports whether something in the node may be removed: rule 7.
func (n *naive) givesAny(b *bare) bool {
	if b.Kind == tree.Breakpoint || n.holdsRequired(b) && b.whole() {
		return false
	}
	return !n.holdsRequired(b) || slices.ContainsFunc(b.kids, n.givesAny)
}

func (n *naive) piecesToTake(b *bare) []*bare {
	var list []*bare
	b.walk(func(b *bare) {
		if b.piece() && !n.required[b.ref] && !(n.strict && b.Kind == tree.Breakpoint) {
			list = append(list, b)
		}
	})
	return list
}

func (b *bare) walk(f func(*bare)) {
	f(b)
	for _, k := range b.kids {
		k.walk(f)
	}
}

// find returns the node with a ref, nil if it was removed, and whether it is in a message.
func find(b *bare, at ref, inMessage bool) (*bare, bool) {
	if b.ref == at {
		return b, inMessage
	}
	for _, k := range b.kids {
		if found, in := find(k, at, inMessage || b.Kind == tree.Message); found != nil {
			return found, in
		}
	}
	return nil, false
}

// count returns the tokens of a fresh tree, and of the list of its tools.
func (n *naive) count(b *bare) int { return b.count(n.layouter.Tokenizer) }

func (b *bare) count(t chat.Tokenizer) int {
	return count.New(b.fresh(), struct{ chat.Tokenizer }{t}).Count(tree.Root) + t.CountTools(b.tools())
}

// tools returns the tools that are left.
func (b *bare) tools() (tools []chat.Tool) {
	b.walk(func(b *bare) {
		if b.Kind == tree.Tool {
			tools = append(tools, *b.tree.Extra(b.id).Tool)
		}
	})
	return tools
}

// fresh returns a tree of only the nodes that are left.
func (b *bare) fresh() *tree.State {
	t := tree.New()
	var build func(b *bare, parent tree.ID)
	build = func(b *bare, parent tree.ID) {
		n, id := *b.Node, tree.None
		switch n.Kind {
		case tree.Text:
			id = t.AddText(parent, n, b.text)
		case tree.Finished:
			n.Kind = tree.Container
			id = t.Add(parent, n)
		default:
			id = t.Add(parent, n)
		}
		extra := t.EnsureExtra(id)
		*extra = *b.tree.Extra(b.id)
		extra.Calls = b.calls
		for _, k := range b.kids {
			build(k, id)
		}
		t.Close(id)
	}
	build(b, tree.None)
	t = t.Finish()
	t.Tools = nil // counted apart
	return tree.NewState(t)
}

func (b *bare) path() string {
	if b.in != tree.None {
		return "finished > " + b.tree.Path(b.id)
	}
	return b.tree.Path(b.id)
}

// bareOf returns the rest of a node, with finished messages taken apart.
func bareOf(s *tree.State, n tree.ID) *bare {
	b := bareIn(s.Tree, n, tree.None)
	if t := s.Trimmed(n); t != nil {
		b = b.withText(b.ref, t.Text, t.Index)
	}
	b.calls = s.At(tree.Latest).Calls(n)
	if b.Kind == tree.Finished {
		within := s.Tree.Extra(n).Block.Tree
		for m := tree.Root + 1; m < within.Nodes[tree.Root].End; m = within.Nodes[m].End {
			b.kids = append(b.kids, bareWhole(within, m, n))
		}
		return b
	}
	for c := range s.At(tree.Latest).Children(n) {
		b.kids = append(b.kids, bareOf(s, c))
	}
	return b
}

func bareIn(t *tree.Tree, n, in tree.ID) *bare {
	b := &bare{Node: &t.Nodes[n], ref: ref{t, in, n}, group: t.GroupOf(n), calls: t.Extra(n).Calls}
	if b.Kind == tree.Text {
		b.text = t.Text(n)
	}
	if b.Is(tree.Trimmable) {
		b.texts = t.Extra(n).Trim.Texts()
	}
	return b
}

func bareWhole(t *tree.Tree, n, in tree.ID) *bare {
	b := bareIn(t, n, in)
	for c := n + 1; c < t.Nodes[n].End; c = t.Nodes[c].End {
		b.kids = append(b.kids, bareWhole(t, c, in))
	}
	return b
}

// CompareNaive prunes a prompt without expandables with both implementations, and returns their difference, or "".
func CompareNaive(ctx context.Context, layout *Layout, budget int) string {
	f := layout.fitting(budget)
	n := naive{tree: bareOf(f.state, tree.Root), layouter: layout.layouter, strict: !layout.layouter.Compatible}
	n.require()
	stuck, sent := "", n.tree.sends()
	gone := map[string]bool{}
	for _, l := range slices.Backward(f.limits) {
		at := ref{f.state.Tree, tree.None, l.id}
		if stuck == "" && l.max <= budget && n.prune(at, l.max) && !n.trimRequired(at, l.max) {
			stuck = f.state.Tree.Path(l.id)
		}
		if n.left == at {
			gone[f.state.Tree.Path(l.id)] = true
		}
	}
	if n.unranked = layout.opts.KeepUnranked; n.unranked {
		n.require()
	}
	if stuck == "" && n.prune(ref{f.state.Tree, tree.None, tree.Root}, budget) {
		stuck = "the whole prompt"
	}

	const empty = "a prompt without a message"
	if stuck == "" && n.strict && sent && !n.tree.sends() {
		stuck = empty
	}

	fast := ""
	switch _, err := f.fit(ctx); err := err.(type) {
	case nil:
	case *EmptyPromptError:
		fast = empty
	case *BudgetExceededError:
		fast = cmp.Or(err.Limit, "the whole prompt")
	default:
		return err.Error()
	}
	if gone[fast] {
		return "" // prune goes on in a removed limit, as prompt-tsx does, and may find nothing there
	}
	if fast != stuck {
		return fmt.Sprintf("naive ends with %q, prune with %q", stuck, fast)
	}
	pruned := pieces(bareOf(f.state, tree.Root))
	if naive := pieces(n.tree); !slices.Equal(naive, pruned) {
		return fmt.Sprintf("naive leaves %s\nprune leaves %s", names(naive), names(pruned))
	}
	return n.account(f)
}

// account compares the report with the texts of the tree as it was given and as it was left: their tokens, each counted
// by itself, are those that were kept, trimmed away and dropped. It returns a difference, or "".
func (n *naive) account(f *fitting) string {
	count := n.layouter.Tokenizer.CountText
	left, given := 0, 0
	n.tree.walk(func(b *bare) {
		if b.Kind == tree.Text {
			left += count(b.text)
		}
	})
	var add func(t *tree.Tree)
	add = func(t *tree.Tree) {
		for i := range t.Nodes {
			switch extra := t.Extra(tree.ID(i)); {
			case t.Nodes[i].Kind == tree.Finished:
				add(extra.Block.Tree)
			case t.Nodes[i].Kind == tree.Text && extra.Trim != nil:
				given += count(extra.Trim.Given())
			case t.Nodes[i].Kind == tree.Text:
				given += count(t.Text(tree.ID(i)))
			}
		}
	}
	add(f.state.Tree)
	var sum OutlineTokens
	for _, p := range f.tell(tree.Root, true).report.Pieces {
		if p.Kind == pieceText {
			sum.add(p.tokens())
		}
	}
	if sum.Kept != left || sum.Kept+sum.Trimmed+sum.Dropped != given {
		return fmt.Sprintf("%d of %d tokens are left, and the report says %+v", left, given, sum)
	}
	return ""
}

// pieces returns the pieces that are left, and the calls, by the path of their message.
func pieces(b *bare) []any {
	var list []any
	b.walk(func(b *bare) {
		if b.piece() {
			list = append(list, left{b.ref, b.text})
		}
		for _, c := range b.calls {
			list = append(list, b.path()+" "+c.ID)
		}
	})
	return list
}

// left is a piece that is left, and its text.
type left struct {
	ref
	text string
}

func names(pieces []any) []string {
	list := make([]string, len(pieces))
	for i, p := range pieces {
		if b, ok := p.(left); ok {
			p = fmt.Sprintf("%s %q", b.tree.Path(b.id), b.text)
		}
		list[i] = fmt.Sprint(p)
	}
	return list
}

// CheckTree fits a layout and checks what a Result does not show: that limits are kept, and that the tokens are those
// of the messages, blank ones included. It skips limits around an expandable, which may grow beyond them with the whole
// prompt, and limits in one. It returns the last error, or "".
func CheckTree(ctx context.Context, layout *Layout, budget int) string {
	f := layout.fitting(budget)
	if _, err := f.fit(ctx); err != nil {
		return ""
	}
	tokenizer := layout.layouter.Tokenizer
	left := bareOf(f.state, tree.Root)
	sent, wrong := tokenizer.CountTools(left.tools()), ""
	left.walk(func(b *bare) {
		if b.Kind == tree.Message {
			sent += tokenizer.CountMessage(join.Message(b.fresh().At(tree.Latest), tree.Root))
		}
		grows := slices.ContainsFunc(f.growth.all, func(e tree.Expandable) bool {
			return b.in == tree.None && e.ID != tree.None && (isInside(f.state.Tree, e.ID, b.id) || isInside(f.state.Tree, b.id, e.ID))
		})
		if most := b.tree.Extra(b.id).Limit; most > 0 && most <= budget && !grows {
			if tokens := b.count(tokenizer); tokens > most {
				wrong = fmt.Sprintf("%s has %d tokens", b.path(), tokens)
			}
		}
	})
	if got := f.count.Count(tree.Root); got != sent {
		wrong = fmt.Sprintf("%d tokens are counted, %d sent", got, sent)
	}
	return wrong
}

// fitting returns a new fitting with a budget and the layout's other options.
func (l *Layout) fitting(budget int) *fitting {
	return newFitting(l, &guard.Watch{}, FitOptions{Budget: budget, KeepUnranked: l.opts.KeepUnranked, History: l.opts.History})
}

package render

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// kind says what a piece of a laid-out tree is.
type kind uint8

const (
	container kind = iota // an element that holds others
	message
	text
	part       // image, document, thinking or opaque value
	breakpoint // cache breakpoint
)

// lineBreak says whether a text starts on a line of its own.
type lineBreak uint8

const (
	breakNever  lineBreak = iota
	breakAlways           // text chunks
	breakFirst            // the first text of an element, unless other text stands beside the element
)

// laid is an element, text or part after layout. Layout is done with it once it stands: pruning works on nodes made
// from it.
type laid struct {
	kind     kind
	path     string        // of the element; of the element around it, for text and parts
	name     string        // of the element, "" for text and parts that are none
	node     elements.Node // the element itself, nil for text and parts that are none
	props    elements.Props
	priority *int
	required bool
	children []*laid
	order    []*laid // the children that are elements, in the order in which they were laid out

	// Containers.
	chunk, legacy, pass, ifEmpty bool
	group                        *elements.Group
	limit                        int    // of a TokenLimit, else 0
	tagOpen, tagClose            string // of a Tag with children
	tagTokens                    int
	expand                       *elements.Expandable
	used                         int // tokens that an Expandable's first rendering used

	// Messages: everything but the content, and the tokens of each call.
	frame      chat.Message
	calls      []elements.ToolCall
	callTokens []int

	// Text and parts.
	text   string
	part   chat.Part
	breaks lineBreak
	tokens int

	// What goes along.
	globals, locals elements.Metadata
	references      []elements.Reference
}

// room is a budget that is being used up.
type room struct{ budget, used int }

// left is what later elements may be offered.
func (r *room) left() int { return max(0, r.budget-r.used) }

// consumed is what the parent is charged: never more than was offered.
func (r *room) consumed() int { return min(r.used, r.budget) }

// layouter renders elements from the root down.
type layouter struct {
	tokenizer sizing.Tokenizer
	window    int // budget of the whole prompt
	lenient   bool
}

// place is where in the tree an element stands.
type place struct {
	path      string
	depth     int
	root      bool
	transfer  bool // the tree is to be transferred
	inMessage bool
	escape    bool // inside a Tag
}

// item is a node in a flattened list, with a priority from outside where it was given one.
type item struct {
	node     elements.Node
	priority *int
}

// flatten appends the members of lists within lists, in order, without the nil ones.
func flatten(into []item, n elements.Node) []item {
	switch n := n.(type) {
	case nil:
	case *elements.Nodes:
		if n != nil {
			into = flatten(into, *n)
		}
	case *elements.WithPriority:
		if n != nil {
			into = flatten(into, *n)
		}
	case elements.Nodes:
		for _, member := range n {
			into = flatten(into, member)
		}
	case elements.WithPriority:
		from := len(into)
		into = flatten(into, n.Node)
		if _, list := n.Node.(elements.Nodes); !list {
			for i := range into[from:] {
				into[from+i].priority = &n.Priority
			}
		}
	default:
		into = append(into, item{node: plainBuiltin(n)})
	}
	return into
}

// plainBuiltin gives the value of a pointer to one of package elements' types: they are nodes too, and a tree with &Tag{…}
// in it means the same as one with Tag{…}.
func plainBuiltin(n elements.Node) elements.Node {
	v := reflect.ValueOf(n)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Type().PkgPath() != elementsPath {
		return n
	}
	if plain, ok := v.Elem().Interface().(elements.Node); ok {
		return plain
	}
	return n
}

// elementsPath is where the built-in elements are.
var elementsPath = reflect.TypeFor[elements.Props]().PkgPath()

// props gives the properties of an item.
func (it item) props() (props elements.Props, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its properties panic: %v", p)
		}
	}()
	if e, ok := it.node.(elements.Element); ok {
		props = e.ElementProps()
	}
	if it.priority != nil {
		props.Priority = it.priority
	}
	return props, nil
}

// builtin tells whether a node's Render is ours, and so costs no goroutine.
func builtin(n elements.Node) bool {
	switch n.(type) {
	case elements.SystemMessage, elements.UserMessage, elements.AssistantMessage, elements.ToolMessage,
		elements.TextChunk, elements.Tag, elements.Wrap, elements.Chunk, elements.TokenLimit, elements.PrioritizedList,
		elements.KeepWith, elements.IfEmpty, elements.LegacyPrioritization, elements.Image, elements.Document,
		elements.Thinking:
		return true
	}
	return false
}

// name is the element's name in paths: that of its type.
func name(n elements.Node) string {
	t := reflect.TypeOf(n)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return "(anonymous)"
	}
	if base, _, generic := strings.Cut(t.Name(), "["); generic {
		return base
	}
	return t.Name()
}

// maxDepth is how deep elements may stand in each other.
const maxDepth = 500

// element lays out one element within a budget and tells how much of it the element consumed.
func (l *layouter) element(ctx context.Context, n elements.Node, props elements.Props, at place, budget int) (*laid, int, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, context.Cause(ctx)
	}
	if at.depth > maxDepth {
		return nil, 0, &ElementError{Path: at.path[:maxDepth] + "…", Err: ErrEndless}
	}
	if err := checkProps(props); err != nil {
		return nil, 0, &ElementError{Path: at.path, Err: err}
	}
	if list, ok := n.(elements.PrioritizedList); ok {
		list.Priority = props.Priority // where it was given one from outside, its children's follow from that
		n = list
	}
	e := &laid{
		path: at.path, name: name(n), node: n, props: props,
		priority: props.Priority, pass: props.PassPriority, required: props.Required,
	}
	r := &room{budget: budget}
	switch n := n.(type) {
	case elements.TextChunk:
		err := l.textChunk(e, n, at, r)
		return e, r.consumed(), err
	case elements.Image:
		return l.partElement(e, n.Part(), at)
	case elements.Document:
		return l.partElement(e, n.Part(), at)
	case elements.Thinking:
		return l.partElement(e, n.Part(), at)
	case elements.Tag:
		if !at.inMessage {
			return nil, 0, &ElementError{Path: at.path, Err: ErrOutsideMessage}
		}
		if err := l.tag(e, n, r); err != nil {
			return nil, 0, &ElementError{Path: at.path, Err: err}
		}
		at.escape = true
	case elements.Chunk:
		e.chunk = true
	case elements.LegacyPrioritization:
		e.legacy = true
	case elements.IfEmpty:
		e.ifEmpty = true
	case elements.KeepWith:
		e.group = n.Group
	case elements.TokenLimit:
		if n.Max < 1 {
			return nil, 0, &ElementError{Path: at.path, Err: fmt.Errorf("a limit of %d tokens: it is 1 or more", n.Max)}
		}
		e.limit = n.Max
	case elements.Expandable:
		e.expand = &n
	default:
		if m, ok := messageOf(n); ok {
			if err := l.checkMessage(m, at); err != nil {
				return nil, 0, &ElementError{Path: at.path, Err: err}
			}
			l.message(e, m, r)
			at.inMessage = true
		}
	}
	template, err := l.call(ctx, n, at.path, budget)
	if err != nil {
		return nil, 0, err
	}
	if err := l.contents(ctx, e, template, at, r); err != nil {
		return nil, 0, err
	}
	if e.ifEmpty {
		for _, side := range e.children {
			side.name = sideName
		}
	}
	e.used = r.consumed()
	return e, e.used, nil
}

// sideName is what prompt-tsx calls each of the two sides of an IfEmpty.
const sideName = "LogicalWrapper"

// call renders a node, its panic turned into an error.
func (l *layouter) call(ctx context.Context, n elements.Node, path string, budget int) (template elements.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &ElementError{Path: path, Err: fmt.Errorf("panic: %v", p), Stack: debug.Stack()}
		}
	}()
	template, err = n.Render(ctx, sizing.Sizing{TokenBudget: budget, Window: l.window, Tokenizer: l.tokenizer})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		return nil, &ElementError{Path: path, Err: err}
	}
	return template, nil
}

// contents lays out what an element rendered: literals first, which are charged as they are, then the elements among
// them, group by group.
func (l *layouter) contents(ctx context.Context, e *laid, template elements.Node, at place, r *room) error {
	items := flatten(nil, template)
	var todo []task
	for _, it := range items {
		if v := reflect.ValueOf(it.node); v.Kind() == reflect.Pointer && v.IsNil() {
			return &ElementError{Path: at.path, Err: fmt.Errorf("%w: %T", ErrNilElement, it.node)}
		}
		handled, err := l.leaf(e, it, at, r)
		if err != nil {
			return err
		}
		if handled {
			continue
		}
		props, err := it.props()
		if err != nil {
			return &ElementError{Path: at.path + " > " + name(it.node), Err: err}
		}
		todo = append(todo, task{node: it.node, props: props, slot: len(e.children)})
		e.children = append(e.children, nil)
	}
	if len(todo) == 0 {
		return nil
	}
	namePaths(todo, at.path)
	return l.groups(ctx, e, todo, at, r)
}

// leaf lays out an item that is not an element with children, if it is one.
func (l *layouter) leaf(e *laid, it item, at place, r *room) (handled bool, err error) {
	priority := e.priority
	if it.priority != nil {
		priority = it.priority
	}
	add := func(c *laid) error {
		if !at.inMessage {
			return &ElementError{Path: at.path, Err: ErrOutsideMessage}
		}
		c.path = at.path
		if c.breaks == breakNever && c.kind == text && len(e.children) == 0 {
			c.breaks = breakFirst
		}
		e.children = append(e.children, c)
		return nil
	}
	switch n := it.node.(type) {
	case elements.Text:
		s := string(n)
		if at.escape {
			s = escapeText(s)
		}
		tokens := l.tokenizer.CountText(s)
		r.used += tokens
		return true, add(&laid{kind: text, text: s, priority: e.priority, tokens: tokens})
	case elements.LineBreak:
		return true, add(&laid{kind: text, text: "\n", priority: priority, tokens: l.tokenizer.CountText("\n")})
	case elements.Opaque:
		if n.Priority != nil && it.priority == nil {
			priority = n.Priority
		}
		return true, add(&laid{kind: part, part: n.Part(), priority: priority, tokens: n.Tokens})
	case elements.CacheBreakpoint:
		if e.kind != message {
			return true, &ElementError{Path: at.path, Err: ErrBreakpointPlace}
		}
		return true, add(&laid{kind: breakpoint, part: n.Part()})
	case elements.Transferred:
		child, err := l.transferred(n, at)
		if err != nil {
			return true, &ElementError{Path: at.path, Err: err}
		}
		e.children = append(e.children, child)
		return true, nil
	case elements.Reference:
		e.references = append(e.references, n)
		return true, nil
	case interface{ Entry() elements.MetaEntry }:
		e.note(n.Entry(), at)
		return true, nil
	}
	return false, nil
}

// note keeps a metadata value. Local to the root is as good as global.
func (e *laid) note(entry elements.MetaEntry, at place) {
	if entry.Local && !at.root {
		e.locals = append(e.locals, entry)
	} else {
		e.globals = append(e.globals, entry)
	}
}

// partElement lays out an element that is one part of a message. It costs nothing at layout.
func (l *layouter) partElement(e *laid, p chat.Part, at place) (*laid, int, error) {
	if !at.inMessage {
		return nil, 0, &ElementError{Path: at.path, Err: ErrOutsideMessage}
	}
	e.kind, e.part, e.tokens = part, p, l.tokenizer.CountPart(p)
	return e, 0, nil
}

// messageOf gives what a message element says besides its content.
func messageOf(n elements.Node) (frame laid, ok bool) {
	switch n := n.(type) {
	case elements.SystemMessage:
		frame.frame = chat.Message{Role: chat.RoleSystem, Name: n.Name}
	case elements.UserMessage:
		frame.frame = chat.Message{Role: chat.RoleUser, Name: n.Name}
	case elements.AssistantMessage:
		frame.frame = chat.Message{Role: chat.RoleAssistant, Name: n.Name}
		frame.calls = n.ToolCalls
	case elements.ToolMessage:
		frame.frame = chat.Message{Role: chat.RoleTool, ToolCallID: n.ToolCallID, IsError: n.IsError}
	default:
		return laid{}, false
	}
	return frame, true
}

// checkMessage refuses what providers and readers would stumble over.
func (l *layouter) checkMessage(m laid, at place) error {
	if at.transfer && (!l.lenient || m.frame.Role != chat.RoleTool) {
		return ErrTransferMessage
	}
	if l.lenient {
		return nil
	}
	if at.inMessage {
		return ErrNestedMessage
	}
	seen := make(map[string]bool, len(m.calls))
	for _, c := range m.calls {
		if seen[c.ID] {
			return fmt.Errorf("%w: %q", ErrDuplicateCall, c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// message makes e a message and charges what it costs without content. A tool message is charged nothing, as in
// prompt-tsx.
func (l *layouter) message(e *laid, m laid, r *room) {
	e.kind, e.frame, e.calls = message, m.frame, m.calls
	for _, c := range e.calls {
		e.callTokens = append(e.callTokens, l.tokenizer.CountText(c.Name)+l.tokenizer.CountText(c.Arguments))
	}
	if e.frame.Role != chat.RoleTool {
		frame := e.frame
		frame.ToolCalls = plainCalls(e.calls)
		r.used += l.tokenizer.CountMessage(frame)
	}
}

func plainCalls(calls []elements.ToolCall) []chat.ToolCall {
	if len(calls) == 0 {
		return nil
	}
	plain := make([]chat.ToolCall, len(calls))
	for i, c := range calls {
		plain[i] = c.ToolCall
	}
	return plain
}

// task is an element still to be laid out.
type task struct {
	node  elements.Node
	props elements.Props
	path  string
	slot  int // its index among the parent's children
}

// namePaths gives each sibling its path; those of one name are numbered from 1.
func namePaths(todo []task, parent string) {
	total := make(map[string]int, len(todo))
	for _, t := range todo {
		total[name(t.node)]++
	}
	seen := make(map[string]int, len(total))
	for i := range todo {
		n := name(todo[i].node)
		todo[i].path = parent + " > " + n
		if total[n] > 1 {
			seen[n]++
			todo[i].path += fmt.Sprintf("#%d", seen[n])
		}
	}
}

// groups lays out siblings, flex group by flex group.
func (l *layouter) groups(ctx context.Context, e *laid, todo []task, at place, r *room) error {
	for _, g := range flexGroups(todo) {
		shares := g.shares(r)
		results, err := l.group(ctx, g.tasks, shares, at)
		if err != nil {
			return err
		}
		for i, t := range g.tasks {
			e.children[t.slot] = results[i].laid
			e.order = append(e.order, results[i].laid)
			r.used += results[i].consumed
		}
	}
	return nil
}

type laidOut struct {
	laid     *laid
	consumed int
	err      error
}

// group lays out the elements of one flex group: elements of the caller's own types side by side where there are
// several, everything else in order. What comes back is as if one had run after the other: the error is that of the
// first element that failed, and those after it are cancelled.
func (l *layouter) group(ctx context.Context, tasks []task, shares []int, at place) ([]laidOut, error) {
	results := make([]laidOut, len(tasks))
	own := 0
	for _, t := range tasks {
		if !builtin(t.node) {
			own++
		}
	}
	run := func(ctx context.Context, i int) {
		to := at
		to.path, to.root = tasks[i].path, false
		to.depth++
		results[i].laid, results[i].consumed, results[i].err = l.element(ctx, tasks[i].node, tasks[i].props, to, shares[i])
	}
	if own < 2 {
		for i := range tasks {
			if run(ctx, i); results[i].err != nil {
				return nil, results[i].err
			}
		}
		return results, nil
	}
	contexts := make([]context.Context, len(tasks))
	cancels := make([]context.CancelFunc, len(tasks))
	for i := range tasks {
		contexts[i], cancels[i] = context.WithCancel(ctx)
		defer cancels[i]()
	}
	failed := func(i int) {
		for _, cancel := range cancels[i+1:] {
			cancel()
		}
	}
	var running sync.WaitGroup
	for i, t := range tasks {
		if !builtin(t.node) {
			running.Go(func() {
				if run(contexts[i], i); results[i].err != nil {
					failed(i)
				}
			})
		}
	}
	for i, t := range tasks {
		if builtin(t.node) {
			if run(contexts[i], i); results[i].err != nil {
				failed(i)
				break
			}
		}
	}
	running.Wait()
	for i, r := range results {
		switch {
		case r.err != nil:
			return nil, r.err
		case r.laid == nil: // its goroutine ended in the middle
			return nil, &ElementError{Path: tasks[i].path, Err: errors.New("Render did not return")}
		}
	}
	return results, nil
}

// checkProps refuses properties that mean nothing.
func checkProps(p elements.Props) error {
	switch {
	case p.FlexGrow < 0:
		return fmt.Errorf("a FlexGrow of %d: it is 0 or more", p.FlexGrow)
	case !(p.FlexBasis >= 0): // also NaN
		return fmt.Errorf("a FlexBasis of %v: it is 0 or more", p.FlexBasis)
	case p.FlexReserve.Tokens < 0 || p.FlexReserve.Fraction < 0:
		return fmt.Errorf("a FlexReserve of %+v: it is 0 or more", p.FlexReserve)
	}
	return nil
}

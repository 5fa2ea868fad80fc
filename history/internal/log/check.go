package log

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/history/storage"
)

// branchEnd is where an entry is about to be added.
type branchEnd struct {
	r     *Reader
	path  Path // to the entry before
	end   storage.Position
	calls *calls // of the path, or of a part of it
}

// checkMessage returns an error if a message cannot follow the entry before.
func (b *branchEnd) checkMessage(ctx context.Context, m chat.Message) error {
	switch m.Role {
	case chat.RoleUser, chat.RoleAssistant:
	case chat.RoleTool:
		open, err := b.calls.isOpen(ctx, b.r, b.path, m.ToolCallID)
		if err != nil {
			return err
		}
		if !open {
			return &entry.PairingError{CallID: m.ToolCallID, Reason: "answers no open tool call"}
		}
	case chat.RoleSystem:
		return errors.New("a system message: the prompt renders it, a session does not keep it")
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	if len(m.ToolCalls) > 0 && m.Role != chat.RoleAssistant {
		return &entry.PairingError{CallID: m.ToolCalls[0].ID, Reason: fmt.Sprintf("is made by a %s message", m.Role)}
	}
	seen := map[string]bool{}
	for _, c := range m.ToolCalls {
		if c.ID == "" {
			return &entry.PairingError{Reason: "can have no answer: give each call an id where the answer is taken in, with chat.WithCallIDs"}
		}
		if seen[c.ID] {
			return &entry.PairingError{CallID: c.ID, Reason: "occurs twice in one message"}
		}
		seen[c.ID] = true
	}
	return checkText(m)
}

// checkText returns an error for text in a message that JSON cannot hold. Text parts and opaque parts may hold any
// bytes.
func checkText(m chat.Message) error {
	for _, c := range m.ToolCalls {
		if !valid(c.ID, c.Name, c.Arguments, c.Signature) {
			return fmt.Errorf("tool call %q is not valid UTF-8", c.ID)
		}
	}
	if !valid(m.Name, m.ToolCallID, m.Origin.Provider, m.Origin.Server, m.Origin.Model) {
		return errors.New("its name, tool call id or origin is not valid UTF-8")
	}
	for i, p := range m.Content {
		kind, ok := "", true
		switch p := p.(type) {
		case nil:
			return fmt.Errorf("part %d is nil", i)
		case chat.Thinking:
			if m.Role != chat.RoleAssistant {
				return fmt.Errorf("part %d is thinking in a %s message", i, m.Role)
			}
			kind, ok = "thinking", valid(p.Text, p.Signature, p.Encrypted)
		case chat.Image:
			kind, ok = "an image", valid(p.URL, p.Original, string(p.Detail), p.MediaType)
		case chat.Document:
			kind, ok = "a document", valid(p.Data, p.MediaType)
		case chat.CacheBreakpoint:
			kind, ok = "a cache breakpoint", valid(p.Type)
		}
		if !ok {
			return fmt.Errorf("part %d is %s that is not valid UTF-8", i, kind)
		}
	}
	return nil
}

// valid reports whether all texts are valid UTF-8.
func valid(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) })
}

// checkCompaction returns an error if a compaction cannot follow the entry before.
func (b *branchEnd) checkCompaction(ctx context.Context, c entry.Compaction) error {
	if len(c.Messages) == 0 {
		return errors.New("no messages to show")
	}
	for i, m := range c.Messages {
		if m.Role != chat.RoleUser {
			return fmt.Errorf("message %d is from %s: only user messages may replace history", i+1, m.Role)
		}
		if err := checkText(m); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	for i, th := range c.Thinking {
		if !sendable.Whole(th) {
			return fmt.Errorf("thinking %d is neither signed nor encrypted: no provider takes it back", i+1)
		}
	}
	if err := checkText(sendable.WithThinking(chat.Message{Role: chat.RoleAssistant}, c.Thinking)); err != nil {
		return fmt.Errorf("its thinking: %w", err)
	}
	if n := b.path.compaction(); n >= 0 && c.Plan != "" && b.path.Nodes[n].compaction.Plan == c.Plan {
		return &entry.BoundaryError{ID: cmp.Or(c.Boundary(), c.Plan), Reason: BoundaryCovered} // another compaction has ended the plan
	}
	if ended, err := b.hasEnded(ctx, c.Plan); err != nil {
		return err
	} else if ended {
		return &entry.BoundaryError{ID: c.Plan, Reason: BoundaryEnded}
	}
	i, err := b.r.CheckBoundary(ctx, b.path, b.end, c)
	if err == nil && c.FirstKept != "" && !b.path.mayCut(i) {
		err = fmt.Errorf("cannot cut at entry %q: a tool result stays with its call, and a compaction is not kept", c.FirstKept)
	}
	return err
}

// erasedSince reports whether something was erased after a plan on the path: what a model was shown may hold it.
func (b *branchEnd) erasedSince(plan string) bool {
	at := b.path.Index(plan)
	return at >= 0 && slices.ContainsFunc(b.path.Nodes[at:], func(n Node) bool { return n.Kind == kind.Erasure })
}

// hasEnded reports whether a plan was given up, by the entries after it.
func (b *branchEnd) hasEnded(ctx context.Context, plan string) (bool, error) {
	if b.erasedSince(plan) {
		return true, nil
	}
	for _, n := range slices.Backward(b.path.Nodes) {
		if plan == "" || n.ID == plan {
			break
		}
		if n.Kind != kind.PlanEnd {
			continue
		}
		e, err := b.r.load(ctx, n)
		if err != nil {
			return false, err
		}
		if end, ok := e.Body.(entry.PlanEnd); ok && end.Plan == plan && end.Outcome != entry.PlanRetried {
			return true, nil
		}
	}
	return false, nil
}

// checkClearing returns an error if a clearing cannot follow the entry before.
func (b *branchEnd) checkClearing(ctx context.Context, c entry.Clearing) error {
	if len(c.Results) == 0 && len(c.Arguments) == 0 {
		return errors.New("it clears nothing")
	}
	for i, o := range c.Results {
		if err := b.checkResult(ctx, o); err != nil {
			return fmt.Errorf("result %d: %w", i+1, err)
		}
	}
	for i, o := range c.Arguments {
		if err := b.checkArguments(ctx, o); err != nil {
			return fmt.Errorf("arguments %d: %w", i+1, err)
		}
	}
	return nil
}

func (b *branchEnd) checkResult(ctx context.Context, o entry.Cleared) error {
	n, err := b.checkCleared(ctx, o)
	switch {
	case err != nil:
		return err
	case n.Kind != kind.Tool:
		return fmt.Errorf("entry %q is not a tool result", o.Entry)
	case o.Call != "":
		return fmt.Errorf("it names the call %q, which only arguments do", o.Call)
	}
	return nil
}

func (b *branchEnd) checkArguments(ctx context.Context, o entry.Cleared) error {
	n, err := b.checkCleared(ctx, o)
	if err != nil {
		return err
	}
	if n.Kind != kind.Assistant {
		return fmt.Errorf("entry %q is not a message of the assistant", o.Entry)
	}
	e, err := b.r.load(ctx, n)
	switch {
	case err != nil:
		return err
	case !slices.ContainsFunc(e.Message().ToolCalls, func(c chat.ToolCall) bool { return c.ID == o.Call }):
		return fmt.Errorf("entry %q makes no call %q", o.Entry, o.Call)
	case !json.Valid([]byte(o.Text)):
		return fmt.Errorf("the text for call %q is not valid JSON", o.Call)
	}
	return nil
}

// checkPin returns a reference to an entry that a pin names. The entry must be on the path, and be something that was said.
func (b *branchEnd) checkPin(ctx context.Context, id string) (entry.Ref, error) {
	n, err := b.named(ctx, id)
	if err == nil && !n.Kind.Shown() {
		err = fmt.Errorf("entry %q is nothing that was said", id)
	}
	return b.r.ref(n), err
}

func (b *branchEnd) checkCleared(ctx context.Context, o entry.Cleared) (Node, error) {
	if o.Entry == "" {
		return Node{}, errors.New("no entry is named")
	}
	if sendable.Blank(o.Text) {
		return Node{}, fmt.Errorf("the text for entry %q is empty", o.Entry)
	}
	return b.named(ctx, o.Entry)
}

// named returns the node of an entry on the path, which a compaction may have covered.
func (b *branchEnd) named(ctx context.Context, id string) (Node, error) {
	i, reason, err := b.r.locate(ctx, b.path, b.end, id)
	switch {
	case err != nil:
		return Node{}, err
	case reason == BoundaryCovered:
		e, at, err := b.r.lookUp(ctx, b.end, entry.Ref{ID: id})
		return newNode(e, at), err
	case reason != "":
		return Node{}, fmt.Errorf("entry %q %s", id, reason)
	}
	return b.path.Nodes[i], nil
}

// calls holds the open calls of the newest part of a path, so that each result that is added is checked without reading
// what was read for the one before it.
type calls struct {
	pairing chat.Pairing
	from    int    // index of the first node of the part, 0 if nothing before it counts
	nodes   int    // number of the path's nodes up to the end of the part
	last    string // id of the last of these
}

// isOpen reports whether a path has a call with an id and no result for it. It reads what the path has in addition, and
// twice as much of what is before as long as the call is not found.
func (c *calls) isOpen(ctx context.Context, r *Reader, p Path, id string) (bool, error) {
	if c.last == "" || c.nodes > len(p.Nodes) || p.Nodes[c.nodes-1].ID != c.last { // another path
		*c = calls{from: len(p.Nodes), nodes: len(p.Nodes)}
	}
	for {
		if err := c.read(ctx, r, p); err != nil {
			*c = calls{}
			return false, err
		}
		if c.from == 0 || c.pairing.IsOpen(id) {
			return c.pairing.IsOpen(id), nil
		}
		const first = 16
		from := max(0, c.from-max(first, c.nodes-c.from))
		*c = calls{from: from, nodes: from}
	}
}

// read reads the rest of a path.
func (c *calls) read(ctx context.Context, r *Reader, p Path) error {
	var said []Node
	for _, n := range p.Nodes[c.nodes:] {
		switch {
		case n.compaction != nil: // it has the calls that are open
			open := chat.Message{Role: chat.RoleAssistant}
			for _, id := range n.compaction.Retained.Calls {
				open.ToolCalls = append(open.ToolCalls, chat.ToolCall{ID: id})
			}
			c.pairing, c.from, said = chat.Pairing{}, 0, nil
			c.pairing.Add(open)
		case n.Kind == kind.Assistant || n.Kind == kind.Tool:
			said = append(said, n)
		}
	}
	for e, err := range r.entries(ctx, said, true) {
		if err != nil {
			return err
		}
		c.pairing.Add(e.Message())
	}
	c.nodes, c.last = len(p.Nodes), p.Last().ID
	return nil
}

// The reasons of an [entry.BoundaryError].
const (
	// BoundaryMissing: the session has no such entry.
	BoundaryMissing = "is not in the session"
	// BoundaryLeft: the entry is on another branch than the one that is compacted.
	BoundaryLeft = "is on another branch"
	// BoundaryCovered: an earlier compaction covers the entry.
	BoundaryCovered = "is covered by an earlier compaction"
	// BoundaryEnded: the plan of the compaction has already ended, or something was erased since. ID is the plan's entry.
	BoundaryEnded = "is a plan that has ended"
)

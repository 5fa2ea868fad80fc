package render_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
)

// vocabulary says what the grower may use besides the elements that every tree may have.
type vocabulary struct {
	required bool // required elements
	blank    bool // white space, and blank messages
	growing  bool // expandables
	sized    bool // elements that depend on their share of the budget
	breaks   bool // texts with a break
	lines    bool // nearly only line breaks and texts that start on lines of their own
	trims    bool
	parts    bool // many parts, breakpoints and calls
	tools    bool // definitions of tools, some of which are called
}

// grower grows random prompts. The same seed and vocabulary give the same prompt.
type grower struct {
	vocabulary
	r        *rand.Rand
	groups   []*elements.Group
	calls    int
	tool     int      // number of tools so far
	must     []string // marks in texts of required elements, which no render may lose
	unmarked bool     // without cache breakpoints
	unsure   int      // above 0 in a tree that may be left out although nothing is pruned
}

func newGrower(seed uint64, v vocabulary) *grower {
	g := &grower{vocabulary: v, r: rand.New(rand.NewPCG(seed, 0))}
	for i := range 3 {
		g.groups = append(g.groups, &elements.Group{Name: fmt.Sprint(i)})
	}
	return g
}

func (g *grower) chance(p float64) bool { return g.r.Float64() < p }

func pick[T any](g *grower, list ...T) T { return list[g.r.IntN(len(list))] }

// several returns 1 to most nodes.
func (g *grower) several(most int, f func() elements.Node) elements.Nodes {
	nodes := make(elements.Nodes, 1+g.r.IntN(most))
	for i := range nodes {
		nodes[i] = f()
	}
	return nodes
}

func (g *grower) text() string {
	if g.blank && g.chance(0.1) {
		return pick(g, "", " ", "\n", " \t\n", "\u00a0")
	}
	var b strings.Builder
	for i := range 1 + g.r.IntN(6) {
		if i > 0 {
			b.WriteString(pick(g, " ", " ", " ", "\n", "  ", ", "))
		}
		b.WriteString(pick(g, "the", "context", "window", "is", "pruned", "naïve", "世界", "x", "<b>", "if err != nil {", "3.14", "..."))
	}
	return b.String()
}

// props returns the properties of an element.
func (g *grower) props() elements.Props {
	var p elements.Props
	if g.chance(0.7) {
		p.Priority = new(pick(g, -3, 0, 1, 1, 2, 2, 3, 5, 8, 100))
	}
	p.PassPriority = g.chance(0.1)
	if g.chance(0.2) {
		p.FlexGrow = 1 + g.r.IntN(3)
	}
	if g.chance(0.2) {
		p.FlexBasis = pick(g, 0.5, 2, 3)
	}
	if g.chance(0.1) {
		p.FlexReserve = pick(g, elements.Reserve{Tokens: 1 + g.r.IntN(40)}, elements.Reserve{Share: 1 / float64(2+g.r.IntN(5))})
	}
	p.Required = g.required && g.chance(0.04)
	p.Category = elements.Category(p.FlexGrow) // some elements have one
	if p.Priority != nil && *p.Priority > 3 {
		p.Category = elements.CategoryOther
	}
	return p
}

// literal returns a text, with a mark if it must not be lost.
func (g *grower) literal(required bool) elements.Text {
	text := g.text()
	if required && g.unsure == 0 {
		mark := fmt.Sprintf("(must %d)", len(g.must))
		g.must = append(g.must, mark)
		text = mark + text
	}
	return elements.Text(text)
}

// plain returns a literal text, or with lines mostly a text chunk.
func (g *grower) plain(s string) elements.Node {
	if g.lines && !g.chance(0.02) {
		return elements.TextChunk{Children: elements.Nodes{elements.Text(s)}}
	}
	return elements.Text(s)
}

// ifEmpty returns an IfEmpty. Pruning does not decide which side is taken, so neither is sure to be kept.
func (g *grower) ifEmpty(props elements.Props, alt func() elements.Node, children func() elements.Nodes) elements.Node {
	g.unsure++
	defer func() { g.unsure-- }()
	return elements.IfEmpty{Props: props, Alt: alt(), Children: children()}
}

// prompt returns a whole tree.
func (g *grower) prompt() elements.Node {
	return g.several(5, func() elements.Node { return g.top(2) })
}

// top returns a message, or an element around messages.
func (g *grower) top(depth int) elements.Node {
	if g.tools && g.chance(0.3) {
		return g.definition()
	}
	tops := func() elements.Nodes { return g.several(3, func() elements.Node { return g.top(depth - 1) }) }
	if depth == 0 || g.chance(0.5) {
		if g.chance(0.2) {
			return g.round()
		}
		return g.message()
	}
	switch g.r.IntN(11) {
	case 10:
		props, parts := g.props(), 3
		if g.unmarked {
			parts = 2
		}
		return &elements.Finished{Props: props, Messages: []chat.Message{chat.UserMessage(string(g.literal(props.Required)) + " asked"), chat.Message{
			Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("word"), chat.Image{URL: "https://example.com"}, chat.CacheBreakpoint{}}[:min(1+g.r.IntN(3), parts)],
		}}}
	case 0:
		return tops()
	case 1:
		return elements.Chunk{Props: g.props(), Children: tops()}
	case 2:
		return elements.LegacyPrioritization{Props: g.props(), Children: tops()}
	case 3:
		return elements.TokenLimit{Props: g.props(), Max: 10 + g.r.IntN(200), Children: tops()}
	case 4:
		return elements.PrioritizedList{Props: g.props(), Descending: g.chance(0.5), Children: tops()}
	case 5:
		return elements.KeepWith{Props: g.props(), Group: pick(g, g.groups...), Children: tops()}
	case 6:
		return g.ifEmpty(g.props(), g.message, tops)
	case 7:
		return pick[elements.Node](g, elements.Reference{Name: pick(g, "a", "b", "c")}, elements.Meta[string]{Value: g.text(), Local: g.chance(0.5)}, nil)
	case 8:
		return elements.WithPriority{Priority: g.r.IntN(5), Node: g.top(depth - 1)}
	default:
		return elements.Wrap{Props: g.props(), Children: tops()}
	}
}

// definition returns the definition of a tool. The first has the name that rounds call.
func (g *grower) definition() elements.Node {
	g.tool++
	name := "read"
	if g.tool > 1 {
		name = fmt.Sprint("tool", g.tool)
	}
	return elements.Tool{Props: g.props(), Tool: chat.Tool{Name: name, Description: g.text(), Parameters: []byte(`{"type":"object"}`)}}
}

// breakpoint returns a cache breakpoint, unless the tree has none.
func (g *grower) breakpoint(kind string) elements.Node {
	if g.unmarked {
		return nil
	}
	return elements.CacheBreakpoint{Type: kind}
}

// message returns a message, not blank unless the vocabulary has blank messages.
func (g *grower) message() elements.Node {
	props := g.props()
	if !g.lines && g.chance(0.15) {
		return elements.Message(props, chat.Message{Role: pick(g, chat.RoleUser, chat.RoleAssistant), Content: chat.Parts{
			chat.Text("word"), chat.Text(g.text()), chat.Image{URL: "https://example.com"}, chat.Text(g.text()),
		}})
	}
	children := g.several(4, func() elements.Node { return g.content(2, props.Required) })
	if !g.lines && g.chance(0.08) {
		children = slices.Insert(children, g.r.IntN(len(children)+1), g.breakpoint("ephemeral"))
	}
	for g.parts && g.chance(0.4) {
		children = slices.Insert(children, g.r.IntN(len(children)+1), g.breakpoint(""))
	}
	if !g.blank {
		children = append(children, g.plain("word"))
	}
	name := pick(g, "", "", "", "alice")
	switch g.r.IntN(4) {
	case 0:
		return elements.SystemMessage{Props: props, Name: name, Children: children}
	case 1:
		return elements.AssistantMessage{Props: props, Name: name, Children: children}
	default:
		return elements.UserMessage{Props: props, Name: name, Children: children}
	}
}

// round returns an assistant message with tool calls and their results, most of them linked.
func (g *grower) round() elements.Node {
	var assistant elements.AssistantMessage
	assistant.Props = g.props()
	nodes := elements.Nodes{nil}
	most := 2
	if g.parts {
		most = 8
	}
	for range 1 + g.r.IntN(most) {
		g.calls++
		c := elements.ToolCall{ToolCall: chat.ToolCall{ID: fmt.Sprint("call", g.calls), Name: "read", Arguments: `{"path":"a.go"}`}}
		tool := elements.ToolMessage{Props: g.props(), ToolCallID: c.ID}
		tool.Children = append(g.several(3, func() elements.Node { return g.content(1, tool.Required) }), g.plain("word"))
		if g.chance(0.7) {
			c.KeepWith = pick(g, &elements.Group{}, pick(g, g.groups...))
			nodes = append(nodes, elements.KeepWith{Props: g.props(), Group: c.KeepWith, Children: elements.Nodes{tool}})
		} else {
			nodes = append(nodes, tool)
		}
		assistant.ToolCalls = append(assistant.ToolCalls, c)
	}
	switch g.r.IntN(4) {
	case 0:
		assistant.Children = elements.Nodes{g.literal(assistant.Required)}
	case 1:
		assistant.Children = g.several(3, func() elements.Node { return g.content(1, assistant.Required) })
	case 2:
		assistant.Children = g.several(3, func() elements.Node {
			return elements.TextChunk{Props: g.props(), Children: elements.Nodes{elements.Text(g.text())}}
		})
	}
	nodes[0] = assistant
	return nodes
}

// content returns a node in a message; required says whether it is in a required element.
func (g *grower) content(depth int, required bool) elements.Node {
	props := g.props()
	required = required || props.Required
	inside := func() elements.Nodes {
		return g.several(3, func() elements.Node { return g.content(depth-1, required) })
	}
	kinds := 22
	if depth == 0 {
		kinds = 8
	}
	kind := g.r.IntN(kinds)
	if g.trims && kind < 3 {
		kind = 3
	}
	if g.lines && kind < 8 && !g.chance(0.02) {
		if kind = 0; g.chance(0.2) {
			return elements.LineBreak{}
		}
	}
	if g.parts && g.chance(0.4) {
		kind = 5 + g.r.IntN(2)
	}
	switch kind {
	case 0, 1, 2:
		return elements.TextChunk{Props: props, Children: elements.Nodes{g.literal(required), el.If(g.chance(0.2), elements.LineBreak{}), el.If(g.chance(0.2), elements.Reference{Name: pick(g, "a", "b", "c")})}}
	case 3:
		if !g.breaks {
			return elements.LineBreak{}
		}
		if g.unsure > 0 { // a text that is cut to nothing makes an IfEmpty take its alternative
			props.FlexGrow, props.FlexBasis = 0, 0
		}
		c := elements.TextChunk{Props: props, BreakOnWhitespace: true, Children: elements.Nodes{elements.Text(g.text()), elements.Text(g.text())}}
		if g.trims {
			for range g.r.IntN(5) {
				c.Children = append(c.Children, elements.Text(g.text()))
			}
			c.Least = g.r.IntN(8)
			c.Cut = elements.CutSide(g.r.IntN(3))
			c.Mark = pick(g, "", "", "…", "[cut]")
		}
		return c
	case 4:
		return g.plain(g.text())
	case 5:
		return pick[elements.Node](g, elements.Image{Props: props, Source: "iVBORw0K"}, elements.Document{Props: props, Data: "JVBERi0=", MediaType: "application/pdf"}, elements.Thinking{Props: props, Thought: chat.Thinking{Text: g.text(), Signature: "s"}})
	case 6:
		return elements.Opaque{Priority: props.Priority, Value: []byte(`{"type":"x"}`), Tokens: g.r.IntN(20)}
	case 7:
		return pick[elements.Node](g, elements.Meta[string]{Value: g.text(), Local: g.chance(0.5)}, nil, elements.Nodes{})
	case 8, 9:
		return elements.Chunk{Props: props, Children: inside()}
	case 10:
		return elements.TokenLimit{Props: props, Max: 3 + g.r.IntN(60), Children: inside()}
	case 11:
		return elements.PrioritizedList{Props: props, Descending: g.chance(0.5), Children: append(inside(), nil)}
	case 12, 13:
		return elements.KeepWith{Props: props, Group: pick(g, append(g.groups, nil)...), Children: inside()}
	case 14:
		return g.ifEmpty(props, func() elements.Node { return g.plain(g.text()) }, inside)
	case 15:
		tag := elements.Tag{Props: props, Name: pick(g, "file", "x-y"), Attributes: []elements.Attribute{{Name: "path", Value: `"<a>"`}}}
		if g.chance(0.8) {
			tag.Children = inside()
		}
		return tag
	case 16:
		if !g.growing {
			return nil
		}
		least, most := 1+g.r.IntN(10), g.r.IntN(80)
		return elements.Expandable{Props: props, Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
			n := max(least, min(most, s.TokenBudget/2))
			return elements.Nodes{el.If(n%2 == 0, elements.LineBreak{}), elements.Text(strings.Repeat("e ", n))}, nil
		}}
	case 17:
		children := inside()
		return own{Props: props, render: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
			if !g.sized {
				return children, nil
			}
			return elements.Nodes{elements.Text(fmt.Sprintf("%d", s.TokenBudget)), children}, nil
		}}
	case 19:
		return elements.Fence{Props: props, Language: pick(g, "", "go"), Children: elements.Nodes{elements.TextChunk{
			Props: elements.Props{Required: g.required && g.chance(0.1)}, BreakOn: pick(g, "", "\n"), Children: elements.Nodes{g.literal(required), elements.Text(pick(g, "", "\n```\n"))},
		}}}
	case 20:
		if !g.growing {
			return nil
		}
		g.unsure++
		defer func() { g.unsure-- }()
		return elements.First{Props: props, Versions: elements.Nodes{inside(), inside(), g.plain(g.text())}}
	case 18:
		return elements.LegacyPrioritization{Props: props, Children: inside()}
	default:
		return elements.Wrap{Props: props, Children: inside()}
	}
}

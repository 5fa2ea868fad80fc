package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// spec is a node of a case. A string is literal text.
type spec struct {
	Type     string            `json:"t"`
	Props    properties        `json:"p"`
	Children []json.RawMessage `json:"c"`
	Alt      json.RawMessage   `json:"alt"`
	Data     json.RawMessage   `json:"data"`
}

// properties are the properties of all kinds of nodes.
type properties struct {
	Priority     *int    `json:"priority"`
	PassPriority bool    `json:"passPriority"`
	FlexGrow     int     `json:"flexGrow"`
	FlexBasis    float64 `json:"flexBasis"`
	FlexReserve  reserve `json:"flexReserve"`

	Name       string          `json:"name"`
	ToolCalls  []callSpec      `json:"toolCalls"`
	ToolCallID string          `json:"toolCallId"`
	BreakOn    string          `json:"breakOn"`
	BreakSpace bool            `json:"breakOnWhitespace"`
	Max        int             `json:"max"`
	Descending bool            `json:"descending"`
	ID         string          `json:"id"`
	Source     string          `json:"src"`
	Detail     string          `json:"detail"`
	MimeType   string          `json:"mimeType"`
	Data       string          `json:"data"`
	MediaType  string          `json:"mediaType"`
	Prefix     string          `json:"prefix"`
	Fill       string          `json:"fill"`
	Times      *int            `json:"times"`
	Consume    int             `json:"consume"`
	Type       string          `json:"type"`
	Value      json.RawMessage `json:"value"`
	TokenUsage int             `json:"tokenUsage"`
	Local      bool            `json:"local"`
	Variable   string          `json:"variableName"`
}

type callSpec struct {
	ID       string       `json:"id"`
	Function functionJSON `json:"function"`
	KeepWith string       `json:"keepWith,omitempty"`
}

// reserve is a number of tokens, or "/N".
type reserve struct{ elements.Reserve }

func (r *reserve) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		err := json.Unmarshal(data, &r.Tokens)
		r.Zero = err == nil && r.Tokens == 0
		return err
	}
	n, err := strconv.Atoi(strings.TrimPrefix(s, "/"))
	r.Share = 1 / float64(n)
	return err
}

// builder makes elements from specs. Members of one group share its identity.
type builder struct{ groups map[string]*elements.Group }

func treeOf(root json.RawMessage) (elements.Node, error) {
	b := builder{groups: map[string]*elements.Group{}}
	return b.node(root)
}

func (b builder) group(id string) *elements.Group {
	if b.groups[id] == nil {
		b.groups[id] = &elements.Group{Name: id}
	}
	return b.groups[id]
}

func (b builder) nodes(list []json.RawMessage) (elements.Nodes, error) {
	nodes := make(elements.Nodes, len(list))
	for i, raw := range list {
		n, err := b.node(raw)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	return nodes, nil
}

// node makes the element of a spec. Each type of a spec is a case, and says what becomes of its properties.
func (b builder) node(raw json.RawMessage) (elements.Node, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return elements.Text(s), err
	}
	var s spec
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	children, err := b.nodes(s.Children)
	if err != nil {
		return nil, err
	}
	p := s.Props
	props := elements.Props{
		Priority: p.Priority, PassPriority: p.PassPriority,
		FlexGrow: p.FlexGrow, FlexBasis: p.FlexBasis, FlexReserve: p.FlexReserve.Reserve,
	}
	switch s.Type {
	case "fragment":
		return children, nil
	case "system":
		return elements.SystemMessage{Props: props, Name: p.Name, Children: children}, nil
	case "user":
		return elements.UserMessage{Props: props, Name: p.Name, Children: children}, nil
	case "assistant":
		return elements.AssistantMessage{Props: props, Name: p.Name, ToolCalls: b.calls(p.ToolCalls), Children: children}, nil
	case "tool":
		return elements.ToolMessage{Props: props, ToolCallID: p.ToolCallID, Children: children}, nil
	case "textChunk":
		if p.BreakSpace {
			p.BreakOn = ""
		}
		return elements.TextChunk{Props: props, BreakOn: p.BreakOn, BreakOnWhitespace: p.BreakSpace, Children: children}, nil
	case "chunk":
		return elements.Chunk{Props: props, Children: children}, nil
	case "wrap":
		return elements.Wrap{Props: props, Children: children}, nil
	case "tokenLimit":
		return elements.TokenLimit{Props: props, Max: p.Max, Children: children}, nil
	case "prioritizedList":
		return elements.PrioritizedList{Props: props, Descending: p.Descending, Children: children}, nil
	case "legacy":
		return elements.LegacyPrioritization{Props: props, Children: children}, nil
	case "keepWith":
		return elements.KeepWith{Props: props, Group: b.group(p.ID), Children: children}, nil
	case "ifEmpty":
		alt, err := b.node(s.Alt)
		return elements.IfEmpty{Props: props, Alt: alt, Children: children}, err
	case "image":
		return elements.Image{Props: props, Source: p.Source, Detail: chat.ImageDetail(p.Detail), MediaType: p.MimeType, Children: children}, nil
	case "document":
		return elements.Document{Props: props, Data: p.Data, MediaType: p.MediaType, Children: children}, nil
	case "expandable":
		return elements.Expandable{Props: props, Value: p.expand}, nil
	case "echoBudget":
		return EchoBudget{Props: props, name: p.Name, consume: p.Consume}, nil
	case "br":
		return elements.LineBreak{}, nil
	case "cacheBreakpoint":
		return elements.CacheBreakpoint{Type: p.Type}, nil
	case "opaque":
		return elements.Opaque{Priority: p.Priority, Value: p.Value, Tokens: p.TokenUsage}, nil
	case "meta":
		return elements.Meta[named]{Value: named(p.Name), Local: p.Local}, nil
	case "json":
		return elements.Transferred{Data: s.Data}, nil
	case "reference":
		return elements.Reference{Name: p.Variable}, nil
	default:
		return nil, fmt.Errorf("unknown node %q", s.Type)
	}
}

func (b builder) calls(specs []callSpec) []elements.ToolCall {
	var calls []elements.ToolCall
	for _, s := range specs {
		c := elements.ToolCall{ToolCall: chat.ToolCall{ID: s.ID, Name: s.Function.Name, Arguments: s.Function.Arguments}}
		if s.KeepWith != "" {
			c.KeepWith = b.group(s.KeepWith)
		}
		calls = append(calls, c)
	}
	return calls
}

// expand fills its budget: the prefix, then the filling as often as it fits.
func (p properties) expand(_ context.Context, s elements.Sizing) (elements.Node, error) {
	times := 50
	if p.Times != nil {
		times = *p.Times
	}
	text := p.Prefix
	for range times {
		if s.CountText(text+p.Fill) > s.TokenBudget {
			break
		}
		text += p.Fill
	}
	return elements.Text(text), nil
}

// EchoBudget renders the budget that it was offered.
type EchoBudget struct {
	elements.Props
	name    string
	consume int
}

func (e EchoBudget) Render(_ context.Context, s elements.Sizing) (elements.Node, error) {
	consume := ""
	if e.consume != 0 {
		consume = fmt.Sprintf("consume=%d, ", e.consume)
	}
	return elements.Nodes{elements.Text(consume), elements.Text(fmt.Sprintf("%s=%d", e.name, s.TokenBudget))}, nil
}

// Package transfer writes content that was laid out as JSON, to be put into a prompt elsewhere, and reads it back. The
// form is that of prompt-tsx. [Write] takes a tree, [Reader] adds to one. Both keep the structure, so that the content
// is pruned piece by piece there as it would be here.
package transfer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// ErrMessage is the error of a message in a tree that is to be transferred.
var ErrMessage = tree.Mistake("a message cannot be transferred, only its contents")

// Error is a mistake in a tree in transfer form.
type Error struct {
	Place string // in the data, such as "node.children[2].text"
	Err   error
}

func (e *Error) Error() string { return e.Place + ": " + e.Err.Error() }

// Unwrap returns the mistake without its place.
func (e *Error) Unwrap() error { return e.Err }

// The numbers of the form.
const (
	typePiece  = 1
	typeText   = 2
	typeOpaque = 3

	pieceMessage  = 1
	pieceOther    = 2
	pieceImage    = 3
	pieceDocument = 4

	flagLegacy  = 1
	flagChunk   = 2
	flagPass    = 4
	flagIfEmpty = 8
)

// flags maps the flags of the form to those of a tree.
var flags = [...]struct {
	form int
	tree tree.Flags
}{{flagLegacy, tree.Legacy}, {flagChunk, tree.Chunk}, {flagPass, tree.PassesPriority}, {flagIfEmpty, tree.IfEmpty}}

// roles lists the roles by their number in the form.
var roles = [...]chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool}

// wrapperName is the name that prompt-tsx gives to each side of an IfEmpty, and to every element that was read back.
const wrapperName = "LogicalWrapper"

// Source is what the writer needs of a node that is to be transferred: the element, its properties, and a text or opaque
// value as it was read.
type Source struct {
	Element elements.Node
	Props   elements.Props
	read    *node
}

// sourceOf returns the source of a node, a zero one if it has none.
func sourceOf(t *tree.Tree, n tree.ID) Source {
	s, _ := t.Extra(n).Transfer.(Source)
	return s
}

// node is a node in the form, of any type.
type node struct {
	Type       int                `json:"type"`
	Ctor       int                `json:"ctor,omitempty"`
	CtorName   string             `json:"ctorName,omitempty"`
	Children   *[]node            `json:"children,omitempty"`
	Props      *props             `json:"props,omitempty"`
	References *[]json.RawMessage `json:"references,omitempty"`
	KeepWithID *int               `json:"keepWithId,omitempty"`
	Flags      int                `json:"flags,omitempty"`
	Priority   *int               `json:"priority,omitempty"`
	Text       *string            `json:"text,omitempty"`
	LineBreak  *bool              `json:"lineBreakBefore,omitempty"`
	Value      json.RawMessage    `json:"value,omitempty"`
	Tokens     *int               `json:"tokenUsage,omitempty"`
}

type props struct {
	FlexBasis    float64         `json:"flexBasis,omitempty"`
	FlexGrow     int             `json:"flexGrow,omitempty"`
	FlexReserve  json.RawMessage `json:"flexReserve,omitempty"`
	PassPriority bool            `json:"passPriority,omitempty"`
	Priority     *int            `json:"priority,omitempty"`
	Role         *int            `json:"role,omitempty"`
	Name         string          `json:"name,omitempty"`
	ToolCallID   string          `json:"toolCallId,omitempty"`
	Source       *string         `json:"src,omitempty"`
	Detail       string          `json:"detail,omitempty"`
	MimeType     string          `json:"mimeType,omitempty"`
	Data         *string         `json:"data,omitempty"`
	MediaType    *string         `json:"mediaType,omitempty"`
}

func propsOut(p elements.Props) *props {
	out := &props{FlexBasis: p.FlexBasis, FlexGrow: p.FlexGrow, PassPriority: p.PassPriority, Priority: p.Priority}
	switch r := p.FlexReserve; {
	case r.Share > 0: // "/4" is a quarter
		out.FlexReserve = fmt.Appendf(nil, `"/%v"`, tree.Divisor(r))
	case r.Tokens > 0 || r.Zero:
		out.FlexReserve = fmt.Append(nil, r.Tokens)
	}
	return out
}

// propsIn reads properties. Flex properties were applied where the tree was rendered; they are only kept for another
// transfer.
func propsIn(p *props) (elements.Props, error) {
	in := elements.Props{Priority: p.Priority, PassPriority: p.PassPriority, FlexGrow: p.FlexGrow, FlexBasis: p.FlexBasis}
	if p.Priority != nil && (*p.Priority > tree.Unset || *p.Priority < -tree.Unset) {
		return in, fmt.Errorf("a priority of %d", *p.Priority)
	}
	var fraction string
	switch {
	case p.FlexReserve == nil:
	case json.Unmarshal(p.FlexReserve, &fraction) == nil:
		n, err := strconv.ParseFloat(strings.TrimPrefix(fraction, "/"), 64)
		if err != nil || !(n >= 1) || !strings.HasPrefix(fraction, "/") {
			return in, fmt.Errorf("a flexReserve of %q", fraction)
		}
		in.FlexReserve.Share = 1 / n
	default:
		if err := json.Unmarshal(p.FlexReserve, &in.FlexReserve.Tokens); err != nil {
			return in, fmt.Errorf("flexReserve: %w", err)
		}
		in.FlexReserve.Zero = in.FlexReserve.Tokens == 0
	}
	return in, tree.CheckProps(&in)
}

func referencesOut(references []elements.Reference) *[]json.RawMessage {
	list := make([]json.RawMessage, 0, len(references))
	for _, r := range references {
		raw := r.Transfer
		if raw == nil {
			name, _ := json.Marshal(r.Name) // a string always encodes
			raw = fmt.Appendf(nil, `{"anchor":{"variableName":%s}}`, name)
		}
		list = append(list, raw)
	}
	return &list
}

func referencesIn(list *[]json.RawMessage) (references []elements.Reference, err error) {
	if list == nil {
		return nil, nil
	}
	for i, raw := range *list {
		var reference struct {
			Anchor *struct {
				Name string `json:"variableName"`
			} `json:"anchor"`
		}
		if err := json.Unmarshal(raw, &reference); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if reference.Anchor == nil {
			return nil, fmt.Errorf("[%d]: it has no anchor", i)
		}
		references = append(references, elements.Reference{Name: reference.Anchor.Name, Transfer: raw})
	}
	return references, nil
}

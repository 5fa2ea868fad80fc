package inspect

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// prompt is a rendered prompt in the page's data.
type prompt struct {
	Name   string `json:"name"`
	Model  string `json:"model,omitempty"`
	Budget int    `json:"budget"` // the tokens, if it was not rendered for one
	// NoBudget is set if it was not.
	NoBudget bool `json:"noBudget,omitempty"`
	Tokens   int  `json:"tokens"`
	// Rates of a request of this size, nil if no prices are known.
	Rates *sizing.Rates `json:"rates,omitempty"`
	// Root is the node of the whole prompt.
	Root int `json:"root"`
	// Same is the number of messages at the beginning that are those of the previous prompt, Messages are the others.
	Same     int   `json:"same,omitempty"`
	Messages []int `json:"messages"`
	// Counted reports whether messages have counts.
	Counted bool `json:"counted,omitempty"`
	// Tools are the nodes of tools that are declared beside the prompt, ToolTokens the count of their list.
	Tools      []int `json:"tools,omitempty"`
	ToolTokens int   `json:"toolTokens,omitempty"`
	// Breakdown says where the tokens of the prompt and of Tools are, nil if that is not known.
	Breakdown *render.Breakdown `json:"breakdown,omitempty"`
	// From, Below and Least are those of the survey. Unknown says why there is none.
	From    int    `json:"from,omitempty"`
	Below   int    `json:"below,omitempty"`
	Least   int    `json:"least,omitempty"`
	Unknown string `json:"unknown,omitempty"`
}

// node is an element, a message or a piece. Texts are indexes in the log's texts plus one, 0 for none.
type node struct {
	Name     string    `json:"name,omitempty"`
	Tag      int       `json:"tag,omitempty"`
	Role     chat.Role `json:"role,omitempty"`
	Priority *int      `json:"priority,omitempty"`
	Text     int       `json:"text,omitempty"`
	Piece    *piece    `json:"piece,omitempty"`
	// Like is the index plus one of a node that has the same first children, Same their number. Children are the
	// others.
	Like     int   `json:"like,omitempty"`
	Same     int   `json:"same,omitempty"`
	Children []int `json:"children,omitempty"`
}

// piece is a [render.Piece] without the path, the name and the category, which its node has. By is its DecidedBy, and
// KeptFrom is 0 for a piece that is never dropped.
type piece struct {
	render.Piece
	Path string `json:"path,omitempty"`
	By   string `json:"by,omitempty"`
}

// message is a message as it was sent.
type message struct {
	Role   chat.Role `json:"role"`
	Tokens int       `json:"tokens,omitempty"`
	Parts  []part    `json:"parts"`
}

type part struct {
	Kind render.PieceKind `json:"kind"`
	Name string           `json:"name,omitempty"` // of a call; a description of a document; detail of an image
	Text int              `json:"text,omitempty"`
}

// table holds values, each once.
type table[T any] struct {
	values []T
	index  map[string]int
}

// add returns the index of a value with a key.
func (t *table[T]) add(key string, value T) int {
	i, ok := t.index[key]
	if !ok {
		if t.index == nil {
			t.index = map[string]int{}
		}
		i = len(t.values)
		t.values, t.index[key] = append(t.values, value), i
	}
	return i
}

// step is a step in the page's data.
type step struct {
	Prompt      int             `json:"prompt"`
	At          int64           `json:"at,omitempty"` // in milliseconds
	Did         int             `json:"did,omitempty"`
	Usage       *chat.Usage     `json:"usage,omitempty"`
	Dollars     float64         `json:"dollars,omitempty"`
	Explain     string          `json:"explain,omitempty"`
	Compactions []compaction    `json:"compactions,omitempty"`
	Cleared     int             `json:"cleared,omitempty"`
	ClearedWhy  string          `json:"clearedWhy,omitempty"`
	Lost        *StepCacheBreak `json:"lost,omitempty"`
	LookBack    *LookBack       `json:"lookBack,omitempty"`
	Break       *StepCacheBreak `json:"break,omitempty"`
	Notes       []int           `json:"notes,omitempty"`
}

type compaction struct {
	StepCompaction
	Shown   []int `json:"shown,omitempty"`
	Covered []int `json:"covered,omitempty"`
}

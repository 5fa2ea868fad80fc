package render

import (
	"cmp"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Reason says why a piece was dropped, in a word for people: "priority", "chunk", "group", "emptied" or "share", since
// the piece had the lowest priority of those left, the chunk around it was dropped, an element of its group was dropped,
// nothing but white space was left around it, or no share of the budget was left at layout, for it or for an element of
// its group. [Kept] is none of them.
type Reason string

// The reasons, of which a program needs to ask for Kept alone.
const (
	Kept           Reason = ""
	reasonPriority Reason = "priority"
	reasonChunk    Reason = "chunk"
	reasonGroup    Reason = "group"
	reasonEmptied  Reason = "emptied"
	reasonShare    Reason = "share"
)

// PieceKind is the kind of a piece: "text", "image", "document", "thinking", "opaque" or "cacheBreakpoint" for a part of a
// message, "toolCall" or "tool".
type PieceKind string

const (
	pieceText     PieceKind = "text"
	pieceToolCall PieceKind = "toolCall"
	pieceTool     PieceKind = "tool"
)

// Piece is the smallest thing that pruning decides on: a text, another part of a message, a tool call, or a tool.
type Piece struct {
	// Path of the element that holds the piece, and nothing else if that is a tag, a fence or has a name.
	Path string `json:"path"`
	// Name of the nearest element around the piece with a ReportName, of the nearest [elements.Tag], element of your own
	// type or tool, or else of the message, as it ends in paths.
	Name string    `json:"name,omitempty"`
	Kind PieceKind `json:"kind"`
	// Category of the element that the piece is in, and [elements.CategoryTools] for a tool; unset for any other piece
	// without one, which [Breakdown] counts as [elements.CategoryOther].
	Category elements.Category `json:"category,omitempty"`
	// Priority that decided: for a dropped piece, that of the element that was chosen, else the piece's own. If that
	// has none, it is the priority of the nearest element around it that has one. Nil is the highest.
	Priority *int `json:"priority,omitempty"`
	// DecidedBy is the path of the element that was chosen when the piece was dropped, "" if that is Path.
	DecidedBy string `json:"decidedBy,omitempty"`
	// Group is the name of the group that the piece belongs to ([elements.Group]), "" if there is none.
	Group string `json:"group,omitempty"`
	// Tokens of the piece by itself: of what is left of it, or if it was dropped, of all of it. A message has fewer
	// tokens than its pieces if they merge, and more for its frame.
	// For a tool, the tokens that it adds to a list of other tools.
	Tokens int `json:"tokens"`
	// TrimmedFrom is the number of tokens before the piece was trimmed to Tokens, 0 if it was not trimmed.
	TrimmedFrom int `json:"trimmedFrom,omitempty"`
	// Cut reports that the text was trimmed to its share of the budget at layout.
	Cut bool `json:"cut,omitempty"`
	// Required reports that the piece could not have been dropped.
	Required bool `json:"required,omitempty"`
	// Restored reports that the piece had been dropped and was put back ([Options.Backfill]).
	Restored bool `json:"restored,omitempty"`
	// Dropped says why the piece is not in the messages; [Kept] if it is.
	Dropped Reason `json:"dropped,omitempty"`
	// Limit is the path of the TokenLimit for which the piece was dropped, "" if it was for the whole prompt.
	Limit string `json:"limit,omitempty"`
	// KeptFrom is the budget in tokens from which on the piece is kept, at least in part. For a piece that is never
	// dropped, it is the smallest budget that the prompt fits. It is 0 if a TokenLimit drops the piece at any budget,
	// and in reports that are not from [Result.Survey].
	KeptFrom int `json:"keptFrom,omitempty"`
	// Sizes are the tokens of a text that may be trimmed, by budget, the smallest first. They are set only if KeptFrom
	// is.
	Sizes []SizeAt `json:"sizes,omitempty"`
}

// SizeAt is the size of a piece, in tokens, from a budget on.
type SizeAt struct {
	Budget int `json:"budget"`
	Tokens int `json:"tokens"`
}

// Report accounts for a prompt: what was given is what was kept, trimmed away and dropped. Its JSON leaves out what is
// false, empty or 0, but for the tokens, path and kind of a piece.
type Report struct {
	// Tokens of the messages and tools as they are sent, by the tokenizer's exact count: [Result.Tokens].
	Tokens int `json:"tokens"`
	// CacheLost reports that something before a cache breakpoint was dropped or trimmed, because what stands behind it
	// could not give enough: a provider's cache no longer serves the prompt from there on.
	CacheLost bool `json:"cacheLost,omitempty"`
	// Pieces in document order, kept or dropped.
	Pieces []Piece `json:"pieces"`
}

// Kept returns the pieces that are in the messages.
func (r Report) Kept() []Piece { return r.filter(func(p Piece) bool { return p.Dropped == Kept }) }

// Dropped returns the pieces that are not in the messages.
func (r Report) Dropped() []Piece { return r.filter(func(p Piece) bool { return p.Dropped != Kept }) }

// Sum returns the tokens of all pieces by outcome, each piece counted by itself.
func (r Report) Sum() (sum OutlineTokens) {
	for i := range r.Pieces {
		sum.add(r.Pieces[i].tokens())
	}
	return sum
}

// Frames returns the tokens of the prompt that are not those of a kept piece by itself: of joins, such as line breaks,
// and frames, such as tags and the roles of messages. It is negative if more tokens merge where texts meet.
func (r Report) Frames() int { return r.Tokens - r.Sum().Kept }

func (r Report) filter(want func(Piece) bool) []Piece {
	var list []Piece
	for _, p := range r.Pieces {
		if want(p) {
			list = append(list, p)
		}
	}
	return list
}

// LogValue sums the report up for package slog: the tokens of the prompt, the pieces and tokens that were kept, trimmed
// away and dropped, and each dropped piece. The keys are like those of the events of package summarize.
func (r Report) LogValue() slog.Value {
	sum, dropped := r.Sum(), r.Dropped()
	list := make([]string, len(dropped))
	for i, p := range dropped {
		list[i] = fmt.Sprintf("%s (%d tokens, %s)", p.Path, p.Tokens, p.outcome())
	}
	return slog.GroupValue(
		slog.Int("tokens", r.Tokens),
		slog.Int("kept", len(r.Pieces)-len(dropped)), slog.Int("kept_tokens", sum.Kept), slog.Int("trimmed_tokens", sum.Trimmed),
		slog.Int("dropped", len(dropped)), slog.Int("dropped_tokens", sum.Dropped),
		slog.Any("dropped_pieces", list),
	)
}

// outcome returns in words whether the piece was kept or dropped, and why.
func (p Piece) outcome() string {
	switch {
	case p.Dropped == reasonShare && p.DecidedBy != "":
		return "dropped: no share of the budget was left for " + p.DecidedBy
	case p.Dropped == reasonShare:
		return "dropped: no share of the budget was left"
	case p.Dropped != Kept:
		return "dropped for " + cmp.Or(p.Limit, "the budget") + p.with()
	case p.TrimmedFrom > 0:
		return fmt.Sprintf("trimmed: %s of %s tokens", thousands(p.Tokens), thousands(p.TrimmedFrom))
	case p.Required:
		return "kept: required"
	case p.Restored:
		return "kept: put back"
	}
	return "kept"
}

// with returns in words what a piece was dropped with.
func (p Piece) with() string {
	switch {
	case p.Dropped == reasonChunk:
		return ", with its chunk"
	case p.Dropped == reasonEmptied:
		return ", left without text beside it"
	case p.Group != "":
		return fmt.Sprintf(", with group %q", p.Group)
	case p.Dropped == reasonGroup:
		return ", with its group"
	}
	return ""
}

// thousands formats a number with a comma before each three digits.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// tokenCount formats a number of tokens with its unit.
func tokenCount(n int) string {
	if n == 1 {
		return "1 token"
	}
	return thousands(n) + " tokens"
}

// row is a line of a report.
type row struct{ path, priority, outcome string }

// row returns the line of a piece.
func (p Piece) row() row {
	line := row{path: p.Path, priority: "-", outcome: p.outcome()}
	if p.Kind != pieceText {
		line.path += " (" + string(p.Kind) + ")"
	}
	if p.Priority != nil {
		line.priority = fmt.Sprint("priority ", *p.Priority)
	}
	return line
}

// siblingNumber matches the number of an element among siblings of the same name, in a path.
var siblingNumber = regexp.MustCompile(`#[0-9]+( > | \(|$)`)

// unnumbered returns a row without the numbers of siblings in its path.
func (r row) unnumbered() row {
	r.path = siblingNumber.ReplaceAllString(r.path, "$1")
	return r
}

// String returns a table for people: a line for each piece, and the sums, which end with the exact count of the prompt.
// Successive pieces that differ only in their numbers among siblings share a line.
func (r Report) String() string {
	if len(r.Pieces) == 0 {
		return ""
	}
	var table [][]string
	for rest := r.Pieces; len(rest) > 0; {
		line, n, tokens := rest[0].row(), 1, rest[0].Tokens
		plain := line.unnumbered()
		for ; n < len(rest) && rest[n].row().unnumbered() == plain; n++ {
			tokens += rest[n].Tokens
		}
		if n > 1 {
			line = plain
			line.path += fmt.Sprintf(" ×%d", n)
		}
		table = append(table, []string{line.path, tokenCount(tokens), line.priority, line.outcome})
		rest = rest[n:]
	}
	sum, dropped := r.Sum(), len(r.Dropped())
	trimmed := ""
	if sum.Trimmed > 0 {
		trimmed = fmt.Sprintf("trimmed away: %s; ", tokenCount(sum.Trimmed))
	}
	sums := fmt.Sprintf("kept: %s, pieces: %d; %sdropped: %s, pieces: %d\n", tokenCount(sum.Kept), len(r.Pieces)-dropped, trimmed, tokenCount(sum.Dropped), dropped)
	if r.Tokens > 0 {
		sums += fmt.Sprintf("joins and frames: %s; in all: %s\n", tokenCount(r.Frames()), tokenCount(r.Tokens))
	}
	if r.CacheLost {
		sums += "a cached prefix was given up: something before a cache breakpoint was dropped or trimmed\n"
	}
	return aligned(table) + sums
}

// Outline is a prompt as a tree after pruning: its elements, messages and pieces, with the outcome of each. It holds
// everything that a page needs to show a prompt.
type Outline struct {
	// Name of the element as in paths, with its number among siblings; "" for a piece that is not an element itself.
	Name string `json:"name,omitempty"`
	// Tag is the opening end of a tag with children, as it is sent; "" for anything else.
	Tag string `json:"tag,omitempty"`
	// Role of a message, "" for anything else.
	Role chat.Role `json:"role,omitempty"`
	// Priority that was set on the element, nil if none was.
	Priority *int `json:"priority,omitempty"`
	// Tokens of the pieces in it.
	Tokens OutlineTokens `json:"tokens"`
	// Counted is the exact count of a message as it is sent, with its frame. For the root it is that of messages and
	// tools ([Result.Tokens]). It is 0 for anything else, and for a message that is not sent.
	Counted int `json:"counted,omitempty"`
	// Piece is the entry of the report for a piece, nil for anything that holds others.
	Piece *Piece `json:"piece,omitempty"`
	// Text of a piece as it was given, trimmed or not: the text itself, the arguments of a tool call, the thought of
	// thinking, the source of an image, the description of a tool. "" for other pieces.
	Text string `json:"text,omitempty"`
	// Children in document order, dropped ones too.
	Children []*Outline `json:"children,omitempty"`

	at tree.Change // the removal of Piece; that of finished messages, if it is in some
}

// OutlineTokens are the tokens of the pieces in an element, each counted by itself.
type OutlineTokens struct {
	Kept    int `json:"kept"`              // of the pieces that are left
	Trimmed int `json:"trimmed,omitempty"` // removed by trimming
	Dropped int `json:"dropped,omitempty"` // of the pieces that were dropped
}

func (t *OutlineTokens) add(u OutlineTokens) {
	t.Kept, t.Trimmed, t.Dropped = t.Kept+u.Kept, t.Trimmed+u.Trimmed, t.Dropped+u.Dropped
}

// String returns in words whether the tokens were kept.
func (t OutlineTokens) String() string {
	switch all := t.Kept + t.Trimmed + t.Dropped; {
	case t.Trimmed+t.Dropped == 0:
		return "kept"
	case t.Kept+t.Trimmed == 0:
		return "dropped"
	case t.Dropped == 0:
		return fmt.Sprintf("trimmed: %s of %s", thousands(t.Kept), thousands(all))
	default:
		return fmt.Sprintf("%s of %s", thousands(t.Kept), thousands(all))
	}
}

// tokens returns the tokens of a piece by outcome.
func (p *Piece) tokens() OutlineTokens {
	switch {
	case p.Dropped != Kept:
		return OutlineTokens{Dropped: p.Tokens}
	case p.TrimmedFrom > 0:
		return OutlineTokens{Kept: p.Tokens, Trimmed: p.TrimmedFrom - p.Tokens}
	}
	return OutlineTokens{Kept: p.Tokens}
}

// aligned formats a table in columns.
func aligned(table [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range table {
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	_ = w.Flush() // never fails for a Builder
	return b.String()
}

// splitNumber splits a name and its number among siblings.
func splitNumber(name string) (plain, number string) {
	at := siblingNumber.FindStringIndex(name)
	if at == nil || strings.Contains(name, " (") {
		return name, ""
	}
	return name[:at[0]], name[at[0]:]
}

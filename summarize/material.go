package summarize

import (
	"cmp"
	"encoding/json"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/breadcrumb"
)

// Material is what a compaction has to work with. A [Prompt] makes a request of it, and a [Replacement] what is put in
// place; neither needs anything else. What it holds is not theirs to change.
type Material struct {
	// Previous stands for what was compacted before, as the agent sees it; empty at the first compaction. Where a history
	// is summarised in pieces it stands for the pieces before.
	Previous []chat.Message
	// PreviousSummary is the words of that, without what was put around them.
	PreviousSummary string
	// Covered is what is summarised, as the prompt shows it. It obeys [chat.Validate] but for its last message, which may
	// be the assistant's. Of a history in pieces it is one piece.
	Covered []chat.Message
	// Data that the application keeps with the messages of Covered, one for each; nil if there is none at all.
	Data []json.RawMessage
	// TurnPrefix is the end of Covered that belongs to the turn that is cut; empty where the cut lies between two turns.
	TurnPrefix []chat.Message
	// Head is what is kept of the very start ([history.Cut.First]), without what is shown all the same, and Kept what is
	// newest. Kept goes on to be shown as it is; what is to be seen of Head, the replacement must show.
	Head, Kept []chat.Message
	// Sent is the request of the agent during which a compaction is made in the background; empty where there is none.
	// A request that begins with it is served from the provider's prompt cache.
	Sent []chat.Message
	// System are the agent's system messages as the prompt renders them, for requests that show them apart; empty where they
	// are not known.
	System []chat.Message
	// Said are the user's own messages that are not shown any more once the compaction is made, in order: those of earlier
	// compactions are among them, and what the application or a shell said in the user's place is not.
	Said []chat.Message
	// SaidLeft is how many more there were between the first of Said and the second: of more than 1,000 the newest are known.
	SaidLeft int
	// Instructions of the user who asked for the compaction; "" where nobody did.
	Instructions string
	// Context are lines that hooks add.
	Context []string
	// Notes are what the model that is asked must be told besides, such as that it may not call tools.
	Notes []string
	// Reminder is what the agent's model must be told after the summary; "" for most models.
	Reminder string
	// Files that were read and modified in what is covered, and in what was compacted before.
	Files history.Files
	// Workspace of the moment.
	Workspace
	// Tools that the agent has.
	Tools []chat.Tool
	// Breadcrumb in which all of it can be looked up.
	Breadcrumb Breadcrumb

	// Tokenizer that everything is measured with.
	Tokenizer chat.Tokenizer
	// Room is the most tokens that what is put in place may take, Words of that the summary's words.
	Room, Words int
	// ResultTokens is the most of a tool result that a request should show where it shows results short.
	ResultTokens int

	// Summary is the words that a model wrote. It is set for checks and replacements.
	Summary string
}

// Workspace is what the application knows of the work besides what was said. Whatever of it is empty is left out.
type Workspace struct {
	// Plan of the agent. Defaults to the newest [history.Todos] on the path.
	Plan string
	// Todo list, as text.
	Todo string
	// Skills that were invoked, in order.
	Skills []Skill
	// Agent says what a custom agent that is active does, for the one that takes over.
	Agent string
}

// Skill is a set of instructions that the agent was given by name.
type Skill struct{ Name, Instructions string }

// Breadcrumb says where everything that was said can be looked up. The zero value says nowhere.
type Breadcrumb struct {
	// Path of the file, absolute.
	Path string
	// Lines that it has.
	Lines int
	// Tool with which the agent reads files; "" if it has none that is known.
	Tool string
	// Example is a call of the tool that reads the newest lines: {path} in it stands for the path as JSON, {from} and {to} for
	// the numbers of lines. "" gives none.
	Example string
}

// breadcrumb returns the text that says so; "" for nowhere.
func (t Breadcrumb) breadcrumb() string { return breadcrumb.Text(t.Path, t.Lines, t.Tool, t.Example) }

// Prompt is how a model is asked for a summary. Take one of the package's and change a field, or make your own.
type Prompt struct {
	// Mode by which events and the session name the prompt.
	Mode Mode
	// Request is the tree of the request. It is rendered within what the summarising model takes in. What the user
	// said must not be left out of it: a history that does not fit is summarised in pieces.
	Request func(Material) elements.Node
	// Read takes the summary out of the answer. An error is a [*SummaryError] where the answer is to blame. Defaults to
	// the whole text.
	Read func(chat.Response) (string, error)
	// Background is for summaries that are made in the background only; others leave the prompt out.
	Background bool
	// Tools declares the agent's tools to the model, which may not call them.
	Tools bool
	// Forks says that the request goes on from [Material.Sent] and is declared as that was, so that the provider's cache
	// serves it. It is made to the agent's own model alone: not without such a request, and not if the policy names another
	// model to be asked first.
	Forks bool
	// Prefix is the tree of a second request, made at the same time as the first: it asks for a summary of
	// [Material.TurnPrefix], and the first then covers what is before it. Nil, and where no turn is cut, one request
	// covers all.
	Prefix func(Material) elements.Node
	// Merge joins the two summaries. It is needed where Prefix is set.
	Merge func(history, prefix string) string
	// Title is the tree of a last request, for a line for people, made of [Material.Summary]. Nil asks for none. Where
	// it fails there is no title.
	Title func(Material) elements.Node

	function string // the name of Request, if it is another
}

// functionName returns the name of Request.
func (p Prompt) functionName() string { return cmp.Or(p.function, "Prompt.Request") }

// Replacement makes the tree of what is put in place of what was covered, with [Material.Summary] in it. It is rendered
// within [Material.Room], and what comes out, user messages alone, is stored and replayed byte for byte. What must be
// there is Required; the rest, such as copies of what the user said, is pruned where there is no room.
type Replacement func(Material) elements.Node

// Check refuses a summary, [Material.Summary], with a [*SummaryError].
type Check func(Material) error

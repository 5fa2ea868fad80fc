package entry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/sizing"
)

// Retained holds what a compaction retains from the path before it, so that no reader has to go back further.
// history.Session.Add fills it in. All of it is bounded.
type Retained struct {
	// Lines is the number of lines in the store before the compaction's own; 0 if the store does not count them.
	Lines int `json:"lines,omitempty"`
	// Head holds the first 64 entries of the path that are shown.
	Head []Ref `json:"head,omitempty"`
	// Clearings holds the newest 64 clearings that concern entries in Head.
	Clearings []Ref `json:"clearings,omitempty"`
	// Start is the entry that starts the turn in which the compaction cuts, the zero value if the cut is between turns.
	Start Ref `json:"start,omitzero"`
	// Said holds the user's messages: the first, and the newest 999. SaidLeft is the number left out in between.
	Said     []Ref `json:"said,omitempty"`
	SaidLeft int   `json:"saidLeft,omitempty"`
	// Calls holds the ids of calls that have no result yet, the newest 1,000.
	Calls []string `json:"calls,omitempty"`
	// Latest holds the newest entry of each type.
	Latest map[Type]Ref `json:"latest,omitempty"`
	// Pins holds the newest 64 pinned entries, in the order in which they were pinned.
	Pins []Ref `json:"pins,omitempty"`
	// Custom holds the newest [Custom] entry of each name, in the order in which they were added, the newest 256.
	Custom []NamedRef `json:"custom,omitempty"`
	// Preambles holds the newest 16 by their digests.
	Preambles map[string]Ref `json:"preambles,omitempty"`
	// Models holds what was learnt of the newest 64 models ([Remembered]).
	Models []Learnt `json:"models,omitempty"`
	// Held is what requests leave out, the newest [MaxHeld] ([Remembered]).
	Held []Held `json:"held,omitempty"`
}

// Ref refers to an entry.
type Ref struct {
	ID string `json:"id"`
	// At is the entry's position in its store, 0 if that is not known. It is a hint: in a copied session the entry is
	// elsewhere.
	At storage.Position `json:"at,omitempty"`
}

// NamedRef refers to the newest [Custom] entry of a name.
type NamedRef struct {
	Name string `json:"name"`
	Ref
}

// Message returns the message of a [Message] entry, and the zero value for every other entry.
func (e Entry) Message() chat.Message {
	m, _ := e.Body.(Message)
	return m.Message
}

// Compaction returns the body of a [Compaction] entry, and the zero value for every other entry.
func (e Entry) Compaction() Compaction {
	c, _ := e.Body.(Compaction)
	return c
}

// Message is a message of a user, an assistant or a tool.
type Message struct {
	chat.Message
	// Data that the application stores with it. The model does not see it.
	Data json.RawMessage `json:"data,omitempty"`
}

// Shell is a command that the user, not the model, ran. The model sees it as the user's words, unless Hidden is set.
type Shell struct {
	Command string `json:"command"`
	// Output of the command, of any bytes.
	Output string `json:"output"`
	// ExitCode of the command, 0 if it succeeded.
	ExitCode int `json:"exitCode,omitempty"`
	// Cancelled reports that the command was stopped before its end.
	Cancelled bool `json:"cancelled,omitempty"`
	// Hidden keeps the command and its output from the model.
	Hidden bool `json:"hidden,omitempty"`
	// Data that the application stores with it.
	Data json.RawMessage `json:"data,omitempty"`
}

// CustomMessage is a message from the application, not the user, to the model: a reminder, a hook's finding. The model
// sees it as the user's words, between tags.
type CustomMessage struct {
	// Name of the part of the application that it is from.
	Name string `json:"name"`
	// Role of a message that cannot be sent in it: [chat.RoleSystem], or [chat.RoleTool] for a result without its call. The
	// tags name it. None by default.
	Role chat.Role `json:"role,omitempty"`
	// Content is shown to the model.
	Content chat.Parts `json:"content"`
	// Data that the application stores with it. The model does not see it.
	Data json.RawMessage `json:"data,omitempty"`
}

// Compaction replaces what was said before by messages, from the start of the path to the first entry that is kept. The
// entries that it covers stay in the session.
type Compaction struct {
	// Messages are shown in place of what is covered, usually a summary. They are shown byte for byte.
	Messages []chat.Message `json:"messages"`
	// FirstKept is the id of the first entry that is kept word for word, on the path that is compacted. It may be any
	// entry but a tool result and a compaction. "" covers everything up to LastCovered. The entry that starts a turn
	// that is cut stays in any case.
	FirstKept string `json:"firstKept,omitempty"`
	// LastCovered is the id of the last entry that is covered if FirstKept is "", so that what was appended while the
	// summary was made stays. "" covers everything said so far.
	LastCovered string `json:"lastCovered,omitempty"`
	// Thinking is covered thinking from which the model continues: it is put at the start of the first assistant
	// message shown after Messages if that belongs to the turn that is cut and has no thinking of its own. A provider
	// that checks thinking requires some at the start of a loop of tool calls. Each element is signed or encrypted, and
	// kept byte for byte.
	Thinking []chat.Thinking `json:"thinking,omitempty"`
	// TokensBefore is the size of the prompt before the compaction, and TokensAfter its size afterwards.
	TokensBefore int `json:"tokensBefore,omitempty"`
	TokensAfter  int `json:"tokensAfter,omitempty"`
	// Plan is the id of the [Plan] that the compaction ends, "" if there was none.
	Plan string `json:"plan,omitempty"`
	// Mode names how the summary was made, for readers of the log.
	Mode string `json:"mode,omitempty"`
	// Model is the name of the model that wrote the summary and Server its server's ([chat.Origin]), Answers the number of
	// requests that it answered for it, and Asked our count of the largest of them, messages and tools, in tokens. Both are
	// 0 if no model was asked.
	Model   string `json:"model,omitempty"`
	Server  string `json:"server,omitempty"`
	Answers int    `json:"answers,omitempty"`
	Asked   int    `json:"asked,omitempty"`
	// Unseen reports that the request for the summary left some of the covered messages out, because they were too
	// large for the model.
	Unseen bool `json:"unseen,omitempty"`
	// Doubt says in which respect the summary lacks the form of one, if it was used because no other answer was better.
	Doubt string `json:"doubt,omitempty"`
	// Title describes the summary in one line, for people.
	Title string `json:"title,omitempty"`
	// Checkpoints is the folder in which the summary is written to a file too (package checkpoints). "" for none.
	Checkpoints string `json:"checkpoints,omitempty"`
	// Retained holds what later compactions need from before this one. history.Session.Add fills it in.
	Retained Retained `json:"retained,omitzero"`
	Summary
}

// Boundary returns the id of the entry that says where the compaction cuts, "" if it covers everything.
func (c Compaction) Boundary() string { return cmp.Or(c.FirstKept, c.LastCovered) }

// BranchSummary describes what was done on a branch that was left. Its parent is the entry from which the work
// continues, and the model sees it as the user's words.
type BranchSummary struct {
	// From is the last entry of the branch that was left.
	From string `json:"from"`
	Summary
}

// Summary holds the common fields of [Compaction] and [BranchSummary].
type Summary struct {
	// Text as the model wrote it, without what was put around it, for the next summary to build on.
	Text string `json:"text,omitempty"`
	// Files that were read and modified in what the summary covers.
	Files Files `json:"files,omitzero"`
	// Extension reports that the summary was supplied from outside, so that its Files are not relied on.
	Extension bool `json:"extension,omitempty"`
	// Data that the maker of the summary stores with it.
	Data json.RawMessage `json:"data,omitempty"`
}

// Files lists paths as the tools received them, the most recently used last. A path in Modified is not in Read.
type Files struct {
	Read     []string `json:"read,omitempty"`
	Modified []string `json:"modified,omitempty"`
	// Left is approximately the number of further files, which are not listed.
	Left int `json:"left,omitempty"`
}

// Branch records that the session continued from its parent, which was not the entry appended last: an undo, or a
// switch to another branch. See history.Session.Branch.
type Branch struct {
	// From is the leaf that was left.
	From string `json:"from,omitempty"`
}

// Custom holds data that the application stores in the session for itself. history.Session.Customs returns the newest of
// each name, also from before a compaction.
type Custom struct {
	// Name of the part of the application that it is from, and of what in it the data is about.
	Name string `json:"name"`
	// Of is the id of the call whose result says what is in Data, "" if there is none. The data is erased with the result.
	Of string `json:"of,omitempty"`
	// Data of any form. An entry without data ends its name.
	Data json.RawMessage `json:"data,omitempty"`
}

// Label names an entry for people.
type Label struct {
	// Target is the id of the entry that is named.
	Target string `json:"target"`
	// Text of the label; "" removes it.
	Text string `json:"text,omitempty"`
}

// Pin keeps an entry that was said word for word through compactions: each copies it beside the summary, until the entry
// is unpinned. See history.Session.Pin.
type Pin struct {
	// Ref refers to the pinned entry. history.Session.Add fills in its position.
	Ref
	// Off unpins the entry.
	Off bool `json:"off,omitempty"`
}

// ModelChange records which model answers from here on.
type ModelChange struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model"`
}

// ThinkingChange records how hard the model thinks from here on.
type ThinkingChange struct {
	// Level as the application names it, such as "off" or "high".
	Level string `json:"level"`
}

// Todos records the agent's plan and its list of things to do.
type Todos struct {
	Text  string `json:"text,omitempty"`
	Items []Todo `json:"items,omitempty"`
}

// List returns the things to do as text, one a line with its status.
func (t Todos) List() string {
	var b strings.Builder
	for _, item := range t.Items {
		fmt.Fprintf(&b, "- %s (%s)\n", item.Text, cmp.Or(item.Status, "pending"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Todo is one thing to do.
type Todo struct {
	Text string `json:"text"`
	// Status as the application names it, such as "pending" or "done".
	Status string `json:"status,omitempty"`
}

// Usage records what a provider reported for a request.
type Usage struct {
	// Of is the id of the entry that answered the request. "" means the parent.
	Of string `json:"of,omitempty"`
	// Model is the model's name, and Server its server's ([chat.Origin]), "" if that is not known.
	Model  string `json:"model,omitempty"`
	Server string `json:"server,omitempty"`
	chat.Usage
	// Counted is our own count of the same request, messages and tools, in tokens; 0 if it is not known. Input divided
	// by Counted is the ratio between the provider's counts and ours.
	Counted int `json:"counted,omitempty"`
	// Bytes is our own count of the bytes of the same request's body, and Body their number, 0 if it is not known. Body
	// divided by Bytes is the ratio between the two.
	Bytes int `json:"bytes,omitempty"`
	Body  int `json:"body,omitempty"`
	// Cost in US dollars, 0 if it is not known.
	Cost float64 `json:"cost,omitempty"`
	// Sent identifies the request, so that the next one can be compared with it.
	Sent sizing.Sent `json:"sent,omitzero"`
}

// Unknown is an entry of a type that this version does not know. It is kept, and written back unchanged.
type Unknown struct {
	Kind Type
	// Line as it is in the log, without its checksum and the line break.
	Line json.RawMessage
}

func (Message) bodyType() Type { return TypeMessage }

func (Shell) bodyType() Type { return TypeShell }

func (CustomMessage) bodyType() Type { return TypeCustomMessage }

func (Compaction) bodyType() Type { return TypeCompaction }

func (BranchSummary) bodyType() Type { return TypeBranchSummary }

func (Branch) bodyType() Type { return TypeBranch }

func (Custom) bodyType() Type { return TypeCustom }

func (Label) bodyType() Type { return TypeLabel }

func (ModelChange) bodyType() Type { return TypeModelChange }

func (ThinkingChange) bodyType() Type { return TypeThinkingChange }

func (Todos) bodyType() Type { return TypeTodos }

func (Usage) bodyType() Type { return TypeUsage }

func (Clearing) bodyType() Type { return TypeClearing }

func (Preamble) bodyType() Type { return TypePreamble }

func (Plan) bodyType() Type { return TypePlan }

func (PlanEnd) bodyType() Type { return TypePlanEnd }

func (Refusal) bodyType() Type { return TypeRefusal }

func (Pin) bodyType() Type { return TypePin }

func (Erasure) bodyType() Type { return TypeErasure }

func (u Unknown) bodyType() Type { return u.Kind }

package history

import (
	"encoding/json"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// Entry is one line of a session: something that was said or done, and the entry that it follows.
type Entry struct {
	// ID of the entry, unique in its session, of at most [MaxID] bytes.
	ID string
	// Parent is the entry that it follows, "" for the first. Two entries with one parent are two branches.
	Parent string
	// Time at which it was appended, or at which it happened where it comes from elsewhere.
	Time time.Time
	// Body is what was said or done.
	Body Body
	// Redacted lists the paths, in the JSON of the entry's line, of what [Options.Redact] changed before it was written.
	Redacted []string
}

// MaxID is the most bytes that the id of an entry may have.
const MaxID = 128

// Body is what an entry says: [Message], [Shell], [Compaction], [BranchSummary], [CustomMessage], [Custom], [Label],
// [ModelChange], [ThinkingChange], [Todos], [Usage], [Clearing], [Preamble], [Plan], [PlanEnd], [Refusal], [Branch],
// [Erasure], or [Unknown] for what a later version wrote. The set is
// closed, so that a switch over it can be complete.
type Body interface{ kind() EntryType }

// Type names the kind of the entry, "" where it has no body.
func (e Entry) Type() EntryType {
	if e.Body == nil {
		return ""
	}
	return e.Body.kind()
}

// Message gives the message of a [Message] entry. That of every other entry has no role.
func (e Entry) Message() chat.Message {
	m, _ := e.Body.(Message)
	return m.Message
}

// Compaction gives that of a [Compaction] entry. That of every other entry is empty.
func (e Entry) Compaction() Compaction {
	c, _ := e.Body.(Compaction)
	return c
}

// EntryType names a kind of entry, in the log too: the body of an entry stands under the name of its type.
type EntryType string

// The kinds of entries.
const (
	// What a model sees, each in its place.
	TypeMessage       EntryType = "message"
	TypeShell         EntryType = "shell"
	TypeCustomMessage EntryType = "customMessage"
	TypeBranchSummary EntryType = "branchSummary"
	TypeCompaction    EntryType = "compaction"
	// What only the session knows.
	TypeBranch         EntryType = "branch"
	TypeCustom         EntryType = "custom"
	TypeLabel          EntryType = "label"
	TypeModelChange    EntryType = "modelChange"
	TypeThinkingChange EntryType = "thinkingChange"
	TypeTodos          EntryType = "todos"
	TypeUsage          EntryType = "usage"
	// What compaction keeps in the session.
	TypeClearing EntryType = "clearing"
	TypePreamble EntryType = "preamble"
	TypePlan     EntryType = "plan"
	TypePlanEnd  EntryType = "planEnd"
	TypeRefusal  EntryType = "refusal"
	// What was erased.
	TypeErasure EntryType = "erasure"
	// The first line of a log is its header and no entry.
	TypeSession EntryType = "session"
)

// Header is the first line of a session.
type Header struct {
	// ID of the session. Defaults to a random one.
	ID string `json:"id"`
	// Time at which it began. Defaults to now.
	Time time.Time `json:"time"`
	// From is the session that this one was made from, as its maker names it.
	From string `json:"from,omitempty"`
	// Data that the application keeps with the session, such as its folder.
	Data json.RawMessage `json:"data,omitempty"`
	// Redacted lists the paths of what [Options.Redact] changed before it was written.
	Redacted []string `json:"redacted,omitempty"`
}

// Message is what a user, an assistant or a tool said.
type Message struct {
	chat.Message
	// Data that the application keeps with it. No model sees it.
	Data json.RawMessage `json:"data,omitempty"`
}

// Shell is a command that the user, not the model, ran. A model sees it as the user's words, unless it is Hidden.
type Shell struct {
	Command string `json:"command"`
	// Output of the command, of any bytes.
	Output string `json:"output"`
	// ExitCode of the command, 0 where it went well.
	ExitCode int `json:"exitCode,omitempty"`
	// Cancelled tells that it was stopped before its end.
	Cancelled bool `json:"cancelled,omitempty"`
	// Hidden keeps it from the model.
	Hidden bool `json:"hidden,omitempty"`
	// Data that the application keeps with it.
	Data json.RawMessage `json:"data,omitempty"`
}

// CustomMessage is what the application, not the user, tells the model: a reminder, a hook's finding. A model sees it as
// the user's words.
type CustomMessage struct {
	// Name says which part of the application it is from.
	Name string `json:"name"`
	// Content that the model sees.
	Content chat.Parts `json:"content"`
	// Data that the application keeps with it. No model sees it.
	Data json.RawMessage `json:"data,omitempty"`
}

// Compaction stands for what was said before: the messages that replace it and the place from which on everything is
// kept. The entries that it covers stay in the session.
type Compaction struct {
	// Messages that are shown in place of what is covered: a summary, most often. They are finished, and shown byte
	// for byte.
	Messages []chat.Message `json:"messages"`
	// FirstKept is the id of the first entry that is kept word for word, on the path that is compacted. It may be any
	// but a tool result and a compaction. "" covers everything up to LastCovered. The entry that starts a turn which
	// is cut stays, whatever FirstKept says.
	FirstKept string `json:"firstKept,omitempty"`
	// LastCovered is the id of the last entry that is covered, where FirstKept is "": what was appended while the
	// summary was made stays. "" covers everything said so far.
	LastCovered string `json:"lastCovered,omitempty"`
	// Thinking that is covered, and with which the model goes on: the first assistant message shown after Messages begins
	// with it, as long as it belongs to the turn that is cut and has no thinking of its own. A provider that checks thinking
	// wants some at the start of the calls that go on. Each is signed or encrypted, and kept byte for byte.
	Thinking []chat.Thinking `json:"thinking,omitempty"`
	// TokensBefore and TokensAfter are what the prompt needed before and takes after.
	TokensBefore int `json:"tokensBefore,omitempty"`
	TokensAfter  int `json:"tokensAfter,omitempty"`
	// Plan is the id of the [Plan] that the compaction ends, "" if there was none.
	Plan string `json:"plan,omitempty"`
	// Mode says how the summary was made, for the reader of the log.
	Mode string `json:"mode,omitempty"`
	// Title says in a line what the summary says, for people.
	Title string `json:"title,omitempty"`
	// Carried is what later compactions need of what is before this one. [Session.Add] fills it in.
	Carried Carried `json:"carried,omitzero"`
	Summary
}

// BranchSummary tells what was done on a branch that was left. It follows the entry at which the work goes on, and a
// model sees it as the user's words.
type BranchSummary struct {
	// From is the last entry of the branch that was left.
	From string `json:"from"`
	Summary
}

// Summary is what a [Compaction] and a [BranchSummary] share.
type Summary struct {
	// Text that the model wrote, without what was put around it, for the next summary to build on.
	Text string `json:"text,omitempty"`
	// Files that were read and modified in what is summarised.
	Files Files `json:"files,omitzero"`
	// Extension tells that the summary was supplied from outside: its Files are not counted on.
	Extension bool `json:"extension,omitempty"`
	// Data that whoever made the summary keeps with it.
	Data json.RawMessage `json:"data,omitempty"`
}

// Files are paths as the tools were given them, those that were touched last at the end. One that was modified does not stand
// among those read.
type Files struct {
	Read     []string `json:"read,omitempty"`
	Modified []string `json:"modified,omitempty"`
	// Left is about how many more there were, which are not listed.
	Left int `json:"left,omitempty"`
}

// Branch tells that the session went on from its parent, which is not the entry appended last: an undo, or a switch to
// another branch. See [Session.Branch].
type Branch struct {
	// From is the leaf that was left.
	From string `json:"from,omitempty"`
}

// Custom is what the application keeps in the session for itself.
type Custom struct {
	// Name says which part of the application it is from.
	Name string          `json:"name"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Label names an entry for people.
type Label struct {
	// Target is the entry that is named.
	Target string `json:"target"`
	// Text of the label; "" takes it away.
	Text string `json:"text,omitempty"`
}

// ModelChange tells which model answers from here on.
type ModelChange struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model"`
}

// ThinkingChange tells how hard the model thinks from here on.
type ThinkingChange struct {
	// Level as the application names it, such as "off" or "high".
	Level string `json:"level"`
}

// Todos is the agent's plan at a moment, and its list of things to do.
type Todos struct {
	Text  string `json:"text,omitempty"`
	Items []Todo `json:"items,omitempty"`
}

// Todo is one thing to do.
type Todo struct {
	Text string `json:"text"`
	// Status as the application names it, such as "pending" or "done".
	Status string `json:"status,omitempty"`
}

// Usage is what a provider said that a request took.
type Usage struct {
	// Of is the entry that the request was answered with. "" is the parent.
	Of    string `json:"of,omitempty"`
	Model string `json:"model,omitempty"`
	chat.Usage
	// Counted is our own count of that same request, messages and tools, in tokens; 0 if it is not known. Input divided
	// by Counted says how far our counts are from the provider's.
	Counted int `json:"counted,omitempty"`
	// Cost in US dollars, 0 where it is not known.
	Cost float64 `json:"cost,omitempty"`
	// Sent is what is remembered of that request, so that the next one can be compared with it.
	Sent sizing.Sent `json:"sent,omitzero"`
}

// Unknown is an entry of a kind that this version does not know. It is kept, and written back unchanged.
type Unknown struct {
	Kind EntryType
	// Line as it stands in the log, without its end.
	Line json.RawMessage
}

func (Message) kind() EntryType        { return TypeMessage }
func (Shell) kind() EntryType          { return TypeShell }
func (CustomMessage) kind() EntryType  { return TypeCustomMessage }
func (Compaction) kind() EntryType     { return TypeCompaction }
func (BranchSummary) kind() EntryType  { return TypeBranchSummary }
func (Branch) kind() EntryType         { return TypeBranch }
func (Custom) kind() EntryType         { return TypeCustom }
func (Label) kind() EntryType          { return TypeLabel }
func (ModelChange) kind() EntryType    { return TypeModelChange }
func (ThinkingChange) kind() EntryType { return TypeThinkingChange }
func (Todos) kind() EntryType          { return TypeTodos }
func (Usage) kind() EntryType          { return TypeUsage }
func (Clearing) kind() EntryType       { return TypeClearing }
func (Preamble) kind() EntryType       { return TypePreamble }
func (Plan) kind() EntryType           { return TypePlan }
func (PlanEnd) kind() EntryType        { return TypePlanEnd }
func (Refusal) kind() EntryType        { return TypeRefusal }
func (Erasure) kind() EntryType        { return TypeErasure }
func (u Unknown) kind() EntryType      { return u.Kind }

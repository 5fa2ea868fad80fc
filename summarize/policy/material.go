package policy

import (
	"encoding/json"
	"reflect"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// Material holds everything that a [Prompt] makes a request from, and a [Replacement] the messages to put in place.
// They must not change it.
type Material struct {
	// Previous holds the messages that stand for the history that was compacted before, as the agent sees them; empty at the
	// first compaction. If a history is summarised in segments, they stand for the segments before.
	Previous []chat.Message
	// PreviousSummary is the summary's words in Previous, without the text around them.
	PreviousSummary string

	// Covered holds the messages to summarise, as the prompt shows them. [chat.Validate] accepts them, except that the last
	// may be the assistant's. If a history is summarised in segments, Covered, Data and TurnPrefix are of one segment.
	Covered []chat.Message
	// Data that the application keeps with the messages of Covered, one for each message; nil if no message has any.
	Data []json.RawMessage
	// TurnPrefix is the end of Covered that belongs to the turn that is cut; empty if the cut is between two turns.
	TurnPrefix []chat.Message
	// Said holds the user's own messages that are not shown any more after the compaction, in order. Those of earlier
	// compactions are among them; messages that the application or a shell said in the user's place are not.
	Said []chat.Message
	// SaidHandles says for each of Said how the agent reads it ([history.Session.Handle]); nil if it cannot.
	SaidHandles []string
	// SaidLeft is how many messages are missing between the first of Said and the second: of more than 1,000 messages,
	// only the first and the newest are known.
	SaidLeft int
	// Files that were read and modified in the covered history and in the history that was compacted before.
	Files entry.Files

	// Head holds the first messages of the session that are kept ([history.Cut.First]), without those that are shown
	// anyway. Kept holds the newest messages. The prompt goes on to show Kept; if Head is to be seen, the replacement
	// must show it.
	Head, Kept []chat.Message
	// Pinned holds the pinned entries that are not shown any more after the compaction. The engine shows them behind the
	// replacement.
	Pinned []PinnedEntry
	// Breadcrumb says where the whole history can be looked up.
	Breadcrumb Breadcrumb
	// Reminder is text for the agent's model after the summary; "" for most models.
	Reminder string

	// Sent holds the messages of the agent's last request if the compaction is made in the background; empty otherwise. A
	// request that begins with them is served from the provider's prompt cache.
	Sent []chat.Message
	// System holds the system messages as the prompt renders them, for requests that show them apart; empty if they are not
	// known.
	System []chat.Message
	// Tools that the agent has.
	Tools []chat.Tool

	// Instructions of the user who asked for the compaction; "" if no user did.
	Instructions string
	// Context holds the lines that hooks add.
	Context []string
	// Notes for the model that is asked, for example that it may not call tools.
	Notes []string

	// Tokenizer that all sizes are measured with.
	Tokenizer chat.Tokenizer
	// Room is the most tokens that the replacement may take, and Words how many of them the summary's words may take.
	Room, Words int
	// ResultTokens is the most tokens of a tool result in a request that clips results.
	ResultTokens int

	Workspace
	// Summary is the words that a model wrote. It is set for checks, replacements and titles.
	Summary string
}

// HandleOf returns the handle of one of the user's own messages, "" if it has none.
func (m Material) HandleOf(said chat.Message) string {
	for i, handle := range m.SaidHandles {
		if reflect.DeepEqual(m.Said[i], said) {
			return handle
		}
	}
	return ""
}

// Workspace holds what the application knows of the work besides the messages. Empty fields are left out.
type Workspace struct {
	// Plan of the agent. Defaults to the newest [entry.Todos] on the path.
	Plan string
	// Todo list, as text.
	Todo string
	// Skills that were invoked, each once, in the order of their latest invocation.
	Skills []InvokedSkill
	// Agent says what the active custom agent does, for the agent that takes over.
	Agent string
}

// InvokedSkill is a set of instructions that the agent was given by name. Path is its file, "" if it has none.
type InvokedSkill struct{ Name, Path, Instructions string }

// PinnedEntry is a pinned entry.
type PinnedEntry struct {
	// Entry is its id, and Role whose words it has.
	Entry string
	Role  chat.Role
	// Text holds its words, in which nothing reads as a tag or mark of promptree's, or a note with its handle if they
	// do not fit (Left), of Tokens tokens.
	Text   string
	Left   bool
	Tokens int
}

// Breadcrumb says where everything that was said can be looked up. The zero value means nowhere.
type Breadcrumb struct {
	// Recall says that the agent looks it up with the tools of package recall. The other fields are empty then, but for
	// Lines.
	Recall bool
	// Path of the transcript, absolute.
	Path string
	// Texts is the folder that holds the texts of long entries, "" if there is none.
	Texts string
	// Lines of the transcript.
	Lines int
	// Tool with which the agent reads files; "" if no such tool is known.
	Tool string
	// Example is a call of the tool that reads the newest lines. In it {path} stands for the path as JSON, {from} and
	// {to} for the line numbers. "" for none.
	Example string
}

// Prompt is a way to ask a model for a summary. Take one of the package's and change a field, or make your own.
type Prompt struct {
	// Mode is the prompt's name, in events and in the session.
	Mode Mode
	// Request returns the tree of the request, which is rendered so that it fits the model that is asked. It must keep
	// what the user said: a history that does not fit is summarised in segments.
	Request func(Material) elements.Node
	// Asked is the form that the request asks the answer to have.
	Asked AnswerForm
	// Read returns the summary in an answer, and a [*SummaryError] if the answer has none. Defaults to the content of
	// Asked.Tag, or else to the whole text, after what the model thought first.
	Read func(chat.Response) (string, error)
	// Drops means that the request may leave covered messages out if they do not fit the model, instead of asking in
	// segments. The compaction then says so ([entry.Compaction].Unseen).
	Drops bool
	// Background uses the prompt only for summaries that are made in the background.
	Background bool
	// OnDemand uses the prompt only if somebody asked for the compaction, unless [Ask].Mode forces its mode.
	OnDemand bool
	// Tools declares the agent's tools to the model, which must not call them.
	Tools bool
	// Forks means that the request continues [Material.Sent] with the same declarations, so that the provider serves it
	// from its cache. The prompt is used only if there is such a request, and only if the agent's own model is the
	// first to be asked.
	Forks bool
	// Prefix returns the tree of a second request, made in parallel to the first. It asks for a summary of
	// [Material.TurnPrefix]; the first then covers the history before that. If Prefix is nil, or no turn is cut, one
	// request covers everything.
	Prefix func(Material) elements.Node
	// Merge joins the two summaries. It is required if Prefix is set.
	Merge func(history, prefix string) string
	// Title returns the tree of a last request, for a title made from [Material.Summary]. Nil asks for none. If the
	// request fails, there is no title.
	Title func(Material) elements.Node
}

// Replacement returns the tree of the messages that replace the covered history, with [Material.Summary] in it. It is
// rendered within [Material.Room]. The result must be user messages only; it is stored and replayed byte for byte. Make
// the parts that must be there Required; others, such as copies of the user's messages, are pruned if there is no room.
type Replacement func(Material) elements.Node

// AnswerForm is the form of an answer. An answer without it is asked for again in another way.
type AnswerForm struct {
	// Tag is the name of the tag around the summary, such as "summary".
	Tag string
	// Headings asks for one heading or more. Their words do not count: they are in the language of the conversation.
	Headings bool
}

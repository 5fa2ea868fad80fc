package plaintext

import (
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Tag is a tag that promptree writes around texts in a prompt. What stands in it and was not written by promptree goes
// through [Outside], so that it neither ends the tag nor begins another. There are no others than those below, but for
// those of a policy's author ([Named]).
type Tag struct{ name string }

// tags holds the names of the tags below.
var tags = map[string]bool{}

func tag(name string) Tag {
	tags[name] = true
	return Tag{name}
}

// Named returns a tag of any name.
func Named(name string) Tag { return Tag{name} }

// The tags. A name with a hyphen is promptree's alone; others are words that code and HTML have, too. The <summary> and
// <analysis> of an answer are not among them: they are removed when it is read.
var (
	SummaryTag         = tag("conversation-summary") // the replacement of a history
	TranscriptTag      = tag("transcript")           // the pointer to the transcript in it
	IndexTag           = tag("history-index")        // names that are no longer shown
	HistoryTag         = tag("history")              // a history as lines ([Block.Lines])
	ConversationTag    = tag("conversation")         // the same
	StartTag           = tag("conversation-start")   // what the agent did first
	PreviousHistoryTag = tag("previous-chat-history")
	PreviousSummaryTag = tag("previous-summary")
	DraftTag           = tag("summary-draft")           // a summary that is too long
	CompactionTag      = tag("conversation-compaction") // the request for a summary that follows a conversation
	ContextTag         = tag("additional-context")      // what hooks add to a request
	PinnedTag          = tag("pinned")                  // an entry
	UserMessagesTag    = tag("user-messages")           // copies
	UserMessageTag     = tag("user-message")            // one of them
	UserTag            = tag("user")
	AssistantTag       = tag("assistant")
	PlanTag            = tag("plan")
	TodoTag            = tag("todo")
	AgentTag           = tag("agent")
	ReadTag            = tag("read-files")
	ModifiedTag        = tag("modified-files")
	SkillTag           = tag("skill")
	SkillsTag          = tag("skills")       // the catalogue
	InstructionsTag    = tag("instructions") // a file
	ImportedTag        = tag("imported")     // a file that it imports
	DefinitionTag      = tag("tool-definition")
	ResourceTag        = tag("server-resource") // of the Model Context Protocol
	CommandTag         = tag("shell-command")   // that the user ran
	OutputTag          = tag("shell-output")
	CustomTag          = tag("custom-message") // of the application
	BranchTag          = tag("branch-summary")
	EntryTag           = tag("session-entry")  // what an entry of the session says
	SystemTag          = tag("system-message") // one that cannot be sent in its role
	ResultTag          = tag("tool-result")    // one without its call
)

func (t Tag) String() string { return t.name }

// Open returns the opening tag, with attributes given as names and values. The values may be from outside.
func (t Tag) Open(attributes ...string) string {
	var b strings.Builder
	b.WriteString("<" + t.name)
	for i := 0; i < len(attributes); i += 2 {
		b.WriteString(" " + attributes[i] + `="` + Outside(Attribute(attributes[i+1])) + `"`)
	}
	return b.String() + ">"
}

// Close returns the closing tag.
func (t Tag) Close() string { return "</" + t.name + ">" }

// Around returns a text from outside between the tags, each on a line of its own.
func (t Tag) Around(text string, attributes ...string) string {
	if text = Outside(text); !tags[t.name] {
		text = t.Without(text)
	}
	return t.Holding(text, attributes...)
}

// Holding is [Tag.Around] of a text that is finished: promptree wrote it, and what of it is from outside is harmless.
func (t Tag) Holding(text string, attributes ...string) string {
	return t.Open(attributes...) + "\n" + strings.TrimSuffix(text, "\n") + "\n" + t.Close()
}

// Parts returns parts from outside between the tags.
func (t Tag) Parts(content chat.Parts, attributes ...string) chat.Parts {
	parts, texts := chat.Parts{}, t.Open(attributes...)+"\n"
	said := ""
	for _, p := range content {
		if text, ok := p.(chat.Text); ok {
			said += string(text) // adjacent texts may hold one tag
			continue
		}
		if texts += Outside(said); texts != "" {
			parts = append(parts, chat.Text(texts))
		}
		parts, texts, said = append(parts, p), "", ""
	}
	return append(parts, chat.Text(texts+Outside(said)+"\n"+t.Close()))
}

var attributes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;", "\t", "&#9;")

// Attribute escapes the value of an attribute of a tag.
func Attribute(value string) string { return attributes.Replace(value) }

// LeftOut returns the mark for something that is left out, with the handle by which it is read, if there is one, and names
// in it.
func LeftOut(what, handle string, names ...string) string {
	return "[" + what + " left out here" + behind(handle, names) + "]"
}

// CutHere returns the mark for what was cut out of a text, so many tokens or bytes, with the handle by which it is read, if
// there is one.
func CutHere(n int, unit, handle string) string {
	return "[... " + strconv.Itoa(n) + " " + unit + " cut here" + behind(handle, nil) + cutEnd
}

const cutEnd = " ...]"

// Naming returns a mark of [CutHere] with names in what was cut.
func Naming(mark string, names []string) string {
	return strings.TrimSuffix(mark, cutEnd) + behind("", names) + cutEnd
}

// NamesInIt stands in a mark before names.
const NamesInIt = "; names in it: "

func behind(handle string, names []string) (text string) {
	if handle != "" {
		text = ": " + handle
	}
	if len(names) > 0 {
		text += NamesInIt + Outside(strings.Join(names, ", "))
	}
	return text
}

// InTags returns the texts between tags of a name. Only tags on a line of their own count.
func InTags(text string, tag Tag) []string {
	var list []string
	for rest := "\n" + text; ; {
		_, after, _ := strings.Cut(rest, "\n"+tag.Open()+"\n")
		body, next, ok := strings.Cut(after, "\n"+tag.Close())
		if !ok {
			return list
		}
		list = append(list, body)
		rest = next
	}
}

// Summary returns the summary in a message that replaces a history, and false for any other message.
func Summary(text string) (string, bool) {
	body, ok := strings.CutPrefix(text, SummaryTag.Open()+"\n")
	if !ok {
		return "", false
	}
	body = strings.TrimSuffix(body, SummaryTag.Close())
	if i := strings.LastIndex(body, "\n<"+TranscriptTag.name+" "); i >= 0 {
		body = body[:i]
	}
	return strings.TrimSpace(body), true
}

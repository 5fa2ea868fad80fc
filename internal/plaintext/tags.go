package plaintext

import (
	"regexp"
	"strings"
)

// Names of tags.
const (
	// SummaryTag holds the replacement of a history.
	SummaryTag = "conversation-summary"
	// HistoryTag and ConversationTag hold a history as lines ([Block.Lines]).
	HistoryTag      = "history"
	ConversationTag = "conversation"
	// PreviousHistoryTag and PreviousSummaryTag hold the previous summary.
	PreviousHistoryTag = "previous-chat-history"
	PreviousSummaryTag = "previous-summary"
	// DraftTag holds a summary that is too long.
	DraftTag = "summary-draft"
	// PinnedTag holds a pinned entry.
	PinnedTag = "pinned"
	// CompactionTag marks the request for a summary that follows a conversation.
	CompactionTag = "conversation-compaction"
	// InstructionsTag and ImportedTag hold an instruction file, and a file that it imports.
	InstructionsTag = "instructions"
	ImportedTag     = "imported"
)

// Marks of the replacement of a history: its tag, the start of the tag of the pointer to the transcript, and the tag of
// the index.
const (
	SummaryOpen    = "<" + SummaryTag + ">"
	SummaryClose   = "</" + SummaryTag + ">"
	TranscriptOpen = "<transcript "
	IndexTag       = "history-index"
	IndexOpen      = "<" + IndexTag + ">"
)

// ownTags matches the tags with which summarising wraps histories and summaries, in requests and replacements. The
// <summary> and <analysis> of an answer are not among them: they are removed when it is read, and HTML has a <summary>
// too.
var ownTags = MatchTags(
	SummaryTag, "transcript", PreviousHistoryTag, "user-messages", "user-message", "plan", "todo", "skills", "skill", "agent",
	"read-files", "modified-files", "conversation-start", "tool-definition",
	ConversationTag, HistoryTag, IndexTag, "user", "assistant", PreviousSummaryTag, "additional-context", CompactionTag, DraftTag, PinnedTag,
)

// MatchTags returns an expression that matches opening and closing tags of these names. Its group is the text after the
// <.
func MatchTags(names ...string) *regexp.Regexp {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return regexp.MustCompile(`<(/?(?:` + strings.Join(quoted, "|") + `)(?:[\s/>]|$))`)
}

// Untagged escapes promptree's own tags in a text with a backslash after the <. A text that is escaped already is
// unchanged.
func Untagged(text string) string { return ownTags.ReplaceAllString(text, `<\$1`) }

var instructionTags = regexp.MustCompile("(?i)" + MatchTags(InstructionsTag, ImportedTag).String())

// NoInstructions escapes the tags of instruction files in a text from outside.
func NoInstructions(text string) string { return instructionTags.ReplaceAllString(text, `<\$1`) }

// leftOut matches the beginning of a line that reads as promptree's mark for something left out or cut.
var leftOut = regexp.MustCompile(`(?m)^([^\S\n]*)(\[[^\n]*(?:left out|cut) here)`)

// Unmarked escapes lines that read as promptree's marks for what was left out, whose handles agents follow, with a
// backslash before the [. A text that is escaped already is unchanged.
func Unmarked(text string) string { return leftOut.ReplaceAllString(text, `$1\$2`) }

var attributes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;", "\t", "&#9;")

// Attribute escapes the value of an attribute of a tag.
func Attribute(value string) string { return attributes.Replace(value) }

// Tagged returns a text between tags, each on a line of its own.
func Tagged(tag, text string) string { return "<" + tag + ">\n" + text + "\n</" + tag + ">" }

// InTags returns the texts between tags of a name. Only tags on a line of their own count.
func InTags(text, tag string) []string {
	var list []string
	for rest := "\n" + text; ; {
		_, after, ok := strings.Cut(rest, "\n<"+tag+">\n")
		if !ok {
			return list
		}
		body, next, ok := strings.Cut(after, "\n</"+tag+">")
		if !ok {
			return list
		}
		list = append(list, body)
		rest = next
	}
}

// Summary returns the summary in a message that replaces a history, and false for any other message.
func Summary(text string) (string, bool) {
	body, ok := strings.CutPrefix(text, SummaryOpen+"\n")
	if !ok {
		return "", false
	}
	body = strings.TrimSuffix(body, SummaryClose)
	if i := strings.LastIndex(body, "\n"+TranscriptOpen); i >= 0 {
		body = body[:i]
	}
	return strings.TrimSpace(body), true
}

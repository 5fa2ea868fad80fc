package plaintext

import (
	"regexp"
	"strings"
)

// Tags by their names.
const (
	// SummaryTag holds what stands for a history.
	SummaryTag = "conversation-summary"
	// HistoryTag and ConversationTag hold a history as lines ([Block.Lines]).
	HistoryTag      = "history"
	ConversationTag = "conversation"
	// PreviousHistoryTag and PreviousSummaryTag hold the summary of what went before.
	PreviousHistoryTag = "previous-chat-history"
	PreviousSummaryTag = "previous-summary"
	// DraftTag holds a summary that is too long.
	DraftTag = "summary-draft"
	// CompactionTag marks the request for a summary that follows a conversation.
	CompactionTag = "conversation-compaction"
)

// Marks of what stands for a history: its tag, and the start of the tag of the pointer to the transcript.
const (
	SummaryOpen    = "<" + SummaryTag + ">"
	SummaryClose   = "</" + SummaryTag + ">"
	TranscriptOpen = "<transcript "
)

// own matches what opens or closes a tag that summarising puts around histories, summaries and what stands beside them, in
// requests and in what is put in place. The <summary> and <analysis> of an answer are not among them: they are gone once it
// was read, and HTML has a <summary> too.
var own = MatchTags(
	SummaryTag, "transcript", PreviousHistoryTag, "user-messages", "user-message", "plan", "todo", "skills", "skill", "agent",
	"read-files", "modified-files", "conversation-start",
	ConversationTag, HistoryTag, "user", "assistant", PreviousSummaryTag, "additional-context", CompactionTag, DraftTag,
)

// MatchTags matches what opens or closes a tag of these names. Its group is what follows the <.
func MatchTags(names ...string) *regexp.Regexp {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return regexp.MustCompile(`<(/?(?:` + strings.Join(quoted, "|") + `)(?:[\s/>]|$))`)
}

// Untagged returns a text in which nothing opens or closes one of the tags: a backslash stands behind the <. All else stays as
// it is, and so does what came out of it once.
func Untagged(text string) string { return own.ReplaceAllString(text, `<\$1`) }

// Tagged is a text between tags, each on a line of its own.
func Tagged(tag, text string) string { return "<" + tag + ">\n" + text + "\n</" + tag + ">" }

// InTags returns what stands in the tags of a name, each on a line of its own.
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

// Summary returns the summary in a message that stands for a history, and false if it is not one.
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

package summarize

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// NotEmpty refuses a summary that shows nothing. It is a [Check].
func NotEmpty(m Material) error {
	if strings.TrimFunc(m.Summary, invisible) == "" {
		return &SummaryError{Reason: "it is empty"}
	}
	return nil
}

// AtLeast refuses a summary of fewer characters (code points), white space at its ends not counted.
func AtLeast(characters int) Check {
	return func(m Material) error {
		if n := utf8.RuneCountInString(strings.TrimFunc(m.Summary, invisible)); n < characters {
			return &SummaryError{Reason: fmt.Sprintf("it has %d characters; %d are the least", n, characters)}
		}
		return nil
	}
}

// AtMost refuses a summary whose words take more tokens. What is put in place must fit its room in any case.
func AtMost(tokens int) Check {
	return func(m Material) error {
		if n := m.Tokenizer.CountText(m.Summary); n > tokens {
			return &SummaryError{Reason: fmt.Sprintf("it takes %d tokens; %d are the most", n, tokens)}
		}
		return nil
	}
}

// ownTags are the names of the tags that this package puts around histories, summaries and what stands beside them, in
// requests and in what is put in place. The <summary> and <analysis> of an answer are not among them: they are gone once it
// was read, and HTML has a <summary> too.
var ownTags = []string{
	summaryTag, "transcript", previousTag, "user-messages", "user-message", "plan", "todo", "skills", "skill", "agent",
	"read-files", "modified-files", "conversation-start",
	"conversation", historyTag, "user", "assistant", "previous-summary", "additional-context", string(ModeConversationCompaction), draftTag,
}

// ownTag is what opens or closes one of them.
var ownTag = tagsOf(ownTags...)

// tagsOf matches what opens or closes a tag of these names.
func tagsOf(names ...string) *regexp.Regexp {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return regexp.MustCompile(`<(/?(?:` + strings.Join(quoted, "|") + `)(?:[\s/>]|$))`)
}

// untagged returns a text in which nothing opens or closes a tag of this package's own, and reports whether that changed it:
// a backslash stands behind the <. All else stays as it is, and so does what came out of it once.
func untagged(text string) (string, bool) {
	harmless := ownTag.ReplaceAllString(text, `<\$1`)
	return harmless, harmless != text
}

// untaggedText is the text of [untagged].
func untaggedText(text string) string {
	text, _ = untagged(text)
	return text
}

// draftTag holds a summary that is too long.
const draftTag = "summary-draft"

// tagged is a text between tags.
func tagged(tag, text string) string { return "<" + tag + ">\n" + text + "\n</" + tag + ">" }

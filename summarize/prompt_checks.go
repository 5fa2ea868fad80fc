package summarize

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
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

// NoTags refuses a summary into which tags of these names have leaked that are put around histories and summaries. Without
// names it is those that this package puts around either.
//
// A tag has leaked where it begins a line, or ends the summary. One within a line, in backticks, in a fenced or an indented
// block is quoted: it may be what the work is about, and to refuse it would keep such a session from ever being compacted.
// The replacements of this package take its meaning from what is quoted.
func NoTags(names ...string) Check {
	if len(names) == 0 {
		names = wrapperTags
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	tag := `</?(?:` + strings.Join(quoted, "|") + `)(?:\s[^<>]*)?/?>`
	begins, ends := regexp.MustCompile(`^ {0,3}`+tag), regexp.MustCompile(tag+`$`)
	refuse := func(tag, summary string) error {
		return &SummaryError{Reason: fmt.Sprintf("it holds %s, one of the tags that are put around it", strings.TrimSpace(tag)), Tagged: summary}
	}
	return func(m Material) error {
		fence := ""
		text := strings.TrimFunc(m.Summary, invisible)
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			start := strings.TrimLeft(line, " ")
			if mark := fenceOf(start); mark != "" && (fence == "" || strings.HasPrefix(mark, fence) && strings.Trim(start, mark[:1]+" ") == "") {
				if fence == "" {
					fence = mark
				} else {
					fence = ""
				}
				continue
			}
			if fence != "" || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
				continue
			}
			if found := begins.FindString(line); found != "" {
				return refuse(found, m.Summary)
			}
		}
		if found := ends.FindString(text); found != "" && fence == "" {
			return refuse(found, m.Summary)
		}
		return nil
	}
}

// fenceOf gives the mark with which a line opens or ends a fenced block.
func fenceOf(line string) string {
	for _, mark := range [...]string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, mark)); n >= 3 && !strings.Contains(line[n:], "`") {
			return line[:n]
		}
	}
	return ""
}

// wrapperTags are the names of the tags that this package puts around histories and summaries.
var wrapperTags = []string{
	"conversation-summary", "transcript", "summary", "analysis", "conversation", historyTag, previousTag, "previous-summary",
	"additional-context",
}

// partTags are the names of those that stand beside a summary in what is put in place. As words they are too common for an
// answer to be refused for them.
var partTags = []string{
	"user-messages", "user-message", "plan", "todo", "skills", "skill", "agent", "read-files", "modified-files",
	"conversation-start", "conversation-compaction",
}

// ownTag is what looks like one of them.
var ownTag = regexp.MustCompile(`<(/?(?:` + strings.Join(slices.Concat(wrapperTags, partTags), "|") + `)\b)`)

// untaggedText takes the meaning of a tag from what looks like one of this package's own in a text.
func untaggedText(text string) string { return ownTag.ReplaceAllString(text, `<\$1`) }

// Accept makes of checks a rule for [Cascade.Accept]: what an answer says in all passes them. A check sees nothing of the
// material but the summary, so it may not measure tokens.
func Accept(checks ...Check) func(chat.Response) error {
	checks = slices.Clone(checks)
	return func(r chat.Response) error {
		if err := whole(r); err != nil {
			return err
		}
		for _, check := range checks {
			if err := check(Material{Summary: r.Message.Text()}); err != nil {
				return err
			}
		}
		return nil
	}
}

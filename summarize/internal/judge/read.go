package judge

import (
	"regexp"
	"strings"

	"github.com/promptree-go/promptree/internal/plaintext"
)

// Read returns the summary in the text of an answer: the content of a tag, and all of it if tag is "", after what the model
// thought first. open and closed report whether there was such a tag, and its end. If there was none, the summary is the text
// without its thought and without the mark that ends an answer; a tag that is not closed ends with the text.
//
// Tags count only if the model means them as tags: it may mention either in its thought and in the summary, and the
// summary may hold HTML of the same name.
func Read(text, tag string) (summary string, open, closed bool) {
	if tag != "" && !strings.Contains(text, "<"+tag+">") { // in other letters, or with attributes
		text = regexp.MustCompile(`(?i)<(/?)`+regexp.QuoteMeta(tag)+`(\s[^<>]*)?>`).ReplaceAllString(text, "<${1}"+tag+">")
	}
	for text = Tidy(marks.ReplaceAllString(Tidy(text), "")); ; {
		rest, ok := afterThought(text, tag)
		if !ok {
			break
		}
		text = rest
	}
	if tag != "" {
		return find(text, tag)
	}
	if inner, ok := strings.CutPrefix(text, "<summary>"); ok && strings.HasSuffix(inner, "</summary>") {
		text = strings.TrimSuffix(inner, "</summary>")
	}
	return Tidy(text), false, false
}

// Tidy returns a text as valid UTF-8 without invisible characters around it.
func Tidy(text string) string {
	return strings.TrimFunc(strings.ToValidUTF8(text, "\uFFFD"), plaintext.Invisible)
}

const analysisOpen, analysisClose = "<analysis>", "</analysis>"

// thoughts are the marks around what servers leave of a model's thinking at the start of its answer.
var thoughts = [...][2]string{
	{analysisOpen, analysisClose}, {"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"}, {"<reflection>", "</reflection>"}, {"<scratchpad>", "</scratchpad>"},
	{"<seed:think>", "</seed:think>"}, {"[THINK]", "[/THINK]"}, {"◁think▷", "◁/think▷"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"}, {"<|channel|>analysis<|message|>", "<|end|>"},
	{"<|start|>assistant", "<|message|>"}, {"<|channel|>final", "<|message|>"},
}

// marks matches what servers leave of the end of an answer.
var marks = regexp.MustCompile(`(\s*(<\|(im_end|eot_id|eom_id|end|endoftext|end_of_text|return)\|>|<｜end▁of▁sentence｜>|<end_of_turn>|</s>))+$`)

// unopened matches the end of a thought whose start was part of the request, as some chat templates have it. It is alone on its
// line: a summary may end one with the name of the tag.
var unopened = regexp.MustCompile(`(?m)^[ \t]*</think>[ \t]*\r?$`)

// afterThought returns the text after a thought at its start, and reports whether there is one. The analysis before a tag
// is left to [find], and so is a thought with all that there is, if the tag is in it.
func afterThought(text, tag string) (rest string, ok bool) {
	for _, t := range thoughts {
		if body, found := strings.CutPrefix(text, t[0]); found && !(tag != "" && t[0] == analysisOpen) {
			_, rest, _ = strings.Cut(body, t[1])
			if rest = Tidy(rest); rest == "" && tag != "" && strings.Contains(body, "<"+tag+">") {
				return text, false
			}
			return rest, true
		}
	}
	if at := unopened.FindStringIndex(text); at != nil && !strings.Contains(text[:at[0]], "<think>") {
		return Tidy(text[at[1]:]), true
	}
	return text, false
}

// find returns the content of a tag in the text of an answer, and reports whether the tag is there, and closed. Without
// the tag, it returns the text without its analysis.
func find(text, tag string) (summary string, open, closed bool) {
	start, end := "<"+tag+">", "</"+tag+">"
	first := strings.Index(text, start)
	analysis := strings.Index(text, analysisClose)
	begins := strings.HasPrefix(text, analysisOpen)
	// The end of an analysis, followed by the tag.
	if at := regexp.MustCompile(analysisClose + `\s*` + regexp.QuoteMeta(start)).FindStringIndex(text); begins && at != nil {
		return bodyOf(text[at[0]+len(analysisClose):], start, end)
	}
	switch {
	case begins && analysis < 0 && first < 0:
		return "", false, false // only an analysis
	case analysis >= 0 && (begins || analysis < first):
		after := text[analysis+len(analysisClose):]
		if first < 0 && Tidy(after) == "" {
			return "", false, false
		}
		if strings.Contains(after, start) || Tidy(after) != "" && !strings.Contains(after, end) {
			return bodyOf(after, start, end)
		}
	}
	return bodyOf(text, start, end)
}

// bodyOf returns the content of the tag in a text, or the text if there is none, and reports whether the tag is there, and
// closed.
func bodyOf(text, start, end string) (body string, open, closed bool) {
	body, open = text, true
	// Tags at the start and the end of a line are meant as tags before others.
	if at := regexp.MustCompile(`(?m)^[ \t]*` + regexp.QuoteMeta(start)).FindStringIndex(text); at != nil {
		body = text[at[1]:]
	} else if _, after, ok := strings.Cut(text, start); ok {
		body = after
	} else {
		open = false
	}
	ends := -1
	if all := regexp.MustCompile(`(?m)^[ \t]*`+regexp.QuoteMeta(end)+`[ \t]*\r?$`).FindAllStringIndex(body, -1); len(all) > 0 {
		ends = all[len(all)-1][0]
	} else if last := strings.LastIndex(body, end); last >= 0 &&
		(Tidy(body[last+len(end):]) == "" || strings.Count(body, end) > strings.Count(body, start)) {
		ends = last // otherwise the last tag is HTML in a block that is not closed
	}
	if ends >= 0 {
		body = body[:ends]
	}
	body = Tidy(body)
	if inner, ok := strings.CutPrefix(body, start+"\n"); ok { // a block in the block
		body = strings.TrimSuffix(inner, "\n"+end)
	}
	return Tidy(body), open, open && ends >= 0
}

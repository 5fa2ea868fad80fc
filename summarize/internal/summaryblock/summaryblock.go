// Package summaryblock finds the <summary> block in the answer of a model, which may follow an <analysis> block.
package summaryblock

import (
	"regexp"
	"strings"

	"github.com/promptree-go/promptree/internal/plaintext"
)

const (
	analysisOpen, analysisClose = "<analysis>", "</analysis>"
	blockOpen, blockClose       = "<summary>", "</summary>"
)

var (
	// analysisToSummary matches the end of an analysis before a summary.
	analysisToSummary = regexp.MustCompile(`</analysis>\s*<summary>`)
	// lineOpen and lineClose match tags at the start and the end of a line.
	lineOpen  = regexp.MustCompile(`(?m)^[ \t]*<summary>`)
	lineClose = regexp.MustCompile(`(?m)^[ \t]*</summary>[ \t]*\r?$`)
)

// Find returns the summary in the text of an answer, and reports whether it was in a block. If there is no block, the
// summary is the text without its analysis.
func Find(text string) (summary string, inBlock bool) {
	first := strings.Index(text, blockOpen)
	analysis := strings.Index(text, analysisClose)
	begins := strings.HasPrefix(strings.TrimSpace(text), analysisOpen)
	switch {
	case begins && analysisToSummary.MatchString(text):
		return bodyOf(text[analysisToSummary.FindStringIndex(text)[0]+len(analysisClose):])
	case begins && analysis < 0:
		if first < 0 {
			return "", false // only an analysis
		}
	case analysis >= 0 && (begins || analysis < first):
		after := text[analysis+len(analysisClose):]
		if first < 0 && strings.TrimFunc(after, plaintext.Invisible) == "" {
			return "", false
		}
		if strings.Contains(after, blockOpen) || strings.TrimFunc(after, plaintext.Invisible) != "" && !strings.Contains(after, blockClose) {
			return bodyOf(after)
		}
	}
	return bodyOf(text)
}

// bodyOf returns the content of the block in a text, or the text if there is none.
func bodyOf(text string) (body string, inBlock bool) {
	body, inBlock = text, true
	if at := lineOpen.FindStringIndex(text); at != nil {
		body = text[at[1]:]
	} else if _, after, ok := strings.Cut(text, blockOpen); ok {
		body = after
	} else {
		inBlock = false
	}
	end := -1
	if all := lineClose.FindAllStringIndex(body, -1); len(all) > 0 {
		end = all[len(all)-1][0]
	} else if last := strings.LastIndex(body, blockClose); last >= 0 &&
		(strings.TrimFunc(body[last+len(blockClose):], plaintext.Invisible) == "" || strings.Count(body, blockClose) > strings.Count(body, blockOpen)) {
		end = last // otherwise the last tag is HTML in a block that is not closed
	}
	if end >= 0 {
		body = body[:end]
	}
	body = strings.TrimFunc(body, plaintext.Invisible)
	if inner, ok := strings.CutPrefix(body, blockOpen+"\n"); ok { // a block in the block
		body = strings.TrimSuffix(inner, "\n"+blockClose)
	}
	return body, inBlock
}

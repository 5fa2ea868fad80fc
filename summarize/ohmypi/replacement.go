package ohmypi

import (
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// replacement returns one user message: the summary, and the lists of files that were read and modified since the
// session began, a file a line. If there is too little room, files are left out: read files before modified ones, and
// from the end of each list.
func replacement(m policy.Material) elements.Node {
	return elements.UserMessage{Children: elements.Nodes{
		textblock.Line("The conversation before this point was compacted into this summary:"),
		prompts.SummaryBlock(m, plaintext.SummaryTag.String()),
		fileList(1, plaintext.ReadTag, m.Files.Read),
		fileList(2, plaintext.ModifiedTag, m.Files.Modified),
		filesLeft(m.Files.Left),
		prompts.Afterword(m),
	}}
}

// filesLeft returns a line with the number of files that are not listed, or nil if all are.
func filesLeft(n int) elements.Node {
	if n == 0 {
		return nil
	}
	return textblock.Ranked{Text: fmt.Sprintf("[about %d more files, which were read or modified before those, are not listed]", n), Priority: 1}.Node()
}

// fileList returns files in a tag, one a line, or nil if there are none.
func fileList(priority int, tag plaintext.Tag, paths []string) elements.Node {
	if len(paths) == 0 {
		return nil
	}
	lines := make([]textblock.Ranked, len(paths))
	for i, line := range plaintext.PathLines(slices.Sorted(slices.Values(paths))) {
		lines[i] = textblock.Ranked{Text: line, Priority: len(paths) - i}
	}
	return textblock.List(elements.Props{Priority: new(priority)}, tag, lines)
}

package ohmypi

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize"
)

// Replacement puts one user message in place: the summary, and the lists of files that were read and modified since the
// session began, a file a line. Where there is no room files go, those that were read first, and of
// each list the last.
func Replacement(m summarize.Material) elements.Node {
	return elements.UserMessage{Children: elements.Nodes{
		textblock.Line("The conversation before this point was compacted into this summary:"),
		m.SummaryBlock("conversation-summary"),
		fileList(1, "read-files", m.Files.Read),
		fileList(2, "modified-files", m.Files.Modified),
		m.Afterword(),
	}}
}

// fileList are files in a tag, one a line; nothing where there are none.
func fileList(priority int, tag string, paths []string) elements.Node {
	if len(paths) == 0 {
		return nil
	}
	lines := make([]textblock.Ranked, len(paths))
	for i, p := range paths {
		lines[i] = textblock.Ranked{Text: plaintext.PathLine(p), Priority: len(paths) - i}
	}
	return textblock.List(elements.Props{Priority: new(priority)}, tag, lines)
}

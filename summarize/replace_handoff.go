package summarize

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// SummaryWithFiles puts one user message in place: the summary, and the lists of files that were read and modified since the
// session began, a file a line. It is that of oh-my-pi. Where there is no room files go, those that were read first, and of
// each list the last.
func SummaryWithFiles(m Material) elements.Node {
	return elements.UserMessage{Children: elements.Nodes{
		firm("The conversation before this point was compacted into this summary:"),
		summaryBlock("conversation-summary", m),
		fileList(1, "read-files", m.Files.Read),
		fileList(2, "modified-files", m.Files.Modified),
		afterwards(m),
	}}
}

// fileList are files in a tag, one a line; nothing where there are none.
func fileList(priority int, tag string, paths []string) elements.Node {
	if len(paths) == 0 {
		return nil
	}
	lines := make([]ranked, len(paths))
	for i, p := range paths {
		lines[i] = ranked{text: plaintext.Untagged(oneLinePath(p)), priority: len(paths) - i}
	}
	return enclosed(elements.Props{Priority: new(priority)}, tag, lines)
}

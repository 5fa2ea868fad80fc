package summarize

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// ChatBriefing puts one user message in place, with the briefing as what went before. It is that of stagewise.
func ChatBriefing(m Material) elements.Node {
	return elements.UserMessage{Props: kept, Children: elements.Nodes{summaryBlock(plaintext.PreviousHistoryTag, m), afterwards(m)}}
}

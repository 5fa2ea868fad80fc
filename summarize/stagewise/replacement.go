package stagewise

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// replacement returns one user message with the briefing in <previous-chat-history>.
func replacement(m policy.Material) elements.Node {
	return elements.UserMessage{Props: textblock.Required(), Children: elements.Nodes{prompts.SummaryBlock(m, plaintext.PreviousHistoryTag.String()), prompts.Afterword(m)}}
}

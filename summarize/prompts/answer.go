package prompts

import (
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/summarize/internal/breadcrumb"
	"github.com/promptree-go/promptree/summarize/policy"
)

// ConversationSummary returns one user message: the summary between tags, and a breadcrumb that says where the full
// transcript is stored.
func ConversationSummary(m policy.Material) elements.Node {
	var b strings.Builder
	b.WriteString(plaintext.SummaryTag.Open() + "\n" + plaintext.Outside(m.Summary) + "\n")
	if crumb := breadcrumb.Text(m.Breadcrumb); crumb != "" {
		b.WriteString("\n" + crumb + "\n")
	}
	b.WriteString(plaintext.SummaryTag.Close())
	if m.Reminder != "" {
		b.WriteString("\n" + m.Reminder)
	}
	return elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(b.String())}}
}

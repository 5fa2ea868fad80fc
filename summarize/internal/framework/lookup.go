package framework

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/summarize"
)

// CheckRecall returns an error for a compactor whose session was opened without [history.Options].Recall. The compactor
// and its session may be nil.
func CheckRecall(c *summarize.Compactor) error {
	if c == nil || c.Session == nil || c.Session.Recall() {
		return nil
	}
	return recall.ErrUnmarked
}

// LookUp answers a call of a tool of package recall on a compactor's session, within an eighth of its budget.
func LookUp(ctx context.Context, c *summarize.Compactor, tool, arguments string) (chat.Message, error) {
	target := c.Current()
	tools := recall.Tools{Session: c.Session, MaxTokens: target.Budget / 8, Tokenizer: target.Tokenizer}
	result, _, err := tools.Answer(ctx, chat.ToolCall{Name: tool, Arguments: arguments})
	return result, err
}

package summarize

import (
	"context"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/internal/write"
	"github.com/promptree-go/promptree/summarize/policy"
)

// MaterialOf returns what a compaction by hand needs besides the summary's words: what is covered and kept, what stood for
// it before, what the user said, the files, the pinned entries, and where the transcript is, with the tool of the target
// that reads it. Set its Summary, and pass it to a [policy.Replacement], such as prompts.ConversationSummary. Of the target,
// Tokenizer is needed; Tools and Budget are used if they are set.
func MaterialOf(ctx context.Context, s *history.Session, point history.CutPoint, t Target) (policy.Material, error) {
	return write.Material(ctx, s, point, t)
}

package summarize

import (
	"context"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/internal/write"
	"github.com/promptree-go/promptree/summarize/policy"
)

// MaterialOf returns what a compaction by hand needs besides the summary's words, and the point at which the rule cuts the
// session: what is covered and kept, what stood for it before, what the user said, the files, the pinned entries, and where
// the transcript is, with the tool of the target that reads it. Set its Summary, and pass it to a [policy.Replacement],
// such as prompts.ConversationSummary. Of the target, Tokenizer is needed; Tools and Budget are used if they are set.
// Errors are those of [history.Cut.Find], and of reading the session.
func MaterialOf(ctx context.Context, s *history.Session, cut history.Cut, t Target) (policy.Material, history.CutPoint, error) {
	return write.Material(ctx, s, cut, t)
}

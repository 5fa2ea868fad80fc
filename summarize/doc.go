// Package summarize compacts a conversation that no longer fits its window: what is old is replaced by a summary that
// says where the full transcript lies.
//
//	compactor := &summarize.Compactor{
//		Session: session, Model: model, Tokenizer: tokenizer, Budget: budget,
//		Policy: summarize.CopilotChat(),
//	}
//	result, err := compactor.Render(ctx, prompt) // messages that fit, or an error that says why not
//
// [Compactor.Render] renders the prompt as package render does. Only when everything that may be pruned has been and it
// still does not fit is a model asked for a summary. A [Policy] says what is kept, how the model is asked and how large
// the summary may be. A summary that is empty, too large or no gain is refused, and a compaction that fails leaves the
// session as it was.
//
// Any [chat.Model] can write summaries. Two come with the package: [Offline], which needs no network and makes a digest
// of what the messages hold on their surface, and [Script], which answers what a test tells it to.
package summarize

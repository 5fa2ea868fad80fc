// Package prompts holds what compaction policies share: the prompts that ask for a summary ([FullPrompt], [SimplePrompt],
// [ForkPrompt], [BranchPrompt]), the messages that replace a history ([ConversationSummary]), a history as one text
// ([PlainHistory]), and the parts of which one writes other prompts and replacements.
package prompts

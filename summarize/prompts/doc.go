// Package prompts holds what compaction policies share: the prompts that ask for a summary ([FullPrompt], [SimplePrompt],
// [ForkPrompt], [BranchPrompt]), the functions that read it from an answer ([ReadAll], [ReadSummaryBlock]) and check it
// ([NotEmpty], [AtLeast], [AtMost]), the messages that replace a history ([ConversationSummary]), a history as one text
// ([PlainHistory]), and the parts of which one writes other prompts and replacements.
package prompts

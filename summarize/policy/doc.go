// Package policy holds what a compaction policy is made of, and decides. A [Policy] is a value of parts: when to act
// ([Trigger]), what to clear first ([Clear]), where to cut ([history.Cut]), whom to ask and what ([Ask], [Prompt]), and what
// to put in place ([Replace], [Replacement]). [Policy.Decide] turns a [Measurement] into a [Decision] and depends on nothing
// else. Nothing here reads a session or asks a model.
//
// A ready policy is in package summarize/policies. To write one, start from one of those, or from the zero value:
//
//	p := policy.Policy{
//		Name:    "mine",
//		Trigger: policy.Trigger{{Ratio: 0.8, Background: true}, {On: policy.OnBudgetExceeded}},
//		Cut:     history.Cut{Tokens: 20_000},
//		Ask:     policy.Ask{Prompts: []policy.Prompt{prompts.SimplePrompt()}},
//	}
//
// Prompts and replacements are functions of a [Material]; package summarize/prompts has those that policies share, and the
// parts that they are written with. An error of a policy begins with "summarize:", because a compactor returns it, and
// names the field.
package policy

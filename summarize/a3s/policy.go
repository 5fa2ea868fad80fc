package a3s

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Policy returns the policy of A3S Code, a new value each time.
func Policy() policy.Policy {
	return policy.Policy{
		Name:     "a3s",
		Counting: policy.Counting{By: policy.ByReport},
		Trigger:  policy.Trigger{{Ratio: 0.80}},
		Clear: policy.Clear{Rule: history.ClearRule{
			Keep: 40_000,
			Placeholder: func(o history.ClearedOutput) string {
				return o.After("[output pruned — re-read file or re-run command if needed]")
			},
		}},
		Cut:     history.Cut{First: 2, Messages: 20},
		Ask:     policy.Ask{Prompts: []policy.Prompt{prompt()}},
		Replace: policy.Replace{With: replacement},
	}
}

const role = `You condense the older turns of a working session between a user and an agent. The session goes on: its very
first and its newest messages stay as they are, and your text stands for everything in between.`

const ask = `Write down what the agent must still know of the turns above to go on without asking again:

- what the user asked for, decided or ruled out;
- what was done about it and what came out: files that were read or changed, commands that were run, results that count;
- what went wrong, and why;
- what is still open.

If there is an earlier summary, take over what still holds and correct what no longer does. Keep names, paths, numbers and
error messages exact. Plain text, without an introduction; neither continue the conversation nor answer it.`

// prompt returns the prompt. It shows the old turns as one text, tool results cut to [policy.Material.ResultTokens],
// and asks for what must still be known of them. The answer is the summary.
func prompt() policy.Prompt { return policy.Prompt{Mode: "turns", Request: request} }

func request(m policy.Material) elements.Node {
	return textblock.Request(role, elements.Nodes{
		prompts.EarlierBlock(m),
		prompts.PlainHistory{Props: textblock.Grow(), Messages: m.Covered, Results: m.ResultTokens},
		prompts.ContextBlock(m),
	}, textblock.Paragraph(ask), prompts.Remarks(m))
}

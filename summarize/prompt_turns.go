package summarize

import (
	"github.com/promptree-go/promptree/elements"
)

// ModeTurns names [TurnsPrompt].
const ModeTurns Mode = "turns"

const turnsRole = `You condense the older turns of a working session between a user and an agent. The session goes on: its very
first and its newest messages stay as they are, and your text stands for everything in between.`

const turnsAsk = `Write down what the agent must still know of the turns above to go on without asking again:

- what the user asked for, decided or ruled out;
- what was done about it and what came out: files that were read or changed, commands that were run, results that count;
- what went wrong, and why;
- what is still open.

If there is an earlier summary, take over what still holds and correct what no longer does. Keep names, paths, numbers and
error messages exact. Plain text, without an introduction; neither continue the conversation nor answer it.`

// TurnsPrompt shows the old turns as one text, tool results cut to [Material.ResultTokens], and asks for what must still be
// known of them. The answer is the summary. It is the prompt of A3S.
func TurnsPrompt() Prompt { return Prompt{Mode: ModeTurns, Request: turnsRequest} }

func turnsRequest(m Material) elements.Node {
	return textRequest(turnsRole, elements.Nodes{
		previousBlock(m),
		PlainHistory{Props: grow, Messages: m.Covered, Results: m.ResultTokens},
		contextLines(m),
	}, paragraph(turnsAsk), besides(m))
}

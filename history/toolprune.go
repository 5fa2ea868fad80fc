package history

import (
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// OutputPrune is a rule by which old tool output is left out of a view, each result replaced by a placeholder that says how
// to get it back. It asks no model, and nothing is lost: the session keeps the output, and only what is shown changes. The
// zero value prunes nothing; [A3SPrune] and [OhMyPiPrune] are the rules of those products.
//
// The newest Keep tokens of output stay, a result that is only partly among them whole. Of what is older each result goes
// that is not from one of the Never tools, and would take more than its placeholder. Where all of those together save less
// than Saves nothing goes.
//
// Which results go depends on what came before them and never on what comes later: it is as if the rule had been applied
// after each round, and what went stayed away. So a prompt that is rendered again after another round begins as before, and
// the provider's cache holds, until there is enough to prune again.
type OutputPrune struct {
	// Keep is how many tokens of the newest output stay. 0 turns pruning off.
	Keep int
	// Saves is how many tokens must be saved at least for anything to go. Defaults to 0: whatever there is.
	Saves int
	// Never names tools whose output stays, in small or capital letters. It counts among what Keep keeps.
	Never []string
	// Placeholder writes what stands in place of a result. Defaults to a note that names the entry of the transcript that
	// has it.
	Placeholder func(PrunedOutput) string
	// Transcript is the file that placeholders name; "" where there is none. The elements set it to [Session.Path] where it
	// is not set.
	Transcript string
}

// of names the session's file where no other is named.
func (p OutputPrune) of(s *Session) OutputPrune {
	if p.Transcript == "" {
		p.Transcript = s.Path()
	}
	return p
}

// A3SPrune is the rule of A3S: all but the newest 40,000 tokens of output, with its placeholder, which tells the model to
// read or run again what it needs.
func A3SPrune() OutputPrune {
	return OutputPrune{Keep: 40_000, Placeholder: func(PrunedOutput) string {
		return "[output pruned — re-read file or re-run command if needed]"
	}}
}

// OhMyPiPrune is the rule of oh-my-pi: all but the newest 40,000 tokens of output where that saves 20,000 at least, and
// never that of skill or read. Its placeholder is "[Output truncated - N tokens]"; here it also says where the output is.
func OhMyPiPrune() OutputPrune {
	return OutputPrune{Keep: 40_000, Saves: 20_000, Never: []string{"skill", "read"}, Placeholder: func(p PrunedOutput) string {
		return "[Output truncated - " + strconv.Itoa(p.Tokens) + " tokens]\n" + p.Where()
	}}
}

// PrunedOutput is a tool result of which a placeholder stands in a view.
type PrunedOutput struct {
	// Entry is the id of the result's entry in the session.
	Entry string
	// Tool that was called.
	Tool string
	// Tokens of the output.
	Tokens int
	// Transcript is that of the rule.
	Transcript string
}

// Where is a sentence that tells the model how to get the output back.
func (p PrunedOutput) Where() string {
	if p.Transcript == "" {
		return "It is entry " + p.Entry + " of the session's transcript; call the tool again if you need it."
	}
	return "It is entry " + p.Entry + " of the session's transcript at " + p.Transcript + "."
}

// pruneNote is the placeholder of a rule that names none.
func pruneNote(p PrunedOutput) string {
	return "[output of " + strconv.Itoa(p.Tokens) + " tokens left out here]\n" + p.Where()
}

// OutputPruned reports what a rule left out of a view.
type OutputPruned struct {
	// Outputs that were replaced, the oldest first.
	Outputs []PrunedOutput
	// Saved is how many tokens less the view takes.
	Saved int
}

// Apply gives the view without old output. The view that it is given is not changed. Calls keep their results, failures
// stay failures. Each result is counted once; of huge ones it is only told that they are larger than Keep.
func (p OutputPrune) Apply(v View, t sizing.Tokenizer) (View, OutputPruned) {
	if p.Keep <= 0 {
		return v, OutputPruned{}
	}
	list := outputList{rule: p, tokenizer: t}
	rounds := 0
	for _, turn := range v.Turns {
		for _, r := range turn.Rounds {
			list.add(rounds, r.outputs(t, p.Keep))
			rounds++
		}
	}
	gone, saved := list.choose()
	if len(gone) == 0 {
		return v, OutputPruned{}
	}
	pruned := OutputPruned{Saved: saved}
	for _, o := range gone {
		if o.saves > 0 {
			pruned.Outputs = append(pruned.Outputs, o.PrunedOutput)
		}
	}
	turns := make([]Turn, len(v.Turns))
	rounds = 0
	for i, turn := range v.Turns {
		turns[i] = turn
		turns[i].Rounds = append([]Round(nil), turn.Rounds...)
		for k, r := range turn.Rounds {
			var ofRound []output
			ofRound, gone = upTo(gone, rounds)
			turns[i].Rounds[k] = without(r, ofRound)
			rounds++
		}
	}
	v.Turns = turns
	return v, pruned
}

// gone lists what goes of the rounds of turns.
func (p OutputPrune) gone(turns []*openTurn, t sizing.Tokenizer) []output {
	if p.Keep <= 0 {
		return nil
	}
	list := outputList{rule: p, tokenizer: t}
	rounds, keep := 0, sizing.Lasting(t)
	for _, turn := range turns {
		for _, r := range turn.rounds {
			list.add(rounds, r.outputs.of(r.Round, t, p.Keep, keep))
			rounds++
		}
	}
	gone, _ := list.choose()
	return gone
}

// upTo parts outputs in those up to a round and those after it.
func upTo(outputs []output, round int) (these, after []output) {
	n := 0
	for n < len(outputs) && outputs[n].round <= round {
		n++
	}
	return outputs[:n], outputs[n:]
}

// without gives a round with placeholders for its outputs that are gone.
func without(r Round, gone []output) Round {
	if len(gone) > 0 {
		r.Results = slices.Clone(r.Results)
	}
	for _, o := range gone {
		if o.saves == 0 {
			continue
		}
		m, _ := r.Results[o.result].Body.(Message)
		m.Content = chat.Parts{chat.Text(o.placeholder)}
		r.Results[o.result].Body = m
	}
	return r
}

// outputs measures the results of a round. Of a huge one it is only told that it takes more than most.
func (r Round) outputs(t sizing.Tokenizer, most int) []PrunedOutput {
	tools := map[string]string{}
	for _, c := range r.Assistant.Message().ToolCalls {
		tools[c.ID] = c.Name
	}
	list := make([]PrunedOutput, len(r.Results))
	for i, e := range r.Results {
		m := e.Message()
		list[i] = PrunedOutput{Entry: e.ID, Tool: tools[m.ToolCallID], Tokens: partsUpTo(t, m.Content, most)}
	}
	return list
}

// partsUpTo counts parts one by one, but of a huge text only tells that it is over the limit.
func partsUpTo(t sizing.Tokenizer, parts chat.Parts, limit int) int {
	n := 0
	for _, p := range parts {
		if text, ok := p.(chat.Text); ok {
			n += sizeUpTo(t, string(text), limit)
		} else if p != nil {
			n += t.CountPart(p)
		}
	}
	return n
}

// output is a result that is shown.
type output struct {
	PrunedOutput
	round, result int // where it stands
	placeholder   string
	saves         int // tokens; 0 where it is never pruned
}

// outputList is the results that are shown, the oldest round first.
type outputList struct {
	rule      OutputPrune
	tokenizer sizing.Tokenizer
	outputs   []output
}

// add appends the outputs of a round.
func (l *outputList) add(round int, outputs []PrunedOutput) {
	placeholder := l.rule.Placeholder
	if placeholder == nil {
		placeholder = pruneNote
	}
	for i, o := range outputs {
		o.Transcript = l.rule.Transcript
		next := output{PrunedOutput: o, round: round, result: i}
		if !l.rule.never(o.Tool) {
			next.placeholder = placeholder(o)
			next.saves = max(0, o.Tokens-l.tokenizer.CountText(next.placeholder))
		}
		l.outputs = append(l.outputs, next)
	}
}

// never tells that a tool's output stays.
func (p OutputPrune) never(tool string) bool {
	for _, name := range p.Never {
		if strings.EqualFold(name, tool) {
			return true
		}
	}
	return false
}

// choose gives the oldest outputs, which go but for those that save nothing, and what that saves. It walks from round to
// round as the agent did: after each, what is older than the newest Keep tokens goes if that saves enough.
func (l *outputList) choose() (gone []output, saved int) {
	all, n := l.outputs, 0
	old, newer := 0, 0 // outputs older than the newest Keep tokens, and the tokens of those after them
	candidates := 0    // tokens saved by those that are old and have not gone
	for i, o := range all {
		newer += o.Tokens
		for old < i && newer-all[old].Tokens >= l.rule.Keep {
			newer -= all[old].Tokens
			candidates += all[old].saves
			old++
		}
		roundEnds := i+1 == len(all) || all[i+1].round != o.round
		if roundEnds && candidates > 0 && candidates >= l.rule.Saves {
			n, saved, candidates = old, saved+candidates, 0
		}
	}
	return all[:n], saved
}

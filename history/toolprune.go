package history

import (
	"fmt"
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
		return fmt.Sprintf("[Output truncated - %d tokens]\n%s", p.Tokens, p.Where())
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
		return fmt.Sprintf("It is entry %s of the session's transcript; call the tool again if you need it.", p.Entry)
	}
	return fmt.Sprintf("It is entry %s of the session's transcript at %s.", p.Entry, p.Transcript)
}

// pruneNote is the placeholder of a rule that names none.
func pruneNote(p PrunedOutput) string {
	return fmt.Sprintf("[output of %d tokens left out here]\n%s", p.Tokens, p.Where())
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
	outputs := p.outputs(v, t)
	gone, saved := p.choose(outputs)
	if gone == 0 {
		return v, OutputPruned{}
	}
	pruned := OutputPruned{Saved: saved}
	turns := make([]Turn, len(v.Turns))
	for i, turn := range v.Turns {
		turns[i] = turn
		turns[i].Rounds = append([]Round(nil), turn.Rounds...)
	}
	changed := map[[2]int]bool{} // rounds of which the results are a copy
	for _, o := range outputs[:gone] {
		if o.saves == 0 {
			continue
		}
		r := &turns[o.turn].Rounds[o.round]
		if at := [2]int{o.turn, o.round}; !changed[at] {
			changed[at] = true
			r.Results = append([]Entry(nil), r.Results...)
		}
		m, _ := r.Results[o.result].Body.(Message)
		m.Content = chat.Parts{chat.Text(o.placeholder)}
		r.Results[o.result].Body = m
		pruned.Outputs = append(pruned.Outputs, o.PrunedOutput)
	}
	v.Turns = turns
	return v, pruned
}

// output is a result in a view.
type output struct {
	PrunedOutput
	turn, round, result int // where it stands
	placeholder         string
	saves               int // tokens; 0 where it is never pruned
}

// outputs lists the results of a view, the oldest round first.
func (p OutputPrune) outputs(v View, t sizing.Tokenizer) []output {
	placeholder := p.Placeholder
	if placeholder == nil {
		placeholder = pruneNote
	}
	var list []output
	for i, turn := range v.Turns {
		for k, r := range turn.Rounds {
			tools := map[string]string{}
			for _, c := range r.Assistant.Message().ToolCalls {
				tools[c.ID] = c.Name
			}
			for n, e := range r.Results {
				m := e.Message()
				o := output{turn: i, round: k, result: n}
				o.PrunedOutput = PrunedOutput{Entry: e.ID, Tool: tools[m.ToolCallID], Transcript: p.Transcript}
				for _, part := range m.Content {
					if text, ok := part.(chat.Text); ok {
						o.Tokens += sizeUpTo(t, string(text), p.Keep)
					} else if part != nil {
						o.Tokens += t.CountPart(part)
					}
				}
				if !p.never(o.Tool) {
					o.placeholder = placeholder(o.PrunedOutput)
					o.saves = max(0, o.Tokens-t.CountText(o.placeholder))
				}
				list = append(list, o)
			}
		}
	}
	return list
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

// choose tells how many of the oldest outputs go, and what that saves. It walks from round to round as the agent did: after
// each, what is older than the newest Keep tokens goes if that saves enough.
func (p OutputPrune) choose(outputs []output) (gone, saved int) {
	old, newer := 0, 0 // outputs older than the newest Keep tokens, and the tokens of those after them
	candidates := 0    // tokens saved by those that are old and have not gone
	for i, o := range outputs {
		newer += o.Tokens
		for old < i && newer-outputs[old].Tokens >= p.Keep {
			newer -= outputs[old].Tokens
			candidates += outputs[old].saves
			old++
		}
		roundEnds := i+1 == len(outputs) || outputs[i+1].turn != o.turn || outputs[i+1].round != o.round
		if roundEnds && candidates > 0 && candidates >= p.Saves {
			gone, saved, candidates = old, saved+candidates, 0
		}
	}
	return gone, saved
}

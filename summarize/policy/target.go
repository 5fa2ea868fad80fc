package policy

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// Target is a model and the limits of its requests.
type Target struct {
	// Model that answers.
	Model chat.Model
	// Name of the model. Routes and quirks match it, and usage is recorded under it. Empty by default.
	Name string
	// Tokenizer that counts the tokens of its requests. A model that is only asked for summaries defaults to the
	// agent's tokenizer.
	Tokenizer chat.Tokenizer
	// Budget is the most tokens that a prompt may take: its messages, and the tools in it ([elements.Tool]).
	// [sizing.Window.Budget] computes it; set ToolsInPrompt there if tools are in the prompt. A model that is only
	// asked for summaries needs none.
	Budget int
	// ContextWindow is how many tokens the model takes in: messages, tools and answer. Defaults to Budget plus the
	// tokens of Tools, and then the answer is assumed not to count towards it. A model that is only asked for summaries
	// defaults to the agent's.
	ContextWindow int
	// MaxBytes is the most bytes of a request's body that the model's server, or a proxy in front of it, takes. Beyond nine
	// tenths of it old pictures leave a prompt, in steps, and then history is compacted. 0 by default: not known, and learnt
	// from refusals.
	MaxBytes int
	// Prices of the model, such as those of modelinfo.Prices. If they are set, usage entries hold digests of
	// the requests, a measurement predicts what the provider's cache holds of the next one ([Measurement.Foretold]),
	// and events report prompts that break the cache (event.CacheBroken). None by default.
	Prices sizing.Prices
	// Tools of the agent, besides those in the prompt ([elements.Tool]): both are declared. They are declared in requests for
	// summaries too that show their calls.
	Tools []chat.Tool
	// Shape is what the agent's requests ask of their answers: effort, choice of tools, a form. Requests for summaries
	// and titles ask for none of it, except for one that continues the agent's request ([Prompt].Forks); where the
	// answer would be forced into a form or a call, no such request is made. The zero value leaves everything to the
	// model.
	Shape chat.Shape
	// ManagesContext says that requests ask the provider to compact or edit the context, if Model does not say so itself,
	// as *anthropic.Model does for its Editing. A policy may then stand back ([Policy].StandsBack).
	ManagesContext bool
	// Notes say what of the target is guessed (summarize.TargetOf). A compactor reports each once. None by default.
	Notes []string
}

// Origin returns the origin of the model's answers, the zero value if the model does not say.
func (t Target) Origin() (o chat.Origin) {
	if m, says := t.Model.(interface{ Origin() chat.Origin }); says {
		o = m.Origin()
	}
	return o
}

// Managed reports whether requests ask the provider to compact or edit the context.
func (t Target) Managed() bool {
	m, says := t.Model.(interface{ ManagesContext() bool })
	return t.ManagesContext || says && m.ManagesContext()
}

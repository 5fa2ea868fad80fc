package counters

import (
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/modelname"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/chattemplate"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

// ModelVocabulary is a vocabulary that you have.
type ModelVocabulary struct {
	*vocabulary.Vocabulary
	// Models are patterns for the names of the models that use it, such as "qwen3*". A * stands for anything; a path or
	// tag around the name, capitals and dots make no difference. Without patterns, it is taken
	// for models of which nothing better is known: one of OpenAI's encodings, or a vocabulary that names them.
	Models []string
	// Template of the models. Defaults to that of [chattemplate.ForModel].
	Template chattemplate.Template
}

// Counter is the best counter of a model.
type Counter struct {
	// Tokenizer counts. It is Calibrated, if that is set.
	Tokenizer chat.Tokenizer
	// Reason says in a few words which counter it is.
	Reason string
	// Calibrated learns from usage: call its Observe. It is nil if the counter is exact.
	Calibrated *sizing.Calibrated
	// Overhead is the number of tokens of a request besides its messages and tools, which belong in
	// [sizing.Window.Answer]. A Calibrated learns it instead, and it is 0.
	Overhead int
}

// Kind says in a word how good the counts are now. "exact": texts and messages count as the model reads them; images and
// documents are estimated, and so are tools with OpenAI and with templates that list none (Llama 3, DeepSeek-V3).
// "calibrated": estimated, and corrected by usage that was observed. "estimated": no usage was observed yet.
func (c Counter) Kind() string {
	switch {
	case c.Calibrated == nil:
		return "exact"
	case c.Calibrated.Observed():
		return "calibrated"
	}
	return "estimated"
}

// For returns the best counter of a model: by the first vocabulary with a pattern for its name, else by its encoding, if it
// is OpenAI's, else by the first vocabulary without patterns. An encoding that is only guessed by the model's family is
// corrected by reported usage.
func For(model string, have ...ModelVocabulary) Counter {
	named := func(v ModelVocabulary) bool { return v.Vocabulary != nil && v.named(model) }
	if i := slices.IndexFunc(have, named); i >= 0 {
		return have[i].counter(model, "the model's vocabulary")
	}
	known, unknown := modelinfo.Find(model)
	exact, err := tiktoken.ForModel(model)
	if err == nil && !known.Guessed() {
		return Counter{Tokenizer: exact, Reason: "OpenAI's encoding", Overhead: tiktoken.ReplyPriming}
	}
	if i := slices.IndexFunc(have, func(v ModelVocabulary) bool { return v.Vocabulary != nil && len(v.Models) == 0 }); i >= 0 {
		return have[i].counter(model, "the vocabulary that you gave")
	}
	switch {
	case err == nil:
		return learning(exact, fmt.Sprintf("OpenAI's %s (%s), corrected by reported usage", known.Encoding, known))
	case unknown == nil && known.Maker == "openai":
		return learning(tiktoken.O200k(), fmt.Sprintf("OpenAI's o200k_base, corrected by reported usage: the encoding of %s is not known", known.Name))
	}
	return learning(tiktoken.O200k(), "OpenAI's o200k_base, corrected by reported usage: no vocabulary of this model was given")
}

func (v ModelVocabulary) named(model string) bool {
	return slices.ContainsFunc(v.Models, func(pattern string) bool { return modelname.Fits(pattern, model) })
}

// counter returns the counter of a model that uses the vocabulary. words say whose it is.
func (v ModelVocabulary) counter(model, words string) Counter {
	template, assumed := v.Template, false
	if template == "" {
		template, assumed = chattemplate.ForModel(model)
	}
	if template == "" {
		return learning(v.Counter(vocabulary.Options{}), words+" for texts; its chat template is not known, and learnt from reported usage")
	}
	for _, token := range template.Tokens() {
		if _, ok := v.Added(token); !ok {
			return learning(v.Counter(vocabulary.Options{}),
				fmt.Sprintf("%s for texts; it has no %s, so the chat template of %s is not its own: what is written around texts is learnt from reported usage", words, token, template))
		}
	}
	counter := v.Counter(vocabulary.Options{Template: template})
	if assumed {
		return learning(counter, fmt.Sprintf("%s for texts; for messages the chat template of %s, corrected by reported usage", words, template))
	}
	return Counter{
		Tokenizer: counter, Reason: fmt.Sprintf("%s and the chat template of %s", words, template),
		Overhead: template.Overhead(counter.CountText),
	}
}

// learning returns a counter that corrects another by reported usage.
func learning(base chat.Tokenizer, reason string) Counter {
	c := &sizing.Calibrated{Base: base}
	return Counter{Tokenizer: c, Reason: reason, Calibrated: c}
}

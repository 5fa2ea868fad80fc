package inspect

import (
	"context"
	"errors"
	"io"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// Options of a page.
type Options struct {
	// Title of the page. Defaults to "Prompt" or "Session".
	Title string
	// HideContent leaves all texts out: the prompt's, attributes of tags, arguments of calls, answers, errors and
	// titles. The page then has only their lengths and the beginnings of their SHA-256, from which a short text can be
	// guessed. Names of elements, tools, groups and models stay, and so does the page's title. Off by default.
	HideContent bool
	// Account says what a session cost, in parts that add up to the last, the total. Defaults to the sum of its steps.
	Account []Charge
}

// Charge is a part of what a session cost.
type Charge struct {
	Name    string  `json:"name"`
	Dollars float64 `json:"dollars"`
}

// Rendered is a rendered prompt, with more facts about the request.
type Rendered struct {
	// Result of the render.
	Result *render.Result
	// Name of the prompt on the page, such as "before". Defaults to "prompt 1", "prompt 2" and so on.
	Name string
	// Model is the name of the model that is asked. None by default.
	Model string
	// Tokenizer counts Tools, and in a session the messages of compactions. By default they are not counted.
	Tokenizer chat.Tokenizer
	// Tools that are declared beside the prompt. Tools in the prompt ([elements.Tool]) are part of the result.
	Tools []chat.Tool
	// Apart is the number of tokens of the request that are in neither Result nor Tools, such as the system prompt of a
	// recording that does not have it. They count like tools.
	Apart int
	// Breakdown says where the tokens of the prompt and of Tools are. Defaults to the result's own, with Tools if there is a
	// Tokenizer.
	Breakdown render.Breakdown
	// NoBudget says that the prompt was not rendered for a budget: the page shows none. Off by default.
	NoBudget bool
	// Prices from which the page computes the cost of the request if no cache serves it. None by default.
	Prices sizing.Prices
}

// errNoResult is the error of a [Rendered] without a result.
var errNoResult = errors.New("inspect: Rendered.Result is not set: set what render.Render returned")

// ErrNoPrompts is the error of a page without a prompt.
var ErrNoPrompts = errors.New("inspect: there is nothing to show: pass a request, or add a step to the log")

// Prompt writes the page of a prompt, which is the first request. The page can compare it with the others.
func Prompt(ctx context.Context, w io.Writer, o Options, requests ...Rendered) error {
	var log Steps
	for _, r := range requests {
		if _, err := log.prompt(ctx, r); err != nil {
			return err
		}
	}
	return log.write(w, "prompt", o)
}

// Session writes the page of the steps that a log holds.
func Session(w io.Writer, log *Steps, o Options) error {
	log.mu.Lock()
	defer log.mu.Unlock()
	return log.write(w, "session", o)
}

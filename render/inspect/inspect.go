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
	// HideContent leaves all texts out, of which the page then has the lengths and the beginnings of their SHA-256: what the prompt says, attributes of tags,
	// arguments of calls, answers, errors and titles. Names of elements, tools, groups, models and the page's title stay. A short text can be guessed
	// from its digest. Off by default.
	HideContent bool
}

// Request is a rendered prompt, and what is known of the request beside it.
type Request struct {
	// Result of the render.
	Result *render.Result
	// Name of the prompt on the page, such as "before". Defaults to a number.
	Name string
	// Model that is asked, by its name. Not shown by default.
	Model string
	// Tokenizer that Tools are counted with, and in a session the messages of compactions. Not counted by default.
	Tokenizer chat.Tokenizer
	// Tools that are declared beside the prompt. Those that stand in it ([elements.Tool]) are part of the result.
	Tools []chat.Tool
	// Prices by which the page says what the request costs if no cache serves it. Not known by default.
	Prices sizing.Prices
}

// ErrNoResult is the error of a [Request] without a result.
var ErrNoResult = errors.New("inspect: Request.Result is not set: set what render.Render returned")

// ErrNoPrompts is the error of a page that has nothing to show.
var ErrNoPrompts = errors.New("inspect: there is nothing to show")

// Prompt writes the page of a prompt. Further requests are those that it can be compared with, in any order.
func Prompt(ctx context.Context, w io.Writer, o Options, requests ...Request) error {
	var log Log
	for _, r := range requests {
		if _, err := log.prompt(ctx, r); err != nil {
			return err
		}
	}
	return log.write(w, "prompt", o)
}

// Session writes the page of the steps that a log holds.
func Session(w io.Writer, log *Log, o Options) error {
	log.mu.Lock()
	defer log.mu.Unlock()
	return log.write(w, "session", o)
}

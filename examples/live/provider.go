package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/render/anthropic"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/counters"
	"github.com/promptree-go/promptree/sizing/local"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// provider opens the models of one API.
type provider struct {
	// keys are the environment variables of the API key: the first that is set is used. address is the environment
	// variable of the base URL.
	keys    []string
	address string
	// open opens a model.
	open func(ctx context.Context, w wanted) (served, error)
	// api is the one of OpenAI's that a server speaks.
	api openai.API
}

// providers by the prefix of -model.
var providers = map[string]provider{
	"openai": {
		keys: []string{"OPENAI_API_KEY"}, address: "OPENAI_BASE_URL", open: openOpenAI, api: openai.ChatCompletions,
	},
	"openai-responses": {
		keys: []string{"OPENAI_API_KEY"}, address: "OPENAI_BASE_URL", open: openOpenAI, api: openai.Responses,
	},
	"anthropic": {keys: []string{"ANTHROPIC_API_KEY"}, address: "ANTHROPIC_BASE_URL", open: openAnthropic},
	"gemini": {
		keys: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}, address: "GOOGLE_GEMINI_BASE_URL", open: openGemini,
	},
}

const modelUsage = "openai:NAME, openai-responses:NAME, anthropic:NAME or gemini:NAME"

// wanted is the model of -model, with everything needed to open it.
type wanted struct {
	provider
	name, key, address string
	// window of -window, in tokens, 0 if it is not set; table knows the windows of models.
	window int
	table  *modelinfo.Table
	// vocabularies has that of -tokenizer, if it is set.
	vocabularies []counters.ModelVocabulary
	// session is an id of the conversation.
	session string
}

// served is an open model with its token counter.
type served struct {
	chat.Model
	// counter of what the API is sent. sent makes it of one of texts; nil if they are the same.
	counter counters.Counter
	sent    func(chat.Tokenizer) chat.Tokenizer
	// window in tokens that a server of the user's own reports, 0 if it was not asked.
	window int
}

// choose returns the provider and the key for -model. If the user can fix an error, it is a folderagent.UsageError.
func choose(model, address string) (wanted, error) {
	kind, name, _ := strings.Cut(model, ":")
	p, known := providers[kind]
	switch {
	case model == "":
		return wanted{}, folderagent.UsageError{Err: fmt.Errorf("-model is missing: want %s", modelUsage)}
	case !known:
		return wanted{}, folderagent.UsageError{Err: fmt.Errorf("there is no provider %q: want -model %s", kind, modelUsage)}
	case name == "":
		return wanted{}, folderagent.UsageError{Err: fmt.Errorf("-model %s names no model: want %s", model, modelUsage)}
	}
	w := wanted{provider: p, name: name, address: cmp.Or(address, os.Getenv(p.address))}
	for _, variable := range p.keys {
		w.key = cmp.Or(w.key, os.Getenv(variable))
	}
	switch {
	case w.address != "" && !strings.HasPrefix(w.address, "http://") && !strings.HasPrefix(w.address, "https://"):
		return wanted{}, folderagent.UsageError{Err: fmt.Errorf("the base URL is %q: want one such as http://localhost:8080/v1", w.address)}
	case w.key == "" && w.address == "":
		return wanted{}, folderagent.UsageError{Err: fmt.Errorf("%s needs a key: set %s (a server of your own, named with -base-url, may need none)",
			model, strings.Join(p.keys, " or "))}
	case w.key == "":
		w.key = "none"
	}
	return w, nil
}

// open opens the model, and sets its counter: the best there is, counting what the API sends.
func (w wanted) open(ctx context.Context) (served, error) {
	s, err := w.provider.open(ctx, w)
	s.counter = counters.For(w.name, w.vocabularies...)
	switch best := s.counter; {
	case s.sent == nil || err != nil:
	case best.Calibrated == nil:
		s.counter.Tokenizer = s.sent(best.Tokenizer)
	default:
		s.counter.Calibrated = &sizing.Calibrated{Base: s.sent(best.Calibrated.Base)}
		s.counter.Tokenizer = s.counter.Calibrated
	}
	return s, err
}

// openOpenAI opens a model of OpenAI, or of a server that speaks one of its APIs.
func openOpenAI(ctx context.Context, w wanted) (served, error) {
	options := []openaioption.RequestOption{openaioption.WithAPIKey(w.key)}
	model := &openai.Model{Name: w.name, API: w.api}
	if w.address != "" {
		options = append(options, openaioption.WithBaseURL(w.address))
	} else {
		model.CacheKey = w.session // other servers may not know the field
	}
	model.Client = openaisdk.NewClient(options...)
	s := served{Model: model, sent: func(t chat.Tokenizer) chat.Tokenizer { return openai.Counter(w.api, openai.OptionsFor(w.name), t) }}
	if known, err := w.table.Find(w.name); w.address != "" && w.window == 0 && (err != nil || known.Guessed()) {
		own := local.Server{URL: w.address, Model: w.name, Header: http.Header{"Authorization": {"Bearer " + w.key}}}
		var err error
		s.window, err = own.Window(ctx)
		if down, ok := errors.AsType[*chat.TransientError](err); ok {
			return served{}, fmt.Errorf("the server does not answer: %w", down.Err)
		} else if err != nil {
			return served{}, folderagent.UsageError{Err: fmt.Errorf("-window is missing: %w", err)}
		}
	}
	return s, nil
}

func openAnthropic(_ context.Context, w wanted) (served, error) {
	options := []anthropicoption.RequestOption{anthropicoption.WithoutEnvironmentDefaults(), anthropicoption.WithAPIKey(w.key)}
	if w.address != "" {
		options = append(options, anthropicoption.WithBaseURL(w.address))
	}
	return served{Model: &anthropic.Model{
		Client: anthropicsdk.NewClient(options...), Name: w.name,
		// Each request begins with the one before, which is read from the cache.
		Adjust: func(_ chat.Purpose, p *anthropicsdk.MessageNewParams) {
			p.CacheControl = anthropicsdk.NewCacheControlEphemeralParam()
		},
	}}, nil
}

func openGemini(ctx context.Context, w wanted) (served, error) {
	client, err := gemini.NewClient(ctx, &genai.ClientConfig{
		APIKey: w.key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: w.address},
	})
	return served{Model: &gemini.Model{Client: client, Name: w.name}, sent: gemini.Counter}, err
}

// refusesKey reports whether an error means that the key is invalid.
func refusesKey(err error) bool {
	if said, ok := errors.AsType[*openaisdk.Error](err); ok {
		return said.StatusCode == http.StatusUnauthorized
	}
	if said, ok := errors.AsType[*anthropicsdk.Error](err); ok {
		return said.StatusCode == http.StatusUnauthorized
	}
	said, _ := errors.AsType[genai.APIError](err)
	return said.Code == http.StatusUnauthorized || // or 400 for a key that Gemini does not know
		slices.ContainsFunc(said.Details, func(d map[string]any) bool { return d["reason"] == "API_KEY_INVALID" })
}

package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// Model is a [chat.Model] on the SDK's client. Client and Name are required. Set the fields before the first use; after
// that it is safe for concurrent use.
type Model struct {
	// Client of the SDK, for the Gemini API or Google Cloud. Requests are sent by a copy of it: see [NewClient].
	Client *genai.Client
	// Name of the model, such as "gemini-3-pro-preview".
	Name string
	// Options of the conversion. Defaults to [OptionsFor] the name.
	Options *Options
	// Ends declares further finish reasons, as the API writes them, to be an end, a cut or a declined answer. Those
	// that are not known are errors ([*chat.EndError]). None by default.
	Ends map[string]chat.StopReason
	// MaxRetries of the SDK for transient errors. Defaults to 0: the error states when to try again, and the caller
	// decides.
	MaxRetries int
	// OnRepair, if set, is called with what [Repair] changed in a request before it is sent. If it is not set, the observers
	// of an agent's compactor hear of it (event.Repaired).
	OnRepair func([]chat.Repair)
	// Adjust, if set, may change each request before it is sent, also those for summaries, which the
	// purpose tells apart: thinking, safety, a cache, the API's own tools, whatever a [chat.Request] has no field for.
	Adjust func(chat.Purpose, *genai.GenerateContentConfig)

	own struct { // a copy of the client that guard made
		sync.Once
		client *genai.Client
		err    error
	}
}

var _ chat.Model = (*Model)(nil)

// Generate repairs the request with [Repair] and sends it. A request that cannot be repaired is a
// [*chat.ValidationError], and is not sent.
//
// Errors are a [*chat.ContextLimitError] if a smaller request would be accepted, with the API's numbers; a
// [*chat.TransientError] for rate limits, overload, server faults and lost connections, with the time to wait if the
// API states one; a [*chat.EndError] if the answer ended by a reason that is not an end; the cause of a context that is
// done; and otherwise the SDK's error, with the API's text. The error of a streamed answer comes with the part that had
// arrived.
//
// An error that the server sends in the place of an answer, with a status of success, is classified by its words and by
// the status that it names; it is a [*chat.AnswerError] if it is neither about the size nor transient.
//
// The size of answers and error texts is limited as package chat describes.
func (m *Model) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	req, asText := m.formatAsTool(req)
	repaired, changes := m.repaired(req)
	provider.Tell(m.OnRepair, req, changes)
	contents, config, err := m.request(repaired)
	if err != nil {
		return chat.Response{}, err
	}
	names := m.options().accepts().Names(req.Tools)
	req.Stream = names.Stream(req.Stream)
	x := newExchange(req.Stream != nil)
	a := answer{stream: req.Stream, key: x.key}
	whole, err := m.ask(x.in(ctx), contents, config, &a)
	if err != nil {
		return x.By(m.Origin(), names.Response(a.partial())), x.Err(ctx, classify(x.Exchange, err))
	}
	r, err := response(whole, x.key, m.Ends)
	if err != nil && req.Stream != nil {
		r = a.partial()
	}
	if err = x.answerError(err); err != nil && len(whole.Candidates) == 0 {
		err = orRefusal(x.Exchange, err)
	}
	return x.By(m.Origin(), asText(names.Response(r))), x.Err(ctx, err)
}

// formatAsTool is [provider.FormatAsTool] for the models that take no schema beside tools.
func (m *Model) formatAsTool(req chat.Request) (chat.Request, func(chat.Response) chat.Response) {
	return provider.FormatAsTool(req, m.options().Legacy && len(req.Tools) > 0)
}

// Origin returns the origin of the model's answers.
func (m *Model) Origin() chat.Origin {
	o := chat.Origin{Provider: "gemini", Model: m.Name}
	if u, err := url.Parse(m.Client.ClientConfig().HTTPOptions.BaseURL); err == nil {
		o.Server = provider.ServerOf(u)
	}
	return o
}

func (m *Model) options() Options {
	if m.Options != nil {
		return *m.Options
	}
	return OptionsFor(m.Name)
}

// repaired repairs a request, without the signatures of another provider's calls, which Gemini refuses whatever their form,
// and returns the changes.
func (m *Model) repaired(req chat.Request) (chat.Request, []chat.Repair) {
	req.Messages = provider.WithCalls(req.Messages, chat.Origin{Provider: "gemini"}, func(c chat.ToolCall) chat.ToolCall {
		c.Signature = ""
		return c
	})
	return Repair(req, m.options())
}

// request returns a repaired request as it is sent.
func (m *Model) request(req chat.Request) ([]*genai.Content, *genai.GenerateContentConfig, error) {
	if m.Client == nil || m.Name == "" {
		return nil, nil, errors.New("gemini: Model.Client or Model.Name is not set")
	}
	o := m.options()
	o.written = true
	contents, config, err := Request(req, o)
	if err != nil {
		return nil, nil, fmt.Errorf("gemini: nothing was sent: %w", err)
	}
	config.HTTPOptions = &genai.HTTPOptions{RetryOptions: &genai.HTTPRetryOptions{Attempts: new(int32(1 + max(0, m.MaxRetries)))}}
	if m.Adjust != nil {
		m.Adjust(req.Purpose, config)
	}
	sendRawArguments(config)
	return contents, config, nil
}

// ask sends a request through the SDK. A streamed answer is collected in a.
func (m *Model) ask(ctx context.Context, contents []*genai.Content, config *genai.GenerateContentConfig, a *answer) (*genai.GenerateContentResponse, error) {
	return throughSDK(m, &a.sending, func(models *genai.Models) (*genai.GenerateContentResponse, error) {
		if a.stream == nil {
			return models.GenerateContent(ctx, m.Name, contents, config)
		}
		for piece, err := range models.GenerateContentStream(ctx, m.Name, contents, config) {
			if err != nil {
				return nil, err
			}
			a.add(piece)
		}
		if !a.finished() {
			return nil, provider.ErrBrokenOff
		}
		return a.response(), nil
	})
}

// throughSDK calls a function of the SDK and turns a panic of it into an error: it asserts the types in an answer and
// dereferences missing objects. A panic of the caller's function, during which sending is set, goes on.
func throughSDK[T any](m *Model, sending *bool, call func(*genai.Models) (T, error)) (answer T, err error) {
	client, err := m.guarded()
	if err != nil {
		return answer, err
	}
	defer func() {
		if *sending {
			return
		}
		if p := recover(); p != nil {
			if _, ok := p.(runtime.Error); !ok {
				panic(p)
			}
			err = fmt.Errorf("the answer does not have Gemini's form: %v", p)
		}
	}()
	return call(client.Models)
}

// CountTokens asks Gemini for the number of input tokens of a request, tools included. The request is repaired as by
// [Model.Generate], but OnRepair is not called. Errors are those of Generate.
func (m *Model) CountTokens(ctx context.Context, req chat.Request) (int, error) {
	req, _ = m.formatAsTool(req)
	req, _ = m.repaired(req)
	contents, config, err := m.request(req)
	if err != nil {
		return 0, err
	}
	count := &genai.CountTokensConfig{SystemInstruction: config.SystemInstruction, Tools: config.Tools, HTTPOptions: config.HTTPOptions}
	if config.ResponseJsonSchema != nil {
		count.GenerationConfig = &genai.GenerationConfig{ResponseMIMEType: config.ResponseMIMEType, ResponseJsonSchema: config.ResponseJsonSchema}
	}
	if m.Client.ClientConfig().Backend != genai.BackendVertexAI {
		// The Gemini API counts these too, but the SDK has no fields for them.
		options, form := *config.HTTPOptions, count.GenerationConfig
		options.ExtrasRequestProvider = func(body map[string]any) map[string]any {
			body = config.HTTPOptions.ExtrasRequestProvider(body)
			whole := map[string]any{"model": "models/" + strings.TrimPrefix(m.Name, "models/"), "contents": body["contents"]}
			if config.SystemInstruction != nil {
				whole["systemInstruction"] = config.SystemInstruction
			}
			if len(config.Tools) > 0 {
				whole["tools"] = config.Tools
			}
			if form != nil {
				whole["generationConfig"] = form
			}
			return map[string]any{"generateContentRequest": whole}
		}
		count = &genai.CountTokensConfig{HTTPOptions: &options}
	}
	x := newExchange(false)
	counted, err := throughSDK(m, new(bool), func(models *genai.Models) (*genai.CountTokensResponse, error) {
		return models.CountTokens(x.in(ctx), m.Name, contents, count)
	})
	if err == nil && counted.TotalTokens <= 0 {
		err = errors.New("the answer holds no count")
	}
	if err != nil {
		return 0, x.Err(ctx, classify(x.Exchange, err))
	}
	return int(counted.TotalTokens), nil
}

// Window asks the API how many tokens of input the model takes. The result is 0 if the server does not say. Errors are
// those of [Model.Generate].
func (m *Model) Window(ctx context.Context) (int, error) {
	if m.Client == nil || m.Name == "" {
		return 0, errors.New("gemini: Model.Client or Model.Name is not set")
	}
	x := newExchange(false)
	model, err := throughSDK(m, new(bool), func(models *genai.Models) (*genai.Model, error) { return models.Get(x.in(ctx), m.Name, nil) })
	if said, ok := errors.AsType[genai.APIError](err); ok && said.Code == http.StatusNotFound {
		return 0, nil
	}
	if err != nil {
		return 0, x.Err(ctx, classify(x.Exchange, err))
	}
	return int(max(0, model.InputTokenLimit)), nil
}

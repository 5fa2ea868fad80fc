package openai

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

var _ chat.Model = (*Model)(nil)

// Model is a [chat.Model] on the SDK's client. Client and Name are required. Set the fields before the first use; after
// that it is safe for concurrent use.
type Model struct {
	// Client of the SDK, with its key and the URL of the server: any that speaks the API. If it sends with something else
	// than an [*http.Client], that follows redirects as it likes.
	Client sdk.Client
	// Name of the model, such as "gpt-5.2".
	Name string
	// API to ask. Defaults to Chat Completions.
	API API
	// Options of the conversion. Defaults to [OptionsFor] the name.
	Options *Options
	// Effort of reasoning, such as "low". Defaults to the model's own.
	Effort string
	// Summary of the reasoning that the Responses API is asked for, such as "auto". Defaults to none, so there is none
	// to stream either.
	Summary string
	// CacheKey brings requests with one beginning to one cache: the id of the session, say. Defaults to none.
	CacheKey string
	// MaxTokensField sends the limit of the answer to Chat Completions as max_tokens, for older servers that do not know
	// max_completion_tokens.
	MaxTokensField bool
	// MaxRetries of the SDK on what may pass. Defaults to none: the error says when to try again, and the caller decides.
	MaxRetries int
	// OnRepair, where it is set, is told what [Repair] changed in a request before it is sent.
	OnRepair func([]chat.Repair)
	// AdjustChat and AdjustItems, where they are set, may change each request before it is sent: the API's own tools,
	// metadata, whatever a [chat.Request] has no words for.
	AdjustChat  func(*sdk.ChatCompletionNewParams)
	AdjustItems func(*responses.ResponseNewParams)
}

// Generate mends the request with [Repair] and sends it. What cannot be mended is a [*chat.ValidationError], and nothing
// is sent.
//
// The limit of the answer counts its reasoning too, as OpenAI has it. A temperature is not sent to models that refuse any:
// OpenAI's reasoning models, save GPT-5.1 to GPT-5.5 at the effort "none". Answers of the Responses API are not stored, and
// bring their reasoning in encrypted form.
//
// Errors are a [*chat.ContextLimitError] where a smaller request would be taken, with the server's numbers; a
// [*chat.TransientError] for rate limits, overload, the server's own faults and lost connections, with the time that it
// asks to wait; the cause of a context that is done; and otherwise the SDK's, with what the server said. With the error of
// an answer that was streamed comes what had arrived of it. Chat Completions does not say where a call ends: one that was
// the last to arrive is whole if its arguments are a JSON object.
//
// What is read of an answer and told in an error is bounded as package chat has it.
func (m *Model) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	req, err := m.prepare(req, m.OnRepair)
	if err != nil {
		return chat.Response{}, err
	}
	x := provider.NewExchange(req.Stream != nil)
	var r chat.Response
	if m.API == Responses {
		params, err := m.itemsRequest(req)
		if err != nil {
			return chat.Response{}, err
		}
		r, err = m.generateItems(ctx, x, params, req.Stream)
		return r, x.Err(ctx, err)
	}
	params, err := m.chatRequest(req)
	if err != nil {
		return chat.Response{}, err
	}
	r, err = m.generateChat(ctx, x, params, req.Stream)
	return r, x.Err(ctx, err)
}

// prepare mends a request and tells of it.
func (m *Model) prepare(req chat.Request, tell func([]chat.Repair)) (chat.Request, error) {
	switch {
	case m.Name == "":
		return req, errors.New("openai: Model.Name is not set")
	case m.API != ChatCompletions && m.API != Responses:
		return req, fmt.Errorf("openai: there is no API %q", string(m.API))
	}
	req, changes := Repair(req, m.API)
	if len(changes) > 0 && tell != nil {
		tell(changes)
	}
	return req, nil
}

func (m *Model) options() Options {
	if m.Options != nil {
		return *m.Options
	}
	return OptionsFor(m.Name)
}

func (m *Model) requestOptions(x *provider.Exchange) []option.RequestOption {
	return []option.RequestOption{
		option.WithMaxRetries(max(0, m.MaxRetries)), provider.Guarded(option.WithMiddleware(inForm, x.Do)),
	}
}

// withoutTemperature is the request without what the model would refuse.
func (m *Model) withoutTemperature(req chat.Request) chat.Request {
	if !takesTemperature(m.Name, m.Effort) {
		req.Temperature = nil
	}
	return req
}

// chatRequest is what is sent to Chat Completions.
func (m *Model) chatRequest(req chat.Request) (sdk.ChatCompletionNewParams, error) {
	params, err := ChatRequest(m.withoutTemperature(req), m.options())
	if err != nil {
		return params, fmt.Errorf("openai: nothing was sent: %w", err)
	}
	params.Model, params.ReasoningEffort = m.Name, shared.ReasoningEffort(m.Effort)
	params.PromptCacheKey = optional(m.CacheKey)
	if m.MaxTokensField {
		params.MaxTokens, params.MaxCompletionTokens = params.MaxCompletionTokens, params.MaxTokens
	}
	if req.Stream != nil {
		params.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	if m.AdjustChat != nil {
		m.AdjustChat(&params)
	}
	return params, nil
}

// itemsRequest is what is sent to the Responses API.
func (m *Model) itemsRequest(req chat.Request) (responses.ResponseNewParams, error) {
	params, err := ItemsRequest(m.withoutTemperature(req), m.options())
	if err != nil {
		return params, fmt.Errorf("openai: nothing was sent: %w", err)
	}
	params.Model, params.PromptCacheKey, params.Store = m.Name, optional(m.CacheKey), param.NewOpt(false)
	params.Reasoning = shared.ReasoningParam{
		Effort: shared.ReasoningEffort(m.Effort), Summary: shared.ReasoningSummary(m.Summary),
	}
	if reasons(m.Name) { // OpenAI refuses it of other models' requests
		params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if m.AdjustItems != nil {
		m.AdjustItems(&params)
	}
	return params, nil
}

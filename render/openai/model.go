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
)

var _ chat.Model = (*Model)(nil)

// Model is a [chat.Model] on the SDK's client. Client and Name are required; set the fields before the first use, after
// that it is safe for concurrent use.
//
// Errors are a [*chat.ContextLimitError] where a smaller request would be taken, with the numbers that the server says;
// a [*chat.TransientError] for rate limits, overload, errors of the server and lost connections, with the time that the
// server asks to wait; an [*UnsupportedError] or [*ToolError] for what cannot be said to the API, before anything is
// sent; the context's cause where it ended; and else what the server said, around the SDK's own error.
type Model struct {
	// Client of the SDK, with its key and the URL of the server: any that speaks the API.
	Client sdk.Client
	// Name of the model.
	Name string
	// API to ask. Defaults to Chat Completions.
	API API
	// System is the role of system messages. Defaults to what OpenAI documents for the model, see [OptionsFor].
	System SystemRole
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
	// MaxRetries of the SDK on errors that may pass. Defaults to none, for the caller decides.
	MaxRetries int
	// OnRepair, where it is set, has messages mended by [Repair] before they are sent, and is told of the changes, if
	// there are any. Defaults to sending them as they are.
	OnRepair func([]Change)
	// AdjustChat and AdjustResponses may change a request before it is sent, for all that [chat.Request] has no word for.
	AdjustChat      func(*sdk.ChatCompletionNewParams)
	AdjustResponses func(*responses.ResponseNewParams)
}

// Generate asks the model. The limit of the answer counts its reasoning too, as OpenAI has it. A temperature is not sent
// to models that refuse any: OpenAI's reasoning models, save GPT-5.1 to GPT-5.5 at the effort "none". Where the choice of
// tools is "none" they are declared all the same. Answers of the Responses API are not stored, and bring their
// reasoning in encrypted form.
func (m *Model) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	req, err := m.prepare(req)
	if err != nil {
		return chat.Response{}, err
	}
	if m.API == Responses {
		params, err := m.itemRequest(req)
		if err != nil {
			return chat.Response{}, err
		}
		return m.generateItems(ctx, params, req.Stream)
	}
	params, err := m.chatRequest(req)
	if err != nil {
		return chat.Response{}, err
	}
	return m.generateChat(ctx, params, req.Stream)
}

// prepare refuses what means nothing and mends the messages if that is wanted.
func (m *Model) prepare(req chat.Request) (chat.Request, error) {
	switch {
	case m.Name == "":
		return req, errors.New("openai: Model.Name is not set")
	case m.API != ChatCompletions && m.API != Responses:
		return req, fmt.Errorf("openai: there is no API %q", string(m.API))
	case req.MaxTokens < 0:
		return req, fmt.Errorf("openai: an answer of %d tokens", req.MaxTokens)
	case req.ToolChoice == chat.ToolChoiceRequired && len(req.Tools) == 0:
		return req, errors.New("openai: a tool call is required and no tools are declared")
	}
	switch req.ToolChoice {
	case chat.ToolChoiceAuto, chat.ToolChoiceNone, chat.ToolChoiceRequired:
	default:
		return req, fmt.Errorf("openai: there is no tool choice %q", req.ToolChoice)
	}
	if m.OnRepair != nil {
		messages, changes := Repair(m.API, req.Messages)
		if len(changes) > 0 {
			m.OnRepair(changes)
		}
		req.Messages = messages
	}
	return req, nil
}

func (m *Model) options() Options {
	o := OptionsFor(m.Name)
	if m.System != SystemByModel {
		o.System = m.System
	}
	return o
}

func (m *Model) requestOptions() []option.RequestOption {
	return []option.RequestOption{option.WithMaxRetries(m.MaxRetries), option.WithMiddleware(inForm)}
}

func (m *Model) temperature(t *float64) param.Opt[float64] {
	if t == nil || !takesTemperature(m.Name, m.Effort) {
		return param.Opt[float64]{}
	}
	return param.NewOpt(*t)
}

func limit(tokens int) param.Opt[int64] {
	if tokens == 0 {
		return param.Opt[int64]{}
	}
	return param.NewOpt(int64(tokens))
}

// chatRequest is a request as Chat Completions takes it.
func (m *Model) chatRequest(req chat.Request) (sdk.ChatCompletionNewParams, error) {
	params := sdk.ChatCompletionNewParams{
		Model: m.Name, Temperature: m.temperature(req.Temperature),
		ReasoningEffort: shared.ReasoningEffort(m.Effort), PromptCacheKey: optional(m.CacheKey),
	}
	if m.MaxTokensField {
		params.MaxTokens = limit(req.MaxTokens)
	} else {
		params.MaxCompletionTokens = limit(req.MaxTokens)
	}
	var err error
	if params.Messages, err = ChatMessages(req.Messages, m.options()); err != nil {
		return params, err
	}
	if params.Tools, err = ChatTools(req.Tools); err != nil {
		return params, err
	}
	if req.ToolChoice != chat.ToolChoiceAuto && len(params.Tools) > 0 { // OpenAI takes no choice where there are no tools
		params.ToolChoice.OfAuto = param.NewOpt(string(req.ToolChoice))
	}
	if req.Stream != nil {
		params.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	if m.AdjustChat != nil {
		m.AdjustChat(&params)
	}
	return params, nil
}

// itemRequest is a request as the Responses API takes it.
func (m *Model) itemRequest(req chat.Request) (responses.ResponseNewParams, error) {
	params := responses.ResponseNewParams{
		Model: m.Name, Temperature: m.temperature(req.Temperature), MaxOutputTokens: limit(req.MaxTokens),
		PromptCacheKey: optional(m.CacheKey), Store: param.NewOpt(false),
		Reasoning: shared.ReasoningParam{
			Effort: shared.ReasoningEffort(m.Effort), Summary: shared.ReasoningSummary(m.Summary),
		},
	}
	if reasons(m.Name) { // OpenAI refuses it of other models' requests
		params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	var err error
	if params.Input.OfInputItemList, err = Items(req.Messages, m.options()); err != nil {
		return params, err
	}
	if params.Tools, err = ItemTools(req.Tools); err != nil {
		return params, err
	}
	if req.ToolChoice != chat.ToolChoiceAuto && len(params.Tools) > 0 {
		params.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptions(req.ToolChoice))
	}
	if m.AdjustResponses != nil {
		m.AdjustResponses(&params)
	}
	return params, nil
}

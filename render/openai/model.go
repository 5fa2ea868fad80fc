package openai

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/completions"
	"github.com/promptree-go/promptree/internal/wire/items"
)

var _ chat.Model = (*Model)(nil)

// Model is a [chat.Model] on the SDK's client. Client and Name are required. Set the fields before the first use; after
// that it is safe for concurrent use.
type Model struct {
	// Client of the SDK, with its key and the URL of any server that speaks the API. If its HTTP client is not an
	// [*http.Client], redirects are up to that client.
	Client sdk.Client
	// Name of the model, such as "gpt-5.2".
	Name string
	// API to ask. Defaults to Chat Completions.
	API API
	// Options of the conversion. Defaults to [OptionsFor] the name.
	Options *Options
	// Effort of reasoning, such as "low". Defaults to the model's own.
	Effort string
	// ReasoningSummary asks the Responses API for a summary of the reasoning, such as "auto". None by default, so no
	// thinking is streamed.
	ReasoningSummary string
	// CacheKey directs requests that begin with the same messages to the same cache: the id of the session, for
	// example. None by default.
	CacheKey string
	// MaxTokensField sends the limit of the answer to Chat Completions as max_tokens, for older servers that do not
	// know max_completion_tokens. Off by default.
	MaxTokensField bool
	// Dialect says how to read answers where two servers contradict each other. The zero value reads those of most.
	Dialect Dialect
	// Ends declares further reasons for the end of an answer, as the server writes them (finish_reason, or the
	// reason of an incomplete answer of Responses), to be an end, a cut or
	// a declined answer. Those that are not known are errors ([*chat.EndError]). None by default.
	Ends map[string]chat.StopReason
	// MaxRetries of the SDK for transient errors. Defaults to 0: the error states when to try again, and the caller
	// decides.
	MaxRetries int
	// OnRepair, if set, is called with what [Repair] changed in a request before it is sent. If it is not set, the observers
	// of an agent's compactor hear of it (event.Repaired).
	OnRepair func([]chat.Repair)
	// FormatAsTool asks for the form of an answer ([chat.Shape].Format) by a tool, for servers of Chat Completions that take
	// no schema. Off by default.
	FormatAsTool bool
	// AdjustChat and AdjustItems, if set, may change each request before it is sent, also those for summaries, which the
	// purpose tells apart: the API's own tools, metadata, whatever a [chat.Request] has no field for.
	AdjustChat  func(chat.Purpose, *sdk.ChatCompletionNewParams)
	AdjustItems func(chat.Purpose, *responses.ResponseNewParams)

	refused sync.Map     // the names of fields of its answers that the server refused
	wanted  atomic.Value // the name of the field of thinking that the server wants with each call
	address provider.Address
}

// Dialect says how to read the answers of Chat Completions where two servers contradict each other.
type Dialect struct {
	// ThinkingOpened reads the text up to a first </think> as thinking, for models whose prompt opens the thought. Off by
	// default.
	ThinkingOpened bool
	// Cumulative says that each piece of text or thinking in a stream repeats what came before. Off by default.
	Cumulative bool
}

// Generate repairs the request with [Repair] and sends it. A request that cannot be repaired is a
// [*chat.ValidationError], and is not sent. Over Chat Completions, arguments that are not a JSON object are put into one,
// because not every server takes them.
//
// The limit of the answer includes its reasoning, as OpenAI counts it. A temperature is not sent to models that refuse
// it: OpenAI's reasoning models, except GPT-5.1 to GPT-5.5 at the effort "none". Answers of the Responses API are not
// stored, and include their reasoning in encrypted form.
//
// A request of the Responses API that is refused because the server cannot read an encrypted item in it
// (invalid_encrypted_content) is sent once more without its encrypted items, and no later request of the model holds
// them: the reasoning of another organisation, region or model. Those of an answer whose [chat.Origin] is another
// provider or server are not sent.
//
// A request of Chat Completions that is refused with words that name a field of an earlier answer, which is sent back, is
// sent once more without that field. If that is accepted, no later request of the model holds the field. One that is refused
// because a call lacks the thinking before it is sent once more with that field, empty, as are all later ones.
//
// Errors are a [*chat.ContextLimitError] if a smaller request would be accepted, with the server's numbers; a
// [*chat.TransientError] for rate limits, overload, server faults and lost connections, with the time to wait if the
// server states one; the cause of a context that is done; and otherwise the SDK's error, with the server's text. The
// error of a streamed answer comes with the part that had arrived. Chat Completions does not mark the end of a call:
// the last one to arrive counts as complete if its arguments are a JSON object.
//
// An error that the server sends in the place of an answer, with a status of success, is classified by its words and by
// the status that it names; it is a [*chat.AnswerError] if it is neither about the size nor transient.
//
// The size of answers and error texts is limited as package chat describes.
func (m *Model) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	req, asText := provider.FormatAsTool(req, m.FormatAsTool)
	repaired, changes, err := m.repaired(req)
	if err != nil {
		return chat.Response{}, err
	}
	provider.Tell(m.OnRepair, req, changes)
	names := accepted[m.API].Names(req.Tools)
	repaired.Stream = names.Stream(req.Stream)
	var r chat.Response
	if m.API == Responses {
		r, err = m.items(ctx, repaired)
	} else {
		r, err = m.chat(ctx, repaired, nil)
	}
	return asText(names.Response(r)), err
}

// repaired repairs a request, without what only another server can read, and returns the changes.
func (m *Model) repaired(req chat.Request) (chat.Request, []chat.Repair, error) {
	switch m.API {
	case Responses:
		req.Messages = readable(req.Messages, m.Origin())
	case ChatCompletions:
		req.Messages = ownFields(req.Messages, m.Origin())
	default:
		return req, nil, fmt.Errorf("openai: Model.API is %q: set ChatCompletions or Responses", string(m.API))
	}
	if m.Name == "" {
		return req, nil, errors.New("openai: Model.Name is not set")
	}
	req, changes := sent[m.API].Repair(req)
	return req, changes, nil
}

// items encodes a request for the Responses API, sends it, and decodes the answer.
func (m *Model) items(ctx context.Context, req chat.Request) (chat.Response, error) {
	params, err := m.itemsRequest(req)
	if err != nil {
		return chat.Response{}, err
	}
	x := provider.NewExchange(req.Stream != nil)
	r, err := m.askItems(ctx, x, params, req.Stream)
	return x.By(m.Origin(), r), x.Err(ctx, err)
}

// chat encodes a request for Chat Completions without some fields of answers, sends it, and decodes the answer. If it is
// refused because of another field, it is sent once more without that too. They are remembered if the request is accepted.
func (m *Model) chat(ctx context.Context, req chat.Request, names map[string]bool) (chat.Response, error) {
	params, err := m.chatRequest(req, names)
	if err != nil {
		return chat.Response{}, err
	}
	x := provider.NewExchange(req.Stream != nil)
	r, err := m.askChat(ctx, x, params, req)
	if field := lacks(err); field != "" && ctx.Err() == nil && thinkOnCalls(&params, field) {
		m.wanted.Store(field)
		return m.chat(ctx, req, names)
	}
	if named := refuses(err, &params); len(named) > 0 && ctx.Err() == nil {
		maps.Copy(named, names)
		if r, again := m.chat(ctx, req, named); !refusesForm(again) {
			return r, again
		}
	} else if err == nil {
		for name := range names {
			m.refused.Store(name, true)
		}
	}
	return x.By(m.Origin(), r), x.Err(ctx, err)
}

// Origin returns the origin of the model's answers.
func (m *Model) Origin() chat.Origin {
	server := m.address.Of(func(look option.Middleware) {
		client := sdk.Client{Options: append([]option.RequestOption{option.WithMiddleware(look)}, m.Client.Options...)}
		_ = client.Get(context.Background(), "models", nil, nil, option.WithMaxRetries(0)) // it is not sent
	})
	return chat.Origin{Provider: "openai", Server: server, Model: m.Name}
}

func (m *Model) options() Options {
	if m.Options != nil {
		return *m.Options
	}
	return OptionsFor(m.Name)
}

func (m *Model) requestOptions(x *provider.Exchange) []option.RequestOption {
	return []option.RequestOption{
		option.WithMaxRetries(max(0, m.MaxRetries)), provider.Guarded(option.WithMiddleware(normalizeErrors, x.Do)),
	}
}

// withoutTemperature returns the request without a temperature that the model would refuse.
func (m *Model) withoutTemperature(req chat.Request) chat.Request {
	if !takesTemperature(m.Name, m.effort(req)) {
		req.Temperature = nil
	}
	return req
}

// effort returns the effort of a request: its own, in the model's words, or the model's. "none" is the least effort of
// models that know no such (https://platform.openai.com/docs/guides/reasoning).
func (m *Model) effort(req chat.Request) string {
	v, gpt := gptVersion(m.Name)
	switch {
	case req.Effort == chat.EffortDefault:
		return m.Effort
	case req.Effort == chat.EffortNone && reasons(m.Name) && !gpt:
		return string(chat.EffortLow)
	case req.Effort == chat.EffortNone && gpt && v == version{5, 0}:
		return "minimal"
	}
	return string(req.Effort)
}

// chatRequest returns the request for Chat Completions, without these fields of answers.
func (m *Model) chatRequest(req chat.Request, without map[string]bool) (sdk.ChatCompletionNewParams, error) {
	params, err := ChatRequest(m.withoutTemperature(req), m.options())
	if err != nil {
		return params, fmt.Errorf("openai: nothing was sent: %w", err)
	}
	leaveOut(&params, func(name string) bool {
		_, refused := m.refused.Load(name)
		return refused || without[name]
	})
	if field, wanted := m.wanted.Load().(string); wanted {
		thinkOnCalls(&params, field)
	}
	params.Model, params.ReasoningEffort = m.Name, shared.ReasoningEffort(m.effort(req))
	params.PromptCacheKey = optional(m.CacheKey)
	if m.MaxTokensField {
		params.MaxTokens, params.MaxCompletionTokens = params.MaxCompletionTokens, params.MaxTokens
	}
	if req.Stream != nil {
		params.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	if m.AdjustChat != nil {
		m.AdjustChat(req.Purpose, &params)
	}
	return params, nil
}

// itemsRequest returns the request for the Responses API.
func (m *Model) itemsRequest(req chat.Request) (responses.ResponseNewParams, error) {
	params, err := ItemsRequest(m.withoutTemperature(req), m.options())
	if err != nil {
		return params, fmt.Errorf("openai: nothing was sent: %w", err)
	}
	params.Model, params.PromptCacheKey, params.Store = m.Name, optional(m.CacheKey), param.NewOpt(false)
	params.Reasoning = shared.ReasoningParam{
		Effort: shared.ReasoningEffort(m.effort(req)), Summary: shared.ReasoningSummary(m.ReasoningSummary),
	}
	if reasons(m.Name) { // OpenAI refuses it for other models
		params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if m.AdjustItems != nil {
		m.AdjustItems(req.Purpose, &params)
	}
	return params, nil
}

// readable returns the messages without the encrypted items that another server made, which this one cannot read. One
// that is not known to be another's is sent: the server refuses it if it cannot read it.
func readable(messages []chat.Message, own chat.Origin) []chat.Message {
	own.Model = "" // its models read each other's
	return provider.Without(messages, func(said chat.Message, p chat.Part) bool {
		return encrypted(said.Role, p) && !said.Origin.Matches(own)
	})
}

// encrypted reports whether something in a part is encrypted.
func encrypted(role chat.Role, p chat.Part) bool {
	switch p := p.(type) {
	case chat.Thinking:
		return p.Encrypted != "" && items.Thought(p) != nil
	case chat.Opaque:
		at, o := items.PlaceOf(role, p)
		return at == items.Whole && o.Peek("encrypted_content") != ""
	}
	return false
}

// ownFields returns the messages without the fields, of messages and calls, that another server or model wants back.
func ownFields(messages []chat.Message, own chat.Origin) []chat.Message {
	out := provider.Without(messages, func(m chat.Message, p chat.Part) bool {
		o, is := p.(chat.Opaque)
		if !is || m.Origin.Matches(own) {
			return false
		}
		at, fields := ChatCompletions.placeOf(m.Role, o)
		return at == asFields && !fields.Has("refusal")
	})
	return provider.WithCalls(out, own, completions.WithoutFields)
}

package anthropic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// usualMaxTokens is the limit of an answer if neither the request nor the model sets one.
const usualMaxTokens = 8192

// minThinking is the smallest thinking budget that the API accepts.
const minThinking = 1024

// Model is a [chat.Model] on the SDK's client. Client and Name are required. Set the fields before the first use; after
// that it is safe for concurrent use.
type Model struct {
	// Client of the SDK, with its key. If its HTTP client is not an [*http.Client], redirects are up to that client.
	Client sdk.Client
	// Name of the model, such as [sdk.ModelClaudeSonnet5].
	Name string
	// MaxTokens of an answer if the request does not set it; the API requires a limit. Defaults to 8,192.
	MaxTokens int
	// Thinking before an answer. The zero value leaves it to the model.
	Thinking Thinking
	// MaxImages of a request; texts replace the oldest beyond it. Defaults to 100, the limit of
	// models with a context window of 200,000 tokens. Set 600 for the others.
	MaxImages int
	// Betas of the API to request, as named in the header anthropic-beta. None by default.
	Betas []string
	// Editing has the API edit the context of each request of the agent, and of none for a summary. Off by default.
	Editing Editing
	// Ends declares further stop reasons, as the server writes them, to be an end, a cut or a declined answer. Those that are
	// not known are errors ([*chat.EndError]). None by default.
	Ends map[string]chat.StopReason
	// MaxRetries of the SDK for transient errors. Defaults to 0: the error states when to try again, and the caller
	// decides.
	MaxRetries int
	// OnRepair, if set, is called with what [Repair] changed in a request before it is sent. If it is not set, the observers
	// of an agent's compactor hear of it (event.Repaired).
	OnRepair func([]chat.Repair)
	// Adjust, if set, may change each request before it is sent, also those for summaries, which the
	// purpose tells apart: the API's own tools, metadata, whatever a [chat.Request] has no field for.
	Adjust func(chat.Purpose, *sdk.MessageNewParams)

	address            provider.Address
	refusedTemperature atomic.Bool // the model refused a temperature
	refusedCompaction  atomic.Bool // the model refused a compaction block
}

var _ chat.Model = (*Model)(nil)

// Thinking says whether and how much a model thinks.
type Thinking struct {
	// Budget of tokens, 1,024 or more, for older models. It is added to the request's MaxTokens, which are for the
	// answer.
	Budget int
	// Adaptive lets the model choose, for newer models. Its thinking is part of the request's MaxTokens. Off by
	// default.
	Adaptive bool
	// DropStale has the API drop thinking after a change of the content before it: of the system prompt, the tools or
	// the messages, as by a summary. The newest models refuse a request with such thinking, and a compactor then sends it
	// without. Off by default.
	DropStale bool
}

// bindingBeta is the beta of the API that can drop stale thinking.
const bindingBeta = "thinking-binding-controls-2026-08-01"

func (t Thinking) check() error {
	switch {
	case t.Budget != 0 && t.Adaptive:
		return fmt.Errorf("anthropic: Thinking is adaptive and has a budget of %d: choose one", t.Budget)
	case t.Budget != 0 && t.Budget < minThinking:
		return fmt.Errorf("anthropic: Thinking.Budget is %d: it is %d tokens or more", t.Budget, minThinking)
	}
	return nil
}

// Generate repairs the request with [Repair] and sends it. A request that cannot be repaired is a
// [*chat.ValidationError], and is not sent.
//
// Thinking of an answer whose [chat.Origin] is another provider, or a model that is not Claude, is not sent to Claude, nor
// Claude's to another model.
//
// The answer is always streamed, because the API requires that of long ones, whether Request.Stream is set or not.
//
// While the model thinks, the API accepts no temperature and no forced call, and in a tool loop requires the thinking
// that it returned. So the temperature is not sent with thinking. Thinking is left to the model if a call is required,
// and if a budget is set and the tool loop began without thinking; with a budget, the loop's thinking is then left out,
// because the API would refuse it.
//
// A model that refuses any temperature, as newer ones do, is asked again without it, and is not sent one from then on.
// Likewise, one that refuses the block of a [CompactionModel] is asked again with the words alone.
//
// Errors are a [*chat.ContextLimitError] if a smaller request would be accepted, with the API's numbers; a
// [*chat.TransientError] for rate limits, overload, server faults and lost connections, with the time to wait if the
// API states one; the cause of a context that is done; and otherwise the SDK's error, with the API's text. The error of
// an answer that broke off comes with the part that had arrived, whether Request.Stream is set or not.
//
// An error that the server sends in the place of an answer, with a status of success, is classified by its words and by
// the status that it names; it is a [*chat.AnswerError] if it is neither about the size nor transient.
//
// The size of answers and error texts is limited as package chat describes.
func (m *Model) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	return m.generate(ctx, req, func(*sdk.MessageNewParams) {})
}

// generate is Generate with a last change to the request before it is sent.
func (m *Model) generate(ctx context.Context, req chat.Request, change func(*sdk.MessageNewParams)) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	repaired, changes := m.repaired(req)
	provider.Tell(m.OnRepair, req, changes)
	params, err := m.params(repaired)
	if err != nil {
		return chat.Response{}, err
	}
	change(&params)
	names := accepts(m.MaxImages).Names(req.Tools)
	req.Stream = names.Stream(req.Stream)
	x := provider.NewExchange(true)
	r, err := m.stream(ctx, x, params, req.Stream)
	if refusesTemperature(err) && params.Temperature.Valid() {
		m.refusedTemperature.Store(true)
		params.Temperature = sdk.MessageNewParams{}.Temperature
		r, err = m.stream(ctx, x, params, req.Stream)
	}
	if refusesCompaction(err) && startsWithCompaction(params) {
		m.refusedCompaction.Store(true)
		params.Messages = params.Messages[1:]
		r, err = m.stream(ctx, x, params, req.Stream)
	}
	if err != nil {
		err = x.Err(ctx, classify(x, err))
	}
	return x.By(m.Origin(), names.Response(r)), err
}

// Origin returns the origin of the model's answers.
func (m *Model) Origin() chat.Origin {
	server := m.address.Of(func(look option.Middleware) {
		client := sdk.Client{Options: append([]option.RequestOption{option.WithMiddleware(look)}, m.Client.Options...)}
		_ = client.Get(context.Background(), "models", nil, nil, option.WithMaxRetries(0)) // it is not sent
	})
	return chat.Origin{Provider: "anthropic", Server: server, Model: m.Name}
}

// setDropStale has the API drop the stale thinking of a request, if the model may think.
func (m *Model) setDropStale(p *sdk.MessageNewParams) {
	binding := map[string]any{"block_binding": map[string]string{"prefix_mismatch_behavior": "drop_block"}}
	switch {
	case !m.Thinking.DropStale || forced(p.ToolChoice):
	case p.Thinking.OfEnabled != nil:
		p.Thinking.OfEnabled.SetExtraFields(binding)
	case p.Thinking.OfDisabled == nil:
		if p.Thinking.OfAdaptive == nil { // the default of the models that check thinking
			p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
		}
		p.Thinking.OfAdaptive.SetExtraFields(binding)
		p.Temperature = sdk.MessageNewParams{}.Temperature // the API does not accept it with thinking
	}
}

// repaired repairs a request, without thinking that the model cannot read, and returns the changes.
func (m *Model) repaired(req chat.Request) (chat.Request, []chat.Repair) {
	req.Messages = m.readable(req.Messages)
	return accepts(m.MaxImages).Repair(req)
}

// params returns a repaired request as it is sent.
func (m *Model) params(req chat.Request) (sdk.MessageNewParams, error) {
	if m.Name == "" {
		return sdk.MessageNewParams{}, errors.New("anthropic: Model.Name is not set")
	}
	if err := m.Thinking.check(); err != nil {
		return sdk.MessageNewParams{}, err
	}
	req.MaxTokens = cmp.Or(req.MaxTokens, max(0, m.MaxTokens))
	thinks := m.Thinking.Budget > 0 && req.ToolChoice != chat.ToolChoiceRequired && req.Tool == "" && req.Effort != chat.EffortNone && loopThinks(req.Messages)
	if m.Thinking.Budget > 0 && !thinks {
		req.Messages = withoutThinking(req.Messages)
	}
	p, err := request(req, m.MaxImages)
	if err != nil {
		return sdk.MessageNewParams{}, fmt.Errorf("anthropic: nothing was sent: %w", err)
	}
	p.Model = m.Name
	if m.refusedCompaction.Load() && startsWithCompaction(p) {
		p.Messages = p.Messages[1:]
	}
	switch {
	case forced(p.ToolChoice):
	case req.Effort == chat.EffortNone:
		p.Thinking.OfDisabled = new(sdk.NewThinkingConfigDisabledParam())
	case m.Thinking.Adaptive:
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
	case thinks:
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(int64(m.Thinking.Budget))
		p.MaxTokens += int64(m.Thinking.Budget)
	}
	m.setDropStale(&p)
	if p.Thinking.GetType() != nil || m.refusedTemperature.Load() {
		p.Temperature = sdk.MessageNewParams{}.Temperature
	}
	if m.ManagesContext() && req.Purpose == chat.PurposeStep {
		p.SetExtraFields(map[string]any{fieldEditing: sdk.BetaContextManagementConfigParam{Edits: m.Editing.Edits}})
	}
	if m.Adjust != nil {
		m.Adjust(req.Purpose, &p)
	}
	return p, nil
}

// readable returns the messages without thinking that the model cannot read: of another provider, or of models of which one
// alone is Claude. Claude reads thinking from any platform, and the API itself leaves out that of a Claude that the model
// does not read; other models read their server's.
func (m *Model) readable(messages []chat.Message) []chat.Message {
	own := m.Origin()
	own.Model = ""
	isClaude := func(name string) bool { return strings.Contains(strings.ToLower(name), "claude") }
	return provider.Without(messages, func(said chat.Message, p chat.Part) bool {
		by := said.Origin
		switch {
		case !isThinking(p):
			return false
		case by.Model == "":
			return !by.Matches(own)
		case isClaude(m.Name):
			return !isClaude(by.Model) || by.Provider != "" && by.Provider != own.Provider
		}
		return isClaude(by.Model) || !by.Matches(own)
	})
}

// loopThinks reports whether no tool loop is under way, or the current one began with thinking. For the API the
// messages of a loop are one turn. If a budget is set, it must begin with thinking, otherwise it must not hold any: a
// model that does not think between calls thinks only at the start.
func loopThinks(messages []chat.Message) bool {
	thinks := true
	for i := len(messages) - 1; i >= 0 && messages[i].Role != chat.RoleUser; i-- {
		if messages[i].Role == chat.RoleAssistant {
			thinks = startsWithThinking(messages[i])
		}
	}
	return thinks
}

// withoutThinking removes thinking from the current tool loop.
func withoutThinking(messages []chat.Message) []chat.Message {
	messages = slices.Clone(messages)
	for i := len(messages) - 1; i >= 0 && messages[i].Role != chat.RoleUser; i-- {
		messages[i].Content = slices.DeleteFunc(slices.Clone(messages[i].Content), isThinking)
	}
	return messages
}

// options returns the SDK's options for sending a request.
func (m *Model) options(x *provider.Exchange, p sdk.MessageNewParams) []option.RequestOption {
	options := []option.RequestOption{option.WithMaxRetries(max(0, m.MaxRetries)), provider.Guarded(option.WithMiddleware(x.Do))}
	if betas := m.betas(p); len(betas) > 0 {
		options = append(options, option.WithHeaderAdd("anthropic-beta", strings.Join(betas, ",")))
	}
	return options
}

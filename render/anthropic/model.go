package anthropic

import (
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

// DefaultMaxTokens of an answer where neither the request nor the model says.
const DefaultMaxTokens = 8192

// minThinking is the smallest thinking budget that the API takes.
const minThinking = 1024

// Model is a [chat.Model] on the SDK's client. Client and Name are required. Set the fields before the first use; after
// that it is safe for concurrent use.
type Model struct {
	// Client of the SDK, with its key. If it sends with something else than an [*http.Client], that follows redirects as it
	// likes.
	Client sdk.Client
	// Name of the model, such as [sdk.ModelClaudeSonnet5].
	Name string
	// MaxTokens of an answer where the request does not say; the API asks for a limit. Defaults to [DefaultMaxTokens].
	MaxTokens int
	// Thinking before an answer. The zero value leaves it to the model.
	Thinking Thinking
	// MaxImages of a request; the oldest above become notes ([RuleImageCount]). Defaults to 100, which is what models with a window
	// of 200,000 tokens take. Set 600 for the others.
	MaxImages int
	// Betas of the API to ask for, as named in the header anthropic-beta.
	Betas []string
	// MaxRetries of the SDK on what may pass. Defaults to none: the error says when to try again, and the caller decides.
	MaxRetries int
	// OnRepair, where it is set, is told what [Repair] changed in a request before it is sent.
	OnRepair func([]chat.Repair)
	// Adjust, where it is set, may change each request before it is sent: the API's own tools, metadata, whatever a
	// [chat.Request] has no words for.
	Adjust func(*sdk.MessageNewParams)

	noTemperature atomic.Bool // the model refused one
	dropsStale    atomic.Bool // the model refused thinking behind something that changed
}

var _ chat.Model = (*Model)(nil)

// Thinking says whether and how much a model thinks.
type Thinking struct {
	// Budget of tokens, 1,024 or more, that older models take. It comes on top of the request's MaxTokens, which are for
	// the answer.
	Budget int
	// Adaptive lets the model choose, as newer models want it. Its thinking is part of the request's MaxTokens.
	Adaptive bool
	// Stale says what becomes of thinking behind something that changed since it was thought, such as a summary. Defaults to
	// [StaleLearnt].
	Stale Stale
}

// Stale says what becomes of thinking behind something that changed since it was thought: the system text, the tools, or what
// was said. The newest models refuse such a request unless they are told to drop that thinking, which is a beta of the API.
type Stale string

// What becomes of stale thinking.
const (
	// StaleLearnt sends a request that is refused for stale thinking again and has it dropped, and so with every request of the
	// model from then on. Models that take stale thinking are never told anything.
	StaleLearnt Stale = ""
	// StaleDrop has it dropped with every request.
	StaleDrop Stale = "drop"
	// StaleError returns the refusal.
	StaleError Stale = "error"
)

// bindingBeta is the beta of the API that drops stale thinking.
const bindingBeta = "thinking-binding-controls-2026-08-01"

func (t Thinking) check() error {
	switch {
	case t.Budget != 0 && t.Adaptive:
		return fmt.Errorf("anthropic: Thinking is adaptive and has a budget of %d: choose one", t.Budget)
	case t.Stale != StaleLearnt && t.Stale != StaleDrop && t.Stale != StaleError:
		return fmt.Errorf("anthropic: Thinking.Stale is %q: it is %q, %q or %q", t.Stale, StaleLearnt, StaleDrop, StaleError)
	case t.Budget != 0 && t.Budget < minThinking:
		return fmt.Errorf("anthropic: Thinking.Budget is %d: it is %d tokens or more", t.Budget, minThinking)
	}
	return nil
}

// Generate mends the request with [Repair] and sends it. What cannot be mended is a [*chat.ValidationError], and nothing
// is sent.
//
// The answer is always streamed, for the API wants that of long ones; Request.Stream hears of it or not.
//
// While the model thinks, the API takes no temperature and no forced call, and in a tool loop wants the thinking that it
// gave. So the temperature is not sent with thinking, and thinking is left to the model where a call is required, or
// where a budget is set and the tool loop began without thinking. What thinking there is in a loop that goes on without a
// budget that is set is left out, for the API refuses it there. A model that takes no temperature at all, as newer ones do
// not, is asked again without it, and from then on is sent none. So is one that refuses thinking behind something that changed,
// with that thinking dropped ([Thinking.Stale]).
//
// Errors are a [*chat.ContextLimitError] where a smaller request would be taken, with the API's numbers; a
// [*chat.TransientError] for rate limits, overload, the API's own faults and lost connections, with the time that it asks
// to wait; the cause of a context that is done; and otherwise the SDK's, with what the API said. With the error of an answer
// that broke off comes what had arrived of it, whether Request.Stream is set or not.
//
// What is read of an answer and told in an error is bounded as package chat has it.
func (m *Model) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	told := m.drops() // or another request learns it meanwhile
	params, err := m.params(req)
	if err != nil {
		return chat.Response{}, err
	}
	x := provider.NewExchange(true)
	r, err := m.stream(ctx, x, params, req.Stream)
	if refusesTemperature(err) && params.Temperature.Valid() {
		m.noTemperature.Store(true)
		params.Temperature = sdk.MessageNewParams{}.Temperature
		r, err = m.stream(ctx, x, params, req.Stream)
	}
	if refusesStale(err) && m.Thinking.Stale == StaleLearnt && !told {
		m.dropsStale.Store(true)
		m.dropStale(&params)
		r, err = m.stream(ctx, x, params, req.Stream)
	}
	if err != nil {
		return r, x.Err(ctx, classify(x, err))
	}
	return r, nil
}

// dropStale has the API drop stale thinking of a request, if the model may think at all.
func (m *Model) dropStale(p *sdk.MessageNewParams) {
	binding := map[string]any{"block_binding": map[string]string{"prefix_mismatch_behavior": "drop_block"}}
	switch {
	case !m.drops() || p.ToolChoice.OfAny != nil:
	case p.Thinking.OfEnabled != nil:
		p.Thinking.OfEnabled.SetExtraFields(binding)
	case p.Thinking.OfDisabled == nil:
		if p.Thinking.OfAdaptive == nil { // which is the default of the models that check it
			p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
		}
		p.Thinking.OfAdaptive.SetExtraFields(binding)
		p.Temperature = sdk.MessageNewParams{}.Temperature // which the API does not take with thinking
	}
}

// drops reports whether the API is told to drop stale thinking.
func (m *Model) drops() bool { return m.Thinking.Stale == StaleDrop || m.dropsStale.Load() }

// params is the request as it is sent.
func (m *Model) params(req chat.Request) (sdk.MessageNewParams, error) {
	if m.Name == "" {
		return sdk.MessageNewParams{}, errors.New("anthropic: Model.Name is not set")
	}
	if err := m.Thinking.check(); err != nil {
		return sdk.MessageNewParams{}, err
	}
	req, changes := repair(req, m.MaxImages)
	if len(changes) > 0 && m.OnRepair != nil {
		m.OnRepair(changes)
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = max(0, m.MaxTokens)
	}
	thinks := m.Thinking.Budget > 0 && req.ToolChoice != chat.ToolChoiceRequired && loopThinks(req.Messages)
	if m.Thinking.Budget > 0 && !thinks {
		req.Messages = withoutThinking(req.Messages)
	}
	p, err := request(req, m.MaxImages)
	if err != nil {
		return sdk.MessageNewParams{}, fmt.Errorf("anthropic: nothing was sent: %w", err)
	}
	p.Model = m.Name
	switch {
	case p.ToolChoice.OfAny != nil:
	case m.Thinking.Adaptive:
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
	case thinks:
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(int64(m.Thinking.Budget))
		p.MaxTokens += int64(m.Thinking.Budget)
	}
	m.dropStale(&p)
	if p.Thinking.GetType() != nil || m.noTemperature.Load() {
		p.Temperature = sdk.MessageNewParams{}.Temperature
	}
	if m.Adjust != nil {
		m.Adjust(&p)
	}
	return p, nil
}

// loopThinks tells that no tool loop is under way, or that it began with thinking. The messages of a loop are one turn to the
// API, which must begin with thinking where a budget is set, and may hold none where none is: a model that does not think
// between calls thinks at the start alone.
func loopThinks(messages []chat.Message) bool {
	thinks := true
	for i := len(messages) - 1; i >= 0 && messages[i].Role != chat.RoleUser; i-- {
		if messages[i].Role == chat.RoleAssistant {
			thinks = startsWithThinking(messages[i])
		}
	}
	return thinks
}

// withoutThinking leaves thinking out of the tool loop that is under way.
func withoutThinking(messages []chat.Message) []chat.Message {
	messages = slices.Clone(messages)
	for i := len(messages) - 1; i >= 0 && messages[i].Role != chat.RoleUser; i-- {
		messages[i].Content = slices.DeleteFunc(slices.Clone(messages[i].Content), isThinking)
	}
	return messages
}

// options of each call.
func (m *Model) options(x *provider.Exchange) []option.RequestOption {
	options := []option.RequestOption{option.WithMaxRetries(max(0, m.MaxRetries)), provider.Guarded(option.WithMiddleware(x.Do))}
	betas := m.Betas
	if m.drops() && !slices.Contains(betas, bindingBeta) {
		betas = append(slices.Clone(betas), bindingBeta)
	}
	if len(betas) > 0 {
		options = append(options, option.WithHeaderAdd("anthropic-beta", strings.Join(betas, ",")))
	}
	return options
}
